//! A source with its driver.

use std::time::Duration;

use consul_upstreams::{Answer, ConsulUpstreams, LookupError, Settings};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A source whose driver runs for as long as this lives.
pub(crate) struct Source {
    pub(crate) consul: ConsulUpstreams,
    driver: JoinHandle<()>,
}

impl Source {
    pub(crate) fn new(settings: &Settings) -> Self {
        let (consul, driver) = ConsulUpstreams::try_new(settings, 7).unwrap();
        let driver = spawn(driver.run(CancellationToken::new()));
        Self { consul, driver }
    }

    /// The addresses, or why there are none.
    pub(crate) async fn addresses(&self, service: &str) -> Result<Vec<String>, LookupError> {
        Ok(texts(&*self.consul.instances(service).await?))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

pub(crate) fn texts(answer: &Answer) -> Vec<String> {
    answer.instances().iter().map(ToString::to_string).collect()
}

/// Settings for the Consul at `address`, whose answers are old at once.
pub(crate) fn settings(address: impl Into<String>) -> Settings {
    Settings {
        address: Some(address.into()),
        refresh: Duration::from_nanos(1),
        ..Settings::default()
    }
}

#[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(task)
}
