//! A client of the API.

use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use thiserror::Error;

use super::settings::Access;

/// Why there is no client.
#[derive(Debug, Error)]
pub(super) enum ClientError {
    #[error("this process is in no pod with a service account")]
    InCluster(#[source] kube::config::InClusterError),
    #[error("the kubeconfig cannot be used: {0}")]
    Kubeconfig(#[source] kube::config::KubeconfigError),
    #[error("the address of the API is no URL")]
    Url,
    #[error("the certificates of the API's authorities cannot be read")]
    Authorities,
    #[error("no client could be made")]
    Client(#[source] kube::Error),
}

/// Longer than the API keeps a watch open, so only a dead connection is silent for so long.
const SILENCE: Duration = Duration::from_secs(310);

/// Makes a client. kube takes the process's provider of cryptography and makes aws-lc-rs that one where there is none, so
/// a want of one cannot make it panic.
///
/// # Errors
///
/// If files are missing or say something else than expected. Nothing is connected to yet.
pub(super) async fn client(access: &Access) -> Result<Client, ClientError> {
    let mut config = match access {
        Access::Automatic => match Config::incluster() {
            Ok(config) => config,
            Err(_) => {
                let config = Config::from_kubeconfig(&KubeConfigOptions::default()).await;
                config.map_err(ClientError::Kubeconfig)?
            }
        },
        Access::InCluster => Config::incluster().map_err(ClientError::InCluster)?,
        Access::Kubeconfig { path, context } => {
            let file = Kubeconfig::read_from(path).map_err(ClientError::Kubeconfig)?;
            let options = KubeConfigOptions {
                context: context.clone(),
                ..KubeConfigOptions::default()
            };
            let config = Config::from_custom_kubeconfig(file, &options).await;
            config.map_err(ClientError::Kubeconfig)?
        }
        Access::Url { url, token, ca } => explicit(url, token.as_deref(), ca.as_deref())?,
    };
    config.connect_timeout = Some(Duration::from_secs(5));
    config.read_timeout = Some(SILENCE);
    // Pauses between tries are the source's own.
    config.default_retry = false;
    Client::try_from(config).map_err(ClientError::Client)
}

fn explicit(url: &str, token: Option<&str>, ca: Option<&[u8]>) -> Result<Config, ClientError> {
    let url: http::Uri = url.parse().map_err(|_| ClientError::Url)?;
    if url.host().is_none() || !matches!(url.scheme_str(), Some("http" | "https")) {
        return Err(ClientError::Url);
    }
    let mut config = Config::new(url);
    config.auth_info.token = token.map(|token| token.to_owned().into());
    if let Some(pem) = ca {
        config.root_cert = Some(authorities(pem)?);
    }
    Ok(config)
}

fn authorities(pem: &[u8]) -> Result<Vec<Vec<u8>>, ClientError> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem)
        .map(|der| der.map(|der| der.to_vec()))
        .collect();
    read.ok()
        .filter(|read| !read.is_empty())
        .ok_or(ClientError::Authorities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_for_https_needs_no_provider_of_the_process() {
        let access = Access::Url {
            url: "https://127.0.0.1:1".to_owned(),
            token: Some("abc".to_owned()),
            ca: None,
        };
        assert!(client(&access).await.is_ok());
    }

    #[tokio::test]
    async fn what_cannot_be_used_is_said_without_its_secrets() {
        let url = |url: &str, ca: Option<&[u8]>| Access::Url {
            url: url.to_owned(),
            token: Some("hidden".to_owned()),
            ca: ca.map(<[u8]>::to_vec),
        };
        for (access, message) in [
            (url("no url", None), "the address of the API is no URL"),
            (url("ftp://127.0.0.1", None), "the address of the API is no URL"),
            (
                url("https://127.0.0.1", Some(b"no PEM")),
                "the certificates of the API's authorities cannot be read",
            ),
        ] {
            let error = client(&access).await.err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), Some(message));
            assert!(!format!("{access:?}").contains("hidden"));
        }
        let missing = Access::Kubeconfig {
            path: "/nowhere/kubeconfig".into(),
            context: None,
        };
        assert!(matches!(client(&missing).await, Err(ClientError::Kubeconfig(_))));
    }
}
