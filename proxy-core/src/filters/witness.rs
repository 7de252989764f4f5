//! A server that says what it was asked, for tests.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::tasks::Tasks;

/// Takes one request on each connection, and answers it as the test says.
pub(crate) struct Witness {
    pub(crate) address: SocketAddr,
    asked: UnboundedReceiver<Asked>,
    begun: UnboundedReceiver<()>,
    _tasks: Tasks,
}

/// A request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Asked {
    /// Such as `GET /a HTTP/1.1`.
    pub(crate) line: String,
    /// In lower case: `name: value`.
    pub(crate) fields: Vec<String>,
    /// Without chunks' frames. `None`: it was cut.
    pub(crate) body: Option<String>,
}

impl Witness {
    /// With answers to requests by their first lines; an empty one is none.
    pub(crate) async fn new(answer: impl Fn(&Asked) -> String + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ((told, asked), (begins, begun)) = (unbounded_channel(), unbounded_channel());
        let tasks = Tasks::default();
        let spawner = tasks.clone();
        tasks.spawn("witness", async move {
            while let Ok((stream, _)) = listener.accept().await {
                let told = (begins.clone(), told.clone());
                spawner.spawn("asked", serve(stream, answer.clone(), told));
            }
        });
        Self {
            address,
            asked,
            begun,
            _tasks: tasks,
        }
    }

    /// With the same answer to all.
    pub(crate) async fn of(answer: &'static str) -> Self {
        Self::new(move |_| answer.to_owned()).await
    }

    /// Such as `http://127.0.0.1:1234`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> Asked {
        self.asked.recv().await.unwrap()
    }

    /// Waits for the head of a request.
    pub(crate) async fn begun(&mut self) {
        self.begun.recv().await.unwrap();
    }

    /// Whether there was another request.
    pub(crate) fn was_asked(&mut self) -> bool {
        self.asked.try_recv().is_ok()
    }
}

impl Asked {
    /// The values of a field.
    pub(crate) fn field(&self, name: &str) -> Vec<&str> {
        let fields = self.fields.iter().filter_map(|field| field.split_once(": "));
        fields
            .filter_map(|(known, value)| (known == name).then_some(value))
            .collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: impl Fn(&Asked) -> String,
    (begins, told): (UnboundedSender<()>, UnboundedSender<Asked>),
) {
    let mut read = Vec::new();
    let Some(head) = until(&mut stream, &mut read, "\r\n\r\n").await else {
        return;
    };
    begins.send(()).unwrap_or_default();
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().to_owned();
    let fields: Vec<String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| format!("{}: {value}", name.to_lowercase()))
        .collect();
    let mut asked = Asked {
        line,
        fields,
        body: Some(String::new()),
    };
    if let Some(length) = asked.field("content-length").first() {
        let length: usize = length.parse().unwrap();
        asked.body = exactly(&mut stream, &mut read, length).await;
    } else if !asked.field("transfer-encoding").is_empty() {
        asked.body = chunks(&mut stream, &mut read).await;
    }
    let reply = answer(&asked);
    told.send(asked).unwrap_or_default();
    if reply.is_empty() {
        std::future::pending::<()>().await;
    }
    stream.write_all(reply.as_bytes()).await.unwrap_or_default();
    stream.shutdown().await.unwrap_or_default();
}

async fn chunks(stream: &mut TcpStream, read: &mut Vec<u8>) -> Option<String> {
    let mut body = String::new();
    loop {
        let line = until(stream, read, "\r\n").await?;
        let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
        body += &exactly(stream, read, length).await?;
        exactly(stream, read, 2).await?;
        if length == 0 {
            return Some(body);
        }
    }
}

async fn until(stream: &mut TcpStream, read: &mut Vec<u8>, end: &str) -> Option<String> {
    loop {
        let found = read
            .windows(end.len())
            .position(|window| window == end.as_bytes());
        if let Some(found) = found {
            return exactly(stream, read, found + end.len()).await;
        }
        if stream.read_buf(read).await.ok()? == 0 {
            return None;
        }
    }
}

async fn exactly(stream: &mut TcpStream, read: &mut Vec<u8>, length: usize) -> Option<String> {
    while read.len() < length {
        if stream.read_buf(read).await.ok()? == 0 {
            return None;
        }
    }
    let rest = read.split_off(length);
    String::from_utf8(std::mem::replace(read, rest)).ok()
}
