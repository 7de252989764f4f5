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
    /// `a` with an upstream that speaks HTTP/1.1 over TLS, its certificate verified.
    UpTls,
    /// `a` with an upstream that speaks HTTP/2 over TLS, its certificate verified.
    UpH2,
    /// `a` with an upstream that speaks HTTP/2 by prior knowledge.
    UpH2c,
    /// `a` with two upstreams, the one with the fewest requests first, their health checked, and an access log.
    AFull,
    /// `b`, the same way.
    BFull,
    /// `c`, the same way.
    CFull,
    /// `d`, the same way.
    DFull,
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
    pub(crate) const LOADS: [Self; 14] = [
        Self::A,
        Self::B,
        Self::C,
        Self::D,
        Self::E,
        Self::F,
        Self::Doors,
        Self::UpTls,
        Self::UpH2,
        Self::UpH2c,
        Self::AFull,
        Self::BFull,
        Self::CFull,
        Self::DFull,
    ];

    /// What this workload asks of `server`; nothing if the server has no place for it.
    pub(crate) fn asks(self, server: &Server) -> Vec<Ask> {
        let ports = &server.ports;
        let at = |port: Option<u16>, path: &str| Some(format!("http://127.0.0.1:{}{path}", port?));
        let plain = |path: &str| at(Some(ports.plain), path);
        let full = |path: &str| at(ports.full, path);
        let secure = |port: Option<u16>| Some(format!("https://localhost:{}/128", port?));
        let doors = || at(ports.doors, &format!("/~/{TOKEN}/r/x"));
        let ask = |name, load, url: Option<String>| url.map(|url| Ask { name, load, url });
        let asks = match self {
            Self::A => vec![ask("a", Load::GET, plain("/128"))],
            Self::B => vec![ask("b", Load::GET, plain("/16k"))],
            Self::C => vec![ask("c", Load::POST, plain("/128"))],
            Self::D => vec![ask("d", Load::Http2, secure(ports.tls))],
            Self::E => vec![ask("e", Load::GET, secure(ports.tls))],
            Self::F => vec![ask("f", Load::CLOSE, plain("/128"))],
            Self::Doors if server.ports.doors.is_some() => {
                vec![
                    ask("plain", Load::GET, plain("/128")),
                    ask("doors", Load::GET, doors()),
                ]
            }
            Self::UpTls => vec![ask("up-tls", Load::GET, at(ports.up_tls, "/128"))],
            Self::UpH2 => vec![ask("up-h2", Load::GET, at(ports.up_h2, "/128"))],
            Self::UpH2c => vec![ask("up-h2c", Load::GET, at(ports.up_h2c, "/128"))],
            Self::AFull => vec![ask("a-full", Load::GET, full("/128"))],
            Self::BFull => vec![ask("b-full", Load::GET, full("/16k"))],
            Self::CFull => vec![ask("c-full", Load::POST, full("/128"))],
            Self::DFull => vec![ask("d-full", Load::Http2, secure(ports.full_tls))],
            Self::Doors | Self::Idle => Vec::new(),
        };
        asks.into_iter().flatten().collect()
    }

    /// The program without which this workload cannot run here.
    pub(crate) fn missing(self, place: &Place) -> Option<&'static str> {
        let multiplexed = matches!(self, Self::D | Self::DFull);
        let generator = if multiplexed { "h2load" } else { "wrk" };
        if (multiplexed || self == Self::E) && !place.has_certificate() {
            return Some("openssl");
        }
        if matches!(self, Self::UpTls | Self::UpH2 | Self::UpH2c) && !place.has_secure_origin() {
            return Some("nginx");
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
            Self::UpTls => "up-tls",
            Self::UpH2 => "up-h2",
            Self::UpH2c => "up-h2c",
            Self::AFull => "a-full",
            Self::BFull => "b-full",
            Self::CFull => "c-full",
            Self::DFull => "d-full",
            Self::Idle => "idle",
        })
    }
}
