//! Work that goes down by recursion, in parsers that are not ours too.

use std::thread;

use tracing::error;

/// Enough for the depth that files may have, whatever the compiler makes of it; it is only taken where it is used.
const STACK: usize = 64 << 20;

/// Does something with a large stack, and survives its panic, which is `None`.
pub(super) fn deep<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("files".to_owned()).stack_size(STACK);
        match builder.spawn_scoped(scope, work) {
            Ok(handle) => handle.join().ok(),
            Err(error) => {
                error!(%error, "no thread to read a file of routes");
                None
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::deep;

    #[test]
    fn a_panic_is_nothing() {
        assert_eq!(deep(|| 7), Some(7));
        assert_eq!(deep(|| -> u8 { panic!("as a parser may") }), None);
    }
}
