//! A network of a test that can be cut, stalled and filled with garbage.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What becomes of connections, of those that are there already too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Network {
    /// They lead to the server.
    Fine,
    /// They are closed.
    Cut,
    /// They stay, and nothing comes through.
    Stalled,
    /// They get bytes that are no protocol.
    Garbage,
}

/// Passes connections on to a server, or does worse.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    network: Arc<watch::Sender<Network>>,
    _tasks: JoinSet<()>,
}

// === impl Proxy ===

impl Proxy {
    pub(crate) async fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let network = Arc::new(watch::Sender::new(Network::Fine));
        let mut tasks = JoinSet::new();
        let of_task = Arc::clone(&network);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                connections.spawn(serve(client, server, of_task.subscribe()));
            }
        });
        Self {
            port,
            network,
            _tasks: tasks,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn set(&self, network: Network) {
        self.network.send_replace(network);
    }
}

async fn serve(mut client: TcpStream, server: u16, mut network: watch::Receiver<Network>) {
    loop {
        let now = *network.borrow_and_update();
        let work = async {
            match now {
                Network::Fine => {
                    if let Ok(mut server) = TcpStream::connect(("127.0.0.1", server)).await {
                        let _ignored = copy_bidirectional(&mut client, &mut server).await;
                    }
                }
                Network::Cut => {}
                Network::Stalled => std::future::pending().await,
                Network::Garbage => {
                    let mut asked = [0; 64];
                    while client.read(&mut asked).await.is_ok_and(|bytes| bytes > 0) {
                        let _ignored = client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n<html>").await;
                    }
                }
            }
        };
        tokio::select! {
            () = work => return,
            changed = network.changed() => {
                // The stream to the server is gone with its copying, so a connection that was fine cannot become so again.
                if changed.is_err() || now == Network::Fine && *network.borrow() != Network::Stalled {
                    return;
                }
            }
        }
    }
}
