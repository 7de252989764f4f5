//! Wire cases as data: what a client or an upstream sends, byte for byte, and what must become of it. Each case runs
//! in one write, byte by byte and cut in two at every offset, and after each a clean request must be answered.

mod answers;
mod limits;
mod outcome;
mod pace;
mod reply;
mod request;
mod scene;
mod scenes;
mod table;
mod tables;

use tokio::task::JoinHandle;

use crate::support::rig::HOST;

/// What stands for the right Host line in the bytes of a case.
const HOST_MARK: &[u8] = b"<H>";

/// `bytes` with a Host line for each mark.
fn filled_in(bytes: &[u8]) -> Vec<u8> {
    let host = format!("Host: {HOST}\r\n");
    let mut filled = Vec::with_capacity(bytes.len() + host.len());
    let mut rest = bytes;
    while let Some(at) = rest
        .windows(HOST_MARK.len())
        .position(|window| window == HOST_MARK)
    {
        filled.extend_from_slice(&rest[..at]);
        filled.extend_from_slice(host.as_bytes());
        rest = &rest[at + HOST_MARK.len()..];
    }
    filled.extend_from_slice(rest);
    filled
}

/// `bytes` as a person reads them, cut short.
fn shown(bytes: &[u8]) -> String {
    let text = bytes.escape_ascii().to_string();
    text.chars().take(300).collect()
}

/// The words of a panic or of a fault.
async fn fault(running: JoinHandle<Result<(), String>>) -> Option<String> {
    match running.await {
        Ok(result) => result.err(),
        Err(error) => {
            let panic = error.into_panic();
            let words = panic.downcast_ref::<String>().cloned();
            Some(words.unwrap_or_else(|| "a panic without words".to_owned()))
        }
    }
}

/// Fails the test with all `faults` at once.
fn report(cases: usize, faults: &[String]) {
    println!("{cases} cases");
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}
