//! Commands that Caddy has and Doorway has not, and what does their work.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The commands, each with what to do instead.
const INSTEAD: [(&str, &str); 15] = [
    (
        "start",
        "let a service manager keep `doorway run`; it says when it is ready, and `doorway stop` ends it",
    ),
    (
        "environ",
        "`doorway run --environ` prints the settings and the environment",
    ),
    (
        "list-modules",
        "there are no modules; the manual has a table of every directive and option",
    ),
    ("build-info", "`doorway version` is all there is"),
    (
        "trust",
        "give clients the root certificate: GET /pki/ca/local/certificates of the admin API",
    ),
    (
        "untrust",
        "nothing was put among the system's certificates; remove there what you put there",
    ),
    (
        "respond",
        "write a Caddyfile with `respond` for the address; `doorway run FILE` runs it",
    ),
    (
        "file-server",
        "Doorway serves no files; run a file server and `reverse_proxy` to it",
    ),
    (
        "reverse-proxy",
        "write a Caddyfile with `reverse_proxy` for the address; `doorway run FILE` runs it",
    ),
    ("upgrade", "install the new version as you did the old one"),
    (
        "add-package",
        "there are no plug-ins; the crates are for building on them",
    ),
    ("remove-package", "there are no plug-ins"),
    ("storage", "the data directory is plain files; copy it"),
    (
        "completion",
        "there are no completions yet; `doorway help` lists the commands",
    ),
    ("manpage", "`doorway help COMMAND` says all there is to say"),
];

/// What to do instead, if the command line names a command of Caddy's that there is none of here.
pub(crate) fn hint(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let (name, instead) = INSTEAD.iter().find(|(known, _)| known == name)?;
    Some(format!(
        "error: `{name}` is a command of Caddy that Doorway has not\n  help: {instead}"
    ))
}
