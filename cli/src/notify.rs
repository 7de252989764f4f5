//! Tells systemd how the service is doing (`Type=notify` or `notify-reload`).

use std::io;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::time::{ClockId, clock_gettime};
use tracing::debug;

use crate::settings::Environment;

/// The socket on which the service manager listens, if there is one.
#[derive(Debug)]
pub(crate) struct Notify(Option<(UnixDatagram, SocketAddr)>);

// === impl Notify ===

impl Notify {
    /// The socket that the variable `NOTIFY_SOCKET` names: a path, or `@` and an abstract name.
    pub(crate) fn new(environment: &Environment) -> Self {
        let socket = environment.get("NOTIFY_SOCKET").filter(|name| !name.is_empty());
        let opened = socket.map(open).transpose();
        Self(opened.unwrap_or_else(|error| {
            debug!(%error, "the service manager cannot be told");
            None
        }))
    }

    /// The proxy serves, with its first configuration or with another one.
    pub(crate) fn ready(&self) {
        self.tell("READY=1\nSTATUS=serving");
    }

    /// Another configuration is being loaded.
    pub(crate) fn reloading(&self) {
        // systemd takes the READY that follows for the answer only if it knows when the reload began.
        let now = clock_gettime(ClockId::Monotonic);
        let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1000;
        self.tell(&format!(
            "RELOADING=1\nMONOTONIC_USEC={micros}\nSTATUS=loading a configuration"
        ));
    }

    /// The configuration was refused, and the one before serves on.
    pub(crate) fn refused(&self) {
        self.tell("READY=1\nSTATUS=serving; the last configuration was refused, see the log");
    }

    /// The proxy finishes what is under way.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=waiting for requests under way");
    }

    fn tell(&self, state: &str) {
        let Some((socket, manager)) = &self.0 else { return };
        if let Err(error) = socket.send_to_addr(state.as_bytes(), manager) {
            debug!(%error, "the service manager does not listen");
        }
    }
}

fn open(name: &str) -> io::Result<(UnixDatagram, SocketAddr)> {
    let manager = match name.strip_prefix('@') {
        Some(name) => abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    // A manager that does not read must not hold the proxy up.
    socket.set_nonblocking(true)?;
    Ok((socket, manager))
}

#[cfg(target_os = "linux")]
fn abstract_name(name: &str) -> io::Result<SocketAddr> {
    <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name)
}

#[cfg(not(target_os = "linux"))]
fn abstract_name(_name: &str) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(manager: &UnixDatagram) -> String {
        let mut buffer = [0; 1024];
        let length = manager.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[test]
    fn the_manager_hears_of_each_state() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let mut managers = vec![(path.display().to_string(), UnixDatagram::bind(&path).unwrap())];
        let name = format!("doorway-notify-{}", std::process::id());
        if let Ok(address) = abstract_name(&name) {
            managers.push((format!("@{name}"), UnixDatagram::bind_addr(&address).unwrap()));
        }
        for (text, manager) in managers {
            let notify = Notify::new(&Environment::from([("NOTIFY_SOCKET", text.as_str())]));
            notify.ready();
            assert!(heard(&manager).starts_with("READY=1\n"));
            notify.reloading();
            let line = heard(&manager);
            let micros = line.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC="));
            assert!(line.starts_with("RELOADING=1\n") && micros.unwrap().parse::<u64>().unwrap() > 0);
            notify.stopping();
            assert!(heard(&manager).starts_with("STOPPING=1\n"));
        }
    }

    #[test]
    fn without_a_manager_nothing_is_said() {
        Notify::new(&Environment::default()).ready();
        Notify::new(&Environment::from([("NOTIFY_SOCKET", "/no/such/socket")])).ready();
    }
}
