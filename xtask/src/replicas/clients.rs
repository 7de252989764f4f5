//! The visitors of each replica, who ask all the time.

use std::io::BufReader;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::replica::{Door, served};
use super::writer::{LASTING, lasting};
use crate::contest::at;
use crate::count::{Count, connect};

/// The visitors of one replica.
const MANY: u64 = 2;

/// The time between two requests of one of them.
const PAUSE: Duration = Duration::from_millis(3);

/// Requests over one connection.
const PER_CONNECTION: u64 = 20;

/// They ask until they are told to end.
#[derive(Debug)]
pub(super) struct Clients {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Count>>,
}

// === impl Clients ===

impl Clients {
    pub(super) fn start(doors: &[Door]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let one = |(door, first): (&Door, u64)| {
            let (port, stop) = (door.port, Arc::clone(&stop));
            thread::spawn(move || visit(port, first, &stop))
        };
        let all = doors
            .iter()
            .flat_map(|door| (0..MANY).map(move |first| (door, first)));
        Self {
            threads: all.map(one).collect(),
            stop,
        }
    }

    pub(super) fn end(self) -> Count {
        self.stop.store(true, Ordering::Relaxed);
        Count::sum(self.threads)
    }
}

/// Asks for one host after the other. A host that is not served is a failure, as none of these is ever deleted.
fn visit(port: u16, first: u64, stop: &AtomicBool) -> Count {
    let mut count = Count::default();
    let mut connection: Option<BufReader<TcpStream>> = None;
    for number in first.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let opened = connection.take().map_or_else(|| connect(at(port)), Ok);
        let outcome = opened.and_then(|mut stream| {
            let host = lasting(number % LASTING);
            let write = served(&mut stream, &host)?;
            connection = Some(stream).filter(|_| number % PER_CONNECTION != PER_CONNECTION - 1);
            write.map(drop).ok_or_else(|| std::io::Error::other("404"))
        });
        count.add(outcome);
        thread::sleep(PAUSE);
    }
    count
}
