//! The network between one replica and the store: fine, cut or stalled.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Result;

use crate::contest::at;

/// What becomes of what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weather {
    Fine,
    /// Connections are closed, and new ones too.
    Cut,
    /// Connections stay, and nothing comes through.
    Stalled,
}

/// Passes connections on to a server.
#[derive(Clone, Debug)]
pub(super) struct Network {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Debug)]
struct Now {
    weather: Weather,
    server: u16,
    open: Vec<TcpStream>,
}

// === impl Network ===

impl Network {
    pub(super) fn start(server: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let now = Now {
            weather: Weather::Fine,
            server,
            open: Vec::new(),
        };
        let shared = Arc::new(Shared {
            now: Mutex::new(now),
            changed: Condvar::new(),
        });
        let served = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Whoever is not passed on is closed.
                drop(served.pass_on(client));
            }
        });
        Ok(Self { port, shared })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn set(&self, weather: Weather) {
        let mut now = self.shared.lock();
        now.weather = weather;
        if weather == Weather::Cut {
            for stream in now.open.drain(..) {
                drop(stream.shutdown(Shutdown::Both));
            }
        }
        self.shared.changed.notify_all();
    }

    /// Has another server behind it from now on.
    pub(super) fn lead_to(&self, server: u16) {
        self.shared.lock().server = server;
    }
}

// === impl Shared ===

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass_on(self: &Arc<Self>, client: TcpStream) -> Result<()> {
        let mut now = self.lock();
        if now.weather == Weather::Cut {
            return Ok(());
        }
        let server = TcpStream::connect(at(now.server))?;
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
            now.open.push(stream.try_clone()?);
        }
        drop(now);
        let (back, forth) = ((server.try_clone()?, client.try_clone()?), (client, server));
        for (from, to) in [back, forth] {
            let this = Arc::clone(self);
            thread::spawn(move || this.copy(from, to));
        }
        Ok(())
    }

    /// Copies one direction to its end, which ends the other one too.
    fn copy(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            self.wait_while_stalled();
            let part = buffer.get(..length).unwrap_or_default();
            if to.write_all(part).is_err() {
                break;
            }
        }
        for stream in [from, to] {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    fn wait_while_stalled(&self) {
        let now = self.lock();
        let waited = self
            .changed
            .wait_while(now, |now| now.weather == Weather::Stalled);
        drop(waited);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo() -> Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut byte = [0];
                    while matches!(stream.read(&mut byte), Ok(1)) && stream.write_all(&byte).is_ok() {}
                });
            }
        });
        Ok(port)
    }

    fn comes_back(stream: &mut TcpStream) -> bool {
        let mut byte = [0];
        stream.write_all(b"x").is_ok() && matches!(stream.read(&mut byte), Ok(1))
    }

    #[test]
    fn what_is_stalled_comes_through_later_and_what_is_cut_never_does() {
        let network = Network::start(echo().unwrap()).unwrap();
        let connect = || TcpStream::connect(at(network.port())).unwrap();
        let mut stream = connect();
        assert!(comes_back(&mut stream));
        network.set(Weather::Stalled);
        stream.write_all(b"y").unwrap();
        network.set(Weather::Fine);
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"y");
        network.set(Weather::Cut);
        assert!(!comes_back(&mut stream) && !comes_back(&mut connect()));
        network.set(Weather::Fine);
        assert!(comes_back(&mut connect()));
    }
}
