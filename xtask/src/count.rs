//! Clients that measure what goes wrong: how they connect and read, and what they count.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

/// An answer that takes longer is lost.
const PATIENCE: Duration = Duration::from_secs(20);

/// Requests, and those that failed by their reason.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub(crate) done: u64,
    pub(crate) failed: BTreeMap<String, u64>,
}

// === impl Count ===

impl Count {
    pub(crate) fn add(&mut self, outcome: io::Result<()>) {
        match outcome {
            Ok(()) => self.done += 1,
            Err(error) => *self.failed.entry(reason(&error)).or_default() += 1,
        }
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    pub(crate) fn sum(clients: Vec<JoinHandle<Self>>) -> Self {
        let mut sum = Self::default();
        for client in clients {
            let Ok(count) = client.join() else {
                *sum.failed.entry("the client panicked".to_owned()).or_default() += 1;
                continue;
            };
            sum.done += count.done;
            for (reason, number) in count.failed {
                *sum.failed.entry(reason).or_default() += number;
            }
        }
        sum
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} requests, {} failed", self.done, self.failures())?;
        for (reason, number) in &self.failed {
            write!(f, "; {number} {reason}")?;
        }
        Ok(())
    }
}

/// What went wrong, in words.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionReset => "reset".to_owned(),
        io::ErrorKind::ConnectionRefused => "refused".to_owned(),
        io::ErrorKind::BrokenPipe => "closed while it was sent".to_owned(),
        io::ErrorKind::UnexpectedEof => "closed without an answer".to_owned(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer in time".to_owned(),
        _ => error.to_string(),
    }
}

pub(crate) fn connect(address: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(BufReader::new(stream))
}

pub(crate) fn read_head(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(head)
}
