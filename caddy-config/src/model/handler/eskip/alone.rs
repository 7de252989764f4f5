//! A configuration that has nothing but routes in Skipper's language.

use std::collections::BTreeMap;

use super::Eskip;
use crate::model::{
    Apps, CertificateFile, Certificates, Config, Handler, HttpApp, ListenAddress, Route, Server, TlsApp,
    TlsConnectionPolicy,
};

// === impl Eskip ===

impl Eskip {
    /// A configuration with one server, which answers every request by these routes: over TLS if there are
    /// certificates, the one that fits the name that a client sends.
    ///
    /// ```
    /// let routes = caddy_config::Eskip {
    ///     files: vec!["routes.eskip".to_owned()],
    ///     ..caddy_config::Eskip::default()
    /// };
    /// let config = routes.into_config(":9090".parse()?, Vec::new());
    ///
    /// let caddyfile = ":9090 {\n\teskip {\n\t\tfile routes.eskip\n\t}\n}\n";
    /// let adapted = caddy_config::from_caddyfile("Caddyfile", caddyfile, &|_| None)?;
    /// assert_eq!(config, adapted.config);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn into_config(self, listen: ListenAddress, certificates: Vec<CertificateFile>) -> Config {
        let has_tls = !certificates.is_empty();
        let server = Server {
            listen: vec![listen],
            routes: vec![Route {
                handlers: vec![Handler::Eskip(Box::new(self))],
                ..Route::default()
            }],
            tls_connection_policies: has_tls.then(|| vec![TlsConnectionPolicy::default()]),
            ..Server::default()
        };
        let http = HttpApp {
            servers: BTreeMap::from([("srv0".to_owned(), server)]),
            ..HttpApp::default()
        };
        let tls = TlsApp {
            certificates: Some(Certificates {
                load_files: certificates,
                ..Certificates::default()
            }),
            ..TlsApp::default()
        };
        Config {
            apps: Apps {
                http: Some(http),
                tls: Some(tls).filter(|_| has_tls),
                ..Apps::default()
            },
            ..Config::default()
        }
    }
}
