//! Options of `tls`.

use super::{
    Area::Tls,
    Support,
    SupportState::{Accepted, Active, Pending, Refused},
    row,
};

/// Why what is about certificates from public authorities waits.
const NO_ACME: &str = "certificates from public authorities are not obtained yet: the internal one is used";

/// Why DNS challenges cannot be configured.
const NO_DNS: &str = "Doorway has no plug-ins for DNS providers; name each host, or give the files of a wildcard \
    certificate";

pub(super) const ROWS: &[Support] = &[
    row(Tls, "protocols", Active, "tls1.2 and tls1.3"),
    row(
        Tls,
        "ciphers",
        Active,
        "the six of TLS 1.2 with ECDHE and AEAD; those of TLS 1.3 are always on",
    ),
    row(
        Tls,
        "curves",
        Active,
        "x25519mlkem768, x25519, secp256r1, secp384r1; secp521r1 is refused",
    ),
    row(
        Tls,
        "alpn",
        Active,
        "h2 and http/1.1, as far as the server speaks them",
    ),
    row(
        Tls,
        "client_auth",
        Active,
        "all modes; trust_pool file and inline, verifier leaf file, trusted_leaf_cert and trusted_leaf_cert_file. \
         Listed certificates without a trust_pool need no authority; sessions are not resumed, so each connection \
         shows its certificate",
    ),
    row(
        Tls,
        "load",
        Pending,
        "directories of certificates are not read yet; write `tls CERTIFICATE KEY` for each site",
    ),
    row(Tls, "ca", Accepted, NO_ACME),
    row(Tls, "ca_root", Accepted, NO_ACME),
    row(Tls, "eab", Accepted, NO_ACME),
    row(
        Tls,
        "issuer",
        Active,
        "internal; of acme, certificates are not obtained yet: the internal one is used",
    ),
    row(
        Tls,
        "issuer zerossl",
        Refused,
        "write `issuer acme` with ZeroSSL's directory and `eab`",
    ),
    row(
        Tls,
        "key_type",
        Accepted,
        "keys of internal certificates are p256",
    ),
    row(
        Tls,
        "on_demand",
        Pending,
        "certificates are not obtained in the handshake yet; name each host",
    ),
    row(Tls, "reuse_private_keys", Accepted, NO_ACME),
    row(Tls, "renewal_window_ratio", Accepted, NO_ACME),
    row(Tls, "dns", Refused, NO_DNS),
    row(Tls, "resolvers", Refused, NO_DNS),
    row(Tls, "dns_ttl", Refused, NO_DNS),
    row(Tls, "dns_challenge_override_domain", Refused, NO_DNS),
    row(Tls, "propagation_delay", Refused, NO_DNS),
    row(Tls, "propagation_timeout", Refused, NO_DNS),
    row(
        Tls,
        "get_certificate",
        Refused,
        "certificates come from files or from an issuer; write `tls CERTIFICATE KEY`",
    ),
    row(
        Tls,
        "insecure_secrets_log",
        Refused,
        "Doorway writes no session keys anywhere; capture what is behind it",
    ),
];
