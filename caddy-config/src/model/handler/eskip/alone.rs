//! A configuration that has nothing but routes in Skipper's language.

use std::collections::BTreeMap;

use super::Eskip;
use crate::model::{
    Apps, CertificateFile, Certificates, Config, Handler, HttpApp, ListenAddress, Route, Server, TlsApp,
    TlsConnectionPolicy,
};

/// A configuration with this server alone.
fn of_one(name: &str, server: Server) -> Config {
    let http = HttpApp {
        servers: BTreeMap::from([(name.to_owned(), server)]),
        ..HttpApp::default()
    };
    Config {
        apps: Apps {
            http: Some(http),
            ..Apps::default()
        },
        ..Config::default()
    }
}

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
            tls_connection_policies: has_tls.then(|| vec![TlsConnectionPolicy::default()]),
            ..self.server()
        };
        let mut config = of_one("srv0", server);
        let tls = TlsApp {
            certificates: Some(Certificates {
                load_files: certificates,
                ..Certificates::default()
            }),
            ..TlsApp::default()
        };
        config.apps.tls = Some(tls).filter(|_| has_tls);
        config
    }

    /// A configuration with one server, `name`, which answers every request by these routes and listens nowhere: for a
    /// proxy inside another server.
    ///
    /// ```
    /// let routes = caddy_config::Eskip {
    ///     inline: vec![r#"Path("/app/*rest") -> "http://127.0.0.1:3000""#.to_owned()],
    ///     ..caddy_config::Eskip::default()
    /// };
    /// let config = routes.into_embedded("routes");
    ///
    /// let servers = config.apps.http.ok_or("it has one server")?.servers;
    /// assert!(servers["routes"].listen.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn into_embedded(self, name: &str) -> Config {
        of_one(name, self.server())
    }

    fn server(self) -> Server {
        Server {
            routes: vec![Route {
                handlers: vec![Handler::Eskip(Box::new(self))],
                ..Route::default()
            }],
            ..Server::default()
        }
    }
}
