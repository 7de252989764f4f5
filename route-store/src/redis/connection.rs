//! The connection to the server: made when it is needed, shared by all operations, dropped when it fails.

use std::fmt;
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, FromRedisValue,
    IntoConnectionInfo, Pipeline, RedisError, ScriptInvocation, ServerErrorKind,
};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::KIND;
use crate::store::StoreError;

/// How much longer loading all routes may take than any other operation.
const LOAD: u32 = 10;

/// A server, or the node of a cluster that has the slot of the prefix.
pub(super) struct Server {
    patience: Duration,
    held: Mutex<Held>,
}

struct Held {
    info: ConnectionInfo,
    connection: Option<MultiplexedConnection>,
    /// Counts connections, so that one that failed is dropped once and its successor is not.
    number: u64,
}

/// What the server is asked to do.
#[derive(Clone, Copy)]
enum Work<'a> {
    Script(&'a ScriptInvocation<'a>),
    Command(&'a Cmd),
    Pipeline(&'a Pipeline),
}

/// The server took too long.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
struct Late(Duration);

// === impl Server ===

impl Server {
    /// `None` if the address is none.
    pub(super) fn new(url: &str, patience: Duration) -> Option<Self> {
        let info = url.into_connection_info().ok()?;
        if url.starts_with("rediss:") {
            // The client wants the process to have chosen its cryptography. One that is chosen already stays.
            let _already_chosen = rustls::crypto::aws_lc_rs::default_provider().install_default();
        }
        let held = Mutex::new(Held {
            info,
            connection: None,
            number: 0,
        });
        Some(Self { patience, held })
    }

    /// Runs a script.
    pub(super) async fn script<T: FromRedisValue + Send>(
        &self,
        script: &ScriptInvocation<'_>,
    ) -> Result<T, StoreError> {
        self.run(Work::Script(script)).await
    }

    /// Does what takes many parts, within the time for that.
    pub(super) async fn load<T>(
        &self,
        parts: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let patience = self.patience * LOAD;
        timeout(patience, parts)
            .await
            .unwrap_or_else(|_| Err(late(patience)))
    }

    /// Runs a command.
    pub(super) async fn command<T: FromRedisValue + Send>(&self, command: &Cmd) -> Result<T, StoreError> {
        self.run(Work::Command(command)).await
    }

    /// Runs several commands in one go.
    pub(super) async fn pipeline<T: FromRedisValue + Send>(
        &self,
        pipeline: &Pipeline,
    ) -> Result<T, StoreError> {
        self.run(Work::Pipeline(pipeline)).await
    }

    async fn run<T: FromRedisValue + Send>(&self, work: Work<'_>) -> Result<T, StoreError> {
        let both = async {
            match self.once(work).await {
                Err(error) if self.moved(&error).await => self.once(work).await,
                answer => answer,
            }
        };
        // Connecting and the command may each take that long.
        match timeout(self.patience * 2, both).await {
            Ok(answer) => answer.map_err(blame),
            Err(_) => Err(late(self.patience * 2)),
        }
    }

    async fn once<T: FromRedisValue + Send>(&self, work: Work<'_>) -> Result<T, RedisError> {
        let (number, mut connection) = self.connection().await?;
        let answer = match work {
            Work::Script(script) => script.invoke_async(&mut connection).await,
            Work::Command(command) => command.query_async(&mut connection).await,
            Work::Pipeline(pipeline) => pipeline.query_async(&mut connection).await,
        };
        if let Err(error) = &answer
            && is_away(error)
        {
            self.drop_connection(number).await;
        }
        answer
    }

    async fn connection(&self) -> Result<(u64, MultiplexedConnection), RedisError> {
        let mut held = self.held.lock().await;
        if let Some(connection) = &held.connection {
            return Ok((held.number, connection.clone()));
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.patience))
            .set_response_timeout(Some(self.patience));
        let client = Client::open(held.info.clone())?;
        let connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        held.connection = Some(connection.clone());
        held.number += 1;
        Ok((held.number, connection))
    }

    /// Drops the connection of this number.
    async fn drop_connection(&self, number: u64) {
        let mut held = self.held.lock().await;
        if number == held.number {
            held.connection = None;
        }
    }

    /// Follows a cluster to the node that has the slot. Says whether there is one.
    async fn moved(&self, error: &RedisError) -> bool {
        if error.kind() != ErrorKind::Server(ServerErrorKind::Moved) {
            return false;
        }
        let Some((host, port)) = error.redirect_node() else {
            return false;
        };
        let mut held = self.held.lock().await;
        let addr = match held.info.addr().clone() {
            // A node that does not know its own name is the one that was asked.
            ConnectionAddr::Tcp(old, _) => ConnectionAddr::Tcp(named(host, old), port),
            ConnectionAddr::TcpTls {
                host: old,
                insecure,
                tls_params,
                ..
            } => ConnectionAddr::TcpTls {
                host: named(host, old),
                port,
                insecure,
                tls_params,
            },
            _ => return false,
        };
        held.info = held.info.clone().set_addr(addr);
        held.connection = None;
        true
    }

    /// Subscribes on a connection of its own. The stream ends with the connection.
    pub(super) async fn watch(&self, channel: String) -> Result<BoxStream<'static, ()>, StoreError> {
        let info = self.held.lock().await.info.clone();
        let subscribed = async {
            let mut messages = Client::open(info)?.get_async_pubsub().await?;
            messages.subscribe(channel).await?;
            Ok(messages.into_on_message())
        };
        match timeout(self.patience * 2, subscribed).await {
            Ok(messages) => Ok(messages.map_err(blame)?.map(|_| ()).boxed()),
            Err(_) => Err(late(self.patience * 2)),
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

fn named(host: &str, old: String) -> String {
    if host.is_empty() { old } else { host.to_owned() }
}

fn late(patience: Duration) -> StoreError {
    StoreError::Unavailable {
        kind: KIND,
        source: Box::new(Late(patience)),
    }
}

/// Whether the connection is of no use any more, or the server is away for some time.
fn is_away(error: &RedisError) -> bool {
    let is_passing = matches!(
        error.kind(),
        ErrorKind::Io
            | ErrorKind::Parse
            | ErrorKind::Server(
                ServerErrorKind::BusyLoading
                    | ServerErrorKind::ClusterDown
                    | ServerErrorKind::MasterDown
                    | ServerErrorKind::ReadOnly
                    | ServerErrorKind::TryAgain
                    | ServerErrorKind::Moved
                    | ServerErrorKind::Ask
            )
    );
    is_passing || error.is_timeout() || error.is_connection_dropped() || error.is_unrecoverable_error()
}

fn blame(error: RedisError) -> StoreError {
    // A server that is still starting or shuts down says so in ways that have no kind of their own.
    if is_away(&error) || error.code() == Some("MISCONF") {
        return StoreError::Unavailable {
            kind: KIND,
            source: Box::new(error),
        };
    }
    StoreError::Failed {
        kind: KIND,
        reason: error.to_string(),
    }
}
