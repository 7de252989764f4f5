//! What a policy says of the connections that it is for.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::version::{TLS12, TLS13};
use rustls::{SupportedCipherSuite, SupportedProtocolVersion};

use super::client_auth::ClientAuth;

/// Which connections are made how. Of a listener's policies the first one that is for a connection counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsPolicy {
    /// The server names that it is for, in lower case: `*` stands for one whole label, from the first on, and an empty
    /// text for no name at all. `None`: every connection.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) terms: Terms,
}

/// How connections are made. Codes are those of the standards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Terms {
    pub(crate) versions: Versions,
    /// Cipher suites of TLS 1.2, in order of preference. Default: all six that are safe. Those of TLS 1.3 are always on
    /// offer.
    pub(crate) cipher_suites: Vec<u16>,
    /// Groups for the exchange of keys, in order of preference. Default: those of the library.
    pub(crate) groups: Vec<u16>,
    /// Protocols to agree on, in order of preference.
    pub(crate) alpn: Vec<Vec<u8>>,
    /// What clients must show; `None`: they are not asked.
    pub(crate) clients: Option<Arc<ClientAuth>>,
    /// The name that counts for clients that send none.
    pub(crate) default_name: Option<String>,
    /// The name whose certificate is shown if there is none for the one that the client sent.
    pub(crate) fallback_name: Option<String>,
}

/// Which versions of TLS are spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Versions {
    /// TLS 1.2 and 1.3.
    #[default]
    Both,
    Only12,
    Only13,
}

// === impl Terms ===

impl Terms {
    /// The cryptography of these terms, taken from `all`.
    pub(super) fn provider(&self, all: &Arc<CryptoProvider>) -> Arc<CryptoProvider> {
        if self.cipher_suites.is_empty() && self.groups.is_empty() {
            return Arc::clone(all);
        }
        let mut provider = CryptoProvider::clone(all);
        if !self.cipher_suites.is_empty() {
            let (mut suites, old): (Vec<_>, Vec<_>) = provider
                .cipher_suites
                .into_iter()
                .partition(|suite| suite.tls13().is_some());
            let wanted = |code: &u16| old.iter().find(|suite| u16::from(suite.suite()) == *code);
            suites.extend(self.cipher_suites.iter().filter_map(wanted));
            provider.cipher_suites = suites;
        }
        if !self.groups.is_empty() {
            provider.kx_groups = self.groups.iter().filter_map(|code| group(*code)).collect();
        }
        Arc::new(provider)
    }
}

/// The code of a cipher suite of TLS 1.2 that is safe, by the name that the standards give it.
pub(crate) fn cipher_suite(name: &str) -> Option<u16> {
    let old = |suite: &&SupportedCipherSuite| suite.tls13().is_none();
    let suites = aws_lc_rs::ALL_CIPHER_SUITES.iter().filter(old);
    let mut codes = suites.map(|suite| suite.suite());
    // Go's names of the two old ChaCha suites are those of the standard, too.
    codes.find(|code| code.as_str() == Some(name)).map(u16::from)
}

/// The group with this code, if there is one.
pub(crate) fn group(code: u16) -> Option<&'static dyn SupportedKxGroup> {
    let known = aws_lc_rs::ALL_KX_GROUPS.iter().copied();
    known.into_iter().find(|group| u16::from(group.name()) == code)
}

// === impl Versions ===

impl Versions {
    pub(super) fn supported(self) -> Vec<&'static SupportedProtocolVersion> {
        match self {
            Self::Both => vec![&TLS13, &TLS12],
            Self::Only12 => vec![&TLS12],
            Self::Only13 => vec![&TLS13],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_and_groups_keep_the_order_that_they_were_named_in() {
        let all = Arc::new(aws_lc_rs::default_provider());
        let named = [
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        ];
        let terms = Terms {
            cipher_suites: named.iter().filter_map(|name| cipher_suite(name)).collect(),
            groups: vec![24, 29],
            ..Terms::default()
        };
        let provider = terms.provider(&all);
        let old: Vec<_> = provider
            .cipher_suites
            .iter()
            .filter(|suite| suite.tls13().is_none())
            .filter_map(|suite| suite.suite().as_str())
            .collect();
        assert_eq!(old, named);
        assert_eq!(provider.cipher_suites.len(), 5, "those of TLS 1.3 stay");
        let groups: Vec<u16> = provider
            .kx_groups
            .iter()
            .map(|group| group.name().into())
            .collect();
        assert_eq!(groups, [24, 29]);
    }

    #[test]
    fn what_is_not_said_shares_the_cryptography_of_all() {
        let all = Arc::new(aws_lc_rs::default_provider());
        assert!(Arc::ptr_eq(&Terms::default().provider(&all), &all));
        assert_eq!(
            (cipher_suite("TLS13_AES_128_GCM_SHA256"), cipher_suite("")),
            (None, None)
        );
    }
}
