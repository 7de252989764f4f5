//! What the model says and the proxy does not follow: a warning where the service is only less good, an error where
//! requests would go wrong. Which of the two is said in [`caddy_config::support`].

use caddy_config as model;
use model::{Area, SupportState, support_of};

use super::compile::Compiler;
use super::error::BuildError;

impl Compiler<'_> {
    /// Notes that `name` is configured: nothing if it is active, else what the table of supported names says of it,
    /// once for each server.
    pub(super) fn note(&mut self, area: Area, name: &'static str) {
        let Some(row) = support_of(area, name) else { return };
        if row.state == SupportState::Active || !self.noted.insert((self.server.clone(), area, name)) {
            return;
        }
        let named = row.named();
        if row.state == SupportState::Accepted {
            let server = &self.server;
            self.warnings.push(format!(
                "server {server}: the {named} changes nothing: {}",
                row.note
            ));
        } else {
            self.errors.push(BuildError::Unsupported {
                server: self.server.clone(),
                what: format!("the {named}"),
                way_out: row.note,
            });
        }
    }

    /// [`Compiler::note`] of each name whose condition holds.
    pub(super) fn note_all(&mut self, area: Area, names: &[(&'static str, bool)]) {
        for (name, given) in names {
            if *given {
                self.note(area, name);
            }
        }
    }
}

/// The options of a server.
pub(super) fn server(compiler: &mut Compiler<'_>, server: &model::Server) {
    compiler.note_all(
        Area::ServerOption,
        &[
            ("timeouts write_idle RATE", server.write_min_rate.is_some()),
            ("timeouts write_max_chunk", server.max_write_chunk.is_some()),
            ("trace", server.logs.as_ref().is_some_and(|logs| logs.trace)),
        ],
    );
}

/// The options of a source of upstreams.
pub(super) fn dynamic(compiler: &mut Compiler<'_>, dial_fallback_delay: bool) {
    let name = "dynamic dial_fallback_delay";
    compiler.note_all(Area::ReverseProxy, &[(name, dial_fallback_delay)]);
}

/// The options of a `transport http`.
pub(super) fn transport(compiler: &mut Compiler<'_>, http: &model::HttpTransport) {
    let network_proxy = matches!(http.network_proxy, Some(model::NetworkProxy::Url { .. }));
    compiler.note_all(
        Area::Transport,
        &[
            ("read_buffer", http.read_buffer_size.is_some()),
            ("write_buffer", http.write_buffer_size.is_some()),
            ("versions 3", http.versions.contains(&model::HttpVersion::Http3)),
            ("network_proxy", network_proxy),
        ],
    );
}
