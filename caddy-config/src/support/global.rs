//! Global options.

use super::{
    Area::GlobalOption,
    Support,
    SupportState::{Accepted, Active, Refused},
    row,
};

/// Why what is about certificates from public authorities waits.
const NO_ACME: &str = "certificates from public authorities are not obtained yet: the internal one is used";

pub(super) const ROWS: &[Support] = &[
    row(GlobalOption, "debug", Active, ""),
    row(GlobalOption, "http_port", Active, ""),
    row(GlobalOption, "https_port", Active, ""),
    row(GlobalOption, "default_bind", Active, ""),
    row(GlobalOption, "order", Active, ""),
    row(
        GlobalOption,
        "storage",
        Active,
        "`file_system`: where the internal certificate authority is kept",
    ),
    row(
        GlobalOption,
        "storage_check",
        Accepted,
        "the storage is not written to before it is needed",
    ),
    row(
        GlobalOption,
        "storage_clean_interval",
        Accepted,
        "nothing that would need cleaning is kept yet",
    ),
    row(GlobalOption, "admin", Active, ""),
    row(GlobalOption, "persist_config", Active, ""),
    row(GlobalOption, "log", Active, ""),
    row(
        GlobalOption,
        "grace_period",
        Active,
        "30 seconds unless given, where Caddy waits for ever",
    ),
    row(GlobalOption, "shutdown_delay", Active, ""),
    row(
        GlobalOption,
        "auto_https",
        Active,
        "off, disable_redirects, disable_certs, ignore_loaded_certs",
    ),
    row(GlobalOption, "email", Accepted, NO_ACME),
    row(GlobalOption, "acme_ca", Accepted, NO_ACME),
    row(GlobalOption, "acme_ca_root", Accepted, NO_ACME),
    row(GlobalOption, "acme_eab", Accepted, NO_ACME),
    row(
        GlobalOption,
        "acme_dns",
        Refused,
        "Doorway has no plug-ins for DNS providers; name each host, or `tls` with the files of a wildcard \
         certificate",
    ),
    row(
        GlobalOption,
        "dns",
        Refused,
        "Doorway has no plug-ins for DNS providers; remove it",
    ),
    row(
        GlobalOption,
        "tls_resolvers",
        Refused,
        "it is for DNS challenges, which Doorway does not solve; remove it",
    ),
    row(
        GlobalOption,
        "cert_issuer",
        Active,
        "internal; of acme, certificates are not obtained yet: the internal one is used",
    ),
    row(GlobalOption, "cert_lifetime", Accepted, NO_ACME),
    row(GlobalOption, "preferred_chains", Accepted, NO_ACME),
    row(GlobalOption, "local_certs", Active, ""),
    row(
        GlobalOption,
        "skip_install_trust",
        Active,
        "the root is never installed without being asked",
    ),
    row(
        GlobalOption,
        "pki",
        Accepted,
        "names and lifetimes of the internal authority are Doorway's own yet; `ca local` alone",
    ),
    row(
        GlobalOption,
        "key_type",
        Accepted,
        "keys of internal certificates are p256",
    ),
    row(GlobalOption, "renew_interval", Accepted, NO_ACME),
    row(GlobalOption, "renewal_window_ratio", Accepted, NO_ACME),
    row(
        GlobalOption,
        "ocsp_stapling",
        Accepted,
        "responses are not stapled yet, as with `off`",
    ),
    row(
        GlobalOption,
        "ocsp_interval",
        Accepted,
        "responses are not stapled yet",
    ),
    row(
        GlobalOption,
        "on_demand_tls",
        Accepted,
        "certificates are not obtained in the handshake yet; sites that ask for it are refused",
    ),
    row(GlobalOption, "tls_automate_names", Accepted, NO_ACME),
    row(
        GlobalOption,
        "default_sni",
        Active,
        "it comes before certificates for addresses",
    ),
    row(GlobalOption, "fallback_sni", Active, ""),
    row(
        GlobalOption,
        "ech",
        Refused,
        "encrypted client hellos need a DNS provider, for which Doorway has no plug-ins; remove it",
    ),
    row(
        GlobalOption,
        "metrics",
        Active,
        "with per_host and observe_catchall_hosts",
    ),
    row(
        GlobalOption,
        "metrics otlp",
        Refused,
        "let a collector read /metrics of the admin endpoint",
    ),
    row(GlobalOption, "servers", Active, ""),
    row(
        GlobalOption,
        "route_sources",
        Active,
        "Doorway's own: hosts that come and go while it runs, from files, labels of containers, Ingresses and a store that \
         replicas share; `listen`, `file`, `docker`, `kubernetes`, `store`, `token`",
    ),
    row(
        GlobalOption,
        "filesystem",
        Refused,
        "Doorway serves no files; remove it",
    ),
    row(
        GlobalOption,
        "events",
        Refused,
        "Doorway runs no commands on events; watch the log, or the metrics",
    ),
    row(
        GlobalOption,
        "frankenphp",
        Refused,
        "Doorway does not run PHP; run a web server for it and `reverse_proxy` to it",
    ),
    row(
        GlobalOption,
        "layer4",
        Refused,
        "Doorway proxies HTTP alone; use another proxy for other protocols",
    ),
    row(
        GlobalOption,
        "crowdsec",
        Refused,
        "Doorway has no plug-ins; remove it",
    ),
    row(
        GlobalOption,
        "security",
        Refused,
        "Doorway has no plug-ins; ask another service with `forward_auth`",
    ),
];
