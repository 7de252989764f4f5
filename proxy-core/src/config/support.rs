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
            ("keepalive_interval", server.keepalive_interval.is_some()),
            ("keepalive_idle", server.keepalive_idle.is_some()),
            ("keepalive_count", server.keepalive_count.is_some()),
            ("timeouts write_idle RATE", server.write_min_rate.is_some()),
            ("timeouts write_max_chunk", server.max_write_chunk.is_some()),
            ("trace", server.logs.as_ref().is_some_and(|logs| logs.trace)),
        ],
    );
    if !server.listener_wrappers.is_empty() {
        compiler.unsupported::<()>("the PROXY protocol on listeners", "remove `listener_wrappers`");
    }
}
