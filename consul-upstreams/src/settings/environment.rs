//! The variables that HashiCorp's clients read. Pure: whoever calls shows them.

use super::{SettingError, Settings};
use crate::secret::Secret;

// === impl Settings ===

impl Settings {
    /// Fills in what is not set from the variables that Consul's own clients read: `CONSUL_HTTP_ADDR`, `_HTTP_TOKEN`,
    /// `_HTTP_TOKEN_FILE`, `_HTTP_AUTH`, `_HTTP_SSL`, `_HTTP_SSL_VERIFY`, `_CACERT`, `_CAPATH`, `_CLIENT_CERT`,
    /// `_CLIENT_KEY`, `_TLS_SERVER_NAME`, `_NAMESPACE` and `_PARTITION`. What is set stays; an empty variable is none.
    ///
    /// # Errors
    ///
    /// If `CONSUL_HTTP_SSL` or `CONSUL_HTTP_SSL_VERIFY` is neither true nor false.
    pub fn fill_in(&mut self, variables: &dyn Fn(&str) -> Option<String>) -> Result<(), SettingError> {
        let get = |name: &str| variables(name).filter(|value| !value.is_empty());
        let fill = |value: &mut Option<String>, name| {
            if value.is_none() {
                *value = get(name);
            }
        };
        fill(&mut self.address, "CONSUL_HTTP_ADDR");
        fill(&mut self.namespace, "CONSUL_NAMESPACE");
        fill(&mut self.partition, "CONSUL_PARTITION");
        fill(&mut self.tls.server_name, "CONSUL_TLS_SERVER_NAME");
        if self.token.is_none() && self.token_file.is_none() {
            self.token = get("CONSUL_HTTP_TOKEN").map(Secret::new);
            self.token_file = get("CONSUL_HTTP_TOKEN_FILE").map(Into::into);
        }
        if self.basic_auth.is_none() {
            self.basic_auth = get("CONSUL_HTTP_AUTH").map(Secret::new);
        }
        if self.tls.ca.is_none() && self.tls.ca_path.is_none() {
            self.tls.ca = get("CONSUL_CACERT").map(Into::into);
            self.tls.ca_path = get("CONSUL_CAPATH").map(Into::into);
        }
        if self.tls.client_cert.is_none() && self.tls.client_key.is_none() {
            self.tls.client_cert = get("CONSUL_CLIENT_CERT").map(Into::into);
            self.tls.client_key = get("CONSUL_CLIENT_KEY").map(Into::into);
        }
        let flag = |name: &'static str| get(name).map(|value| truth(name, &value)).transpose();
        if flag("CONSUL_HTTP_SSL")? == Some(true)
            && let Some(host) = self.address.as_deref().or(Some("127.0.0.1:8500"))
            && !host.contains("://")
        {
            self.address = Some(format!("https://{}", host.trim()));
        }
        if flag("CONSUL_HTTP_SSL_VERIFY")? == Some(false) {
            self.tls.insecure = true;
        }
        Ok(())
    }
}

/// The words that Go reads.
fn truth(name: &'static str, value: &str) -> Result<bool, SettingError> {
    match value {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(SettingError::new(name, "it must be true or false")),
    }
}
