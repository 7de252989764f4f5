//! What is asked of a daemon.

use std::collections::HashMap;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use bollard::models::EventMessage;
use bollard::query_parameters::{
    EventsOptionsBuilder, InspectNetworkOptionsBuilder, ListContainersOptionsBuilder, ListServicesOptions,
    ListTasksOptions,
};
use futures_util::TryFutureExt;
use futures_util::future::try_join_all;
use futures_util::stream::BoxStream;
use thiserror::Error as ThisError;
use tokio::time;

use super::settings::{DockerMode, DockerSettings, Endpoint};
use super::workload::Workload;
use super::{containers, services};

/// Why a daemon did not say what it runs.
#[derive(Debug, ThisError)]
pub(super) enum ClientError {
    #[error("the docker daemon at {endpoint} cannot be asked: {source}")]
    Failed {
        endpoint: Endpoint,
        #[source]
        source: Error,
    },
    #[error("the docker daemon at {endpoint} took longer than {after:?}")]
    Slow { endpoint: Endpoint, after: Duration },
}

/// A daemon that told its version.
pub(super) struct Client {
    docker: Docker,
    endpoint: Endpoint,
    mode: DockerMode,
    timeout: Duration,
}

/// Told changes.
pub(super) type Events = BoxStream<'static, Result<EventMessage, Error>>;

// === impl Client ===

impl Client {
    pub(super) async fn connect(settings: &DockerSettings) -> Result<Self, ClientError> {
        let connect = async { connection(settings)?.negotiate_version().await };
        Ok(Self {
            docker: bounded(&settings.endpoint, settings.timeout, connect).await?,
            endpoint: settings.endpoint.clone(),
            mode: settings.mode,
            timeout: settings.timeout,
        })
    }

    /// Everything that there is, whether it runs or not.
    pub(super) async fn list(&self) -> Result<Vec<Workload>, ClientError> {
        let list = async {
            match self.mode {
                DockerMode::Container => self.containers().await,
                DockerMode::Swarm => self.services().await,
            }
        };
        bounded(&self.endpoint, self.timeout, list).await
    }

    /// Changes of what is listed, as they happen. It asks once it is polled.
    pub(super) fn events(&self) -> Events {
        let kinds = match self.mode {
            DockerMode::Container => vec!["container", "network"],
            DockerMode::Swarm => vec!["container", "network", "service"],
        };
        // A health check is two events each time, so what matters is listed.
        let events = vec![
            "connect",
            "create",
            "destroy",
            "die",
            "disconnect",
            "pause",
            "remove",
            "rename",
            "restart",
            "start",
            "stop",
            "unpause",
            "update",
        ];
        let filters = HashMap::from([("type", kinds), ("event", events)]);
        let options = EventsOptionsBuilder::new().filters(&filters).build();
        let docker = self.docker.clone();
        Box::pin(docker.events(Some(options)))
    }

    async fn containers(&self) -> Result<Vec<Workload>, Error> {
        let options = ListContainersOptionsBuilder::new().all(true).build();
        let list = self.docker.list_containers(Some(options)).await?;
        Ok(containers::workloads(list))
    }

    async fn services(&self) -> Result<Vec<Workload>, Error> {
        let services = self.docker.list_services(None::<ListServicesOptions>).await?;
        let tasks = self.docker.list_tasks(None::<ListTasksOptions>).await?;
        let asked = services::networks_of(&services).into_iter().map(|id| async move {
            let options = InspectNetworkOptionsBuilder::new().verbose(true).build();
            match self.docker.inspect_network(&id, Some(options)).await {
                Ok(network) => Ok(Some(network)),
                // It was removed since, or is one that only other nodes have.
                Err(Error::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
                Err(error) => Err(error),
            }
        });
        let networks: Vec<_> = try_join_all(asked).await?.into_iter().flatten().collect();
        Ok(services::workloads(services, tasks, &networks))
    }
}

fn connection(settings: &DockerSettings) -> Result<Docker, Error> {
    // Each request is bounded as a whole elsewhere; this is for its beginning alone, in full seconds.
    let seconds = settings.timeout.as_secs().saturating_add(1);
    let newest = bollard::API_DEFAULT_VERSION;
    match &settings.endpoint {
        Endpoint::Unix(path) => Docker::connect_with_unix(&path.to_string_lossy(), seconds, newest),
        Endpoint::Tcp(address) => Docker::connect_with_http(address, seconds, newest),
        Endpoint::Tls { address, files } => Docker::connect_with_ssl(
            address,
            &files.key,
            &files.certificate,
            &files.authority,
            seconds,
            newest,
        ),
    }
}

async fn bounded<T>(
    endpoint: &Endpoint,
    after: Duration,
    asked: impl Future<Output = Result<T, Error>>,
) -> Result<T, ClientError> {
    let failed = |source| ClientError::Failed {
        endpoint: endpoint.clone(),
        source,
    };
    let slow = |_| ClientError::Slow {
        endpoint: endpoint.clone(),
        after,
    };
    time::timeout(after, asked.map_err(failed)).await.map_err(slow)?
}
