//! What is asked of the proxies.

use std::fmt;

use super::has;
use super::load::Load;
use super::peers::{Place, Server};

/// A token for the pod 127.0.0.2 under [`SECRET`], as the Doors framework would make it.
const TOKEN: &str = "AAECAwQFBgcICQoLgj_EH7F8wp_jfseTtnI2K7s5HFc";

/// The key of [`TOKEN`]: a published test vector, no secret of anybody's.
pub(crate) const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZg==";

/// One kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Workload {
    /// GET, 128 bytes, 64 connections kept alive.
    A,
    /// GET, 16 KiB.
    B,
    /// POST of 16 KiB, 128 bytes back.
    C,
    /// GET, 128 bytes, HTTP/2 over TLS, 16 connections with 16 streams each.
    D,
    /// GET, 128 bytes, HTTP/1.1 over TLS.
    E,
    /// GET, 128 bytes, a new connection for each request.
    F,
    /// A system request of a Doors app beside a plain one of the same process; Doorway only.
    Doors,
    /// Ten thousand idle connections: what each costs in memory.
    Idle,
}

/// One request to repeat, and under which name its figures are kept.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// The name of the row.
    pub(crate) name: &'static str,
    /// How it is generated.
    pub(crate) load: Load,
    /// Where it goes.
    pub(crate) url: String,
}

// === impl Workload ===

impl Workload {
    /// Everything that is measured under load.
    pub(crate) const LOADS: [Self; 7] = [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F, Self::Doors];

    /// What this workload asks of `server`; nothing if the server has no place for it.
    pub(crate) fn asks(self, server: &Server) -> Vec<Ask> {
        let plain = |path: &str| Some(format!("http://127.0.0.1:{}{path}", server.ports.plain));
        let secure = |path: &str| Some(format!("https://localhost:{}{path}", server.ports.tls?));
        let doors = || Some(format!("http://127.0.0.1:{}/~/{TOKEN}/r/x", server.ports.doors?));
        let ask = |name, load, url: Option<String>| url.map(|url| Ask { name, load, url });
        let asks = match self {
            Self::A => vec![ask("a", Load::GET, plain("/128"))],
            Self::B => vec![ask("b", Load::GET, plain("/16k"))],
            Self::C => vec![ask("c", Load::POST, plain("/128"))],
            Self::D => vec![ask("d", Load::Http2, secure("/128"))],
            Self::E => vec![ask("e", Load::GET, secure("/128"))],
            Self::F => vec![ask("f", Load::CLOSE, plain("/128"))],
            Self::Doors if server.ports.doors.is_some() => {
                vec![
                    ask("plain", Load::GET, plain("/128")),
                    ask("doors", Load::GET, doors()),
                ]
            }
            Self::Doors | Self::Idle => Vec::new(),
        };
        asks.into_iter().flatten().collect()
    }

    /// The program without which this workload cannot run here.
    pub(crate) fn missing(self, place: &Place) -> Option<&'static str> {
        let generator = if self == Self::D { "h2load" } else { "wrk" };
        let secure = matches!(self, Self::D | Self::E);
        if secure && !place.has_certificate() {
            return Some("openssl");
        }
        (!has(generator)).then_some(generator)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
            Self::D => "d",
            Self::E => "e",
            Self::F => "f",
            Self::Doors => "doors",
            Self::Idle => "idle",
        })
    }
}
