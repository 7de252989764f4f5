//! One HTTP/1 connection in the hands of a test, from either side: it decides every byte that is sent and sees
//! every byte that comes.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use super::message::{Framing, Head};
use super::wait::within;

/// A connection with what was read from it but not yet looked at.
pub(crate) struct Wire {
    stream: Box<dyn Stream>,
    received: Vec<u8>,
    taken: usize,
    counter: Arc<AtomicUsize>,
}

/// How the other side ended its direction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// A clean end of the stream.
    Fin,
    /// A reset, or a TLS stream cut without its closing alert.
    Reset,
}

/// A byte stream over TCP.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {
    /// The socket below, unless it is a unix socket.
    fn tcp(&self) -> Option<&TcpStream>;
}

/// A whole request or response.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
    /// The lines of its trailer section.
    pub(crate) trailers: Vec<String>,
}

// === impl Wire ===

impl Wire {
    /// Connects to `addr` in the clear.
    pub(crate) async fn connect(addr: SocketAddr) -> Self {
        let stream = within("connecting", TcpStream::connect(addr))
            .await
            .expect("the listener accepts");
        Self::over(stream)
    }

    /// Connects to the unix socket at `path`.
    pub(crate) async fn connect_unix(path: &Path) -> Self {
        let stream = within("connecting", UnixStream::connect(path)).await;
        Self::over(stream.expect("the listener accepts"))
    }

    /// Takes over an open stream.
    pub(crate) fn over(stream: impl Stream + 'static) -> Self {
        Self::counting(stream, Arc::default())
    }

    /// Takes over an open stream and adds every byte that comes to `counter`.
    pub(crate) fn counting(stream: impl Stream + 'static, counter: Arc<AtomicUsize>) -> Self {
        if let Some(tcp) = stream.tcp() {
            tcp.set_nodelay(true).expect("the socket is open");
        }
        Self {
            stream: Box::new(stream),
            received: Vec::new(),
            taken: 0,
            counter,
        }
    }

    /// Sends exactly these bytes.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        within("sending", self.try_send(bytes))
            .await
            .expect("the other side still reads");
    }

    /// Sends these bytes unless the other side has gone.
    pub(crate) async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref()).await?;
        self.stream.flush().await
    }

    /// Sends these bytes as one chunk of the chunked coding.
    pub(crate) async fn send_chunk(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.send(chunk).await;
    }

    /// Ends the sending direction cleanly.
    pub(crate) async fn finish(&mut self) {
        within("closing one direction", self.stream.shutdown())
            .await
            .expect("the socket is open");
    }

    /// Ends the connection with a reset.
    pub(crate) fn reset(self) {
        self.set_reset();
    }

    /// Makes dropping this connection a reset instead of a clean end.
    pub(crate) fn set_reset(&self) {
        let tcp = self.stream.tcp().expect("a unix socket knows no reset");
        tcp.set_zero_linger().expect("the socket is open");
    }

    /// The next head, whichever side's.
    pub(crate) async fn head(&mut self) -> Head {
        within("a head", self.try_head())
            .await
            .unwrap_or_else(|error| self.fail("a head", &error))
    }

    /// Whatever comes next, and the end if that is what comes.
    pub(crate) async fn more(&mut self) -> (Vec<u8>, Option<End>) {
        let mut end = None;
        if self.taken == self.received.len() {
            end = End::of(within("more bytes or the end", self.fill()).await);
        }
        (self.take(self.received.len() - self.taken), end)
    }

    /// At most `count` bytes of what comes next, and the end if that is what comes.
    pub(crate) async fn up_to(&mut self, count: usize) -> (Vec<u8>, Option<End>) {
        let mut end = None;
        if self.taken == self.received.len() {
            end = End::of(within("more bytes or the end", self.fill()).await);
        }
        (self.take(count.min(self.received.len() - self.taken)), end)
    }

    /// The next `count` bytes.
    pub(crate) async fn exactly(&mut self, count: usize) -> Vec<u8> {
        let read = within("bytes", self.try_exactly(count)).await;
        read.unwrap_or_else(|error| self.fail(&format!("{count} bytes"), &error))
    }

    /// The bytes of the next chunk, or none at the last one, whose trailer section is left unread.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        within("a chunk", self.try_chunk())
            .await
            .unwrap_or_else(|error| self.fail("a chunk", &error))
    }

    /// The lines of the trailer section behind the last chunk.
    pub(crate) async fn trailers(&mut self) -> Vec<String> {
        within("trailers", self.try_trailers())
            .await
            .unwrap_or_else(|error| self.fail("trailers", &error))
    }

    /// The next whole response to a `method` request; interim responses are not skipped.
    pub(crate) async fn answer_to(&mut self, method: &str) -> Message {
        let head = self.head().await;
        let framing = head.response_framing(method);
        let read = within("the body of an answer", self.try_body(framing)).await;
        let (body, trailers) = read.unwrap_or_else(|error| self.fail("the body of an answer", &error));
        Message { head, body, trailers }
    }

    /// The next response to a `method` request, unless the connection ends before all of it is there.
    pub(crate) async fn try_answer_to(&mut self, method: &str) -> io::Result<Message> {
        let head = self.try_head().await?;
        let (body, trailers) = self.try_body(head.response_framing(method)).await?;
        Ok(Message { head, body, trailers })
    }

    /// The next whole response to a request that was no HEAD.
    pub(crate) async fn answer(&mut self) -> Message {
        self.answer_to("GET").await
    }

    /// Sends a request and reads the whole response to it.
    pub(crate) async fn ask(&mut self, request: impl AsRef<[u8]>) -> Message {
        self.send(request).await;
        self.answer().await
    }

    /// The next whole request, without a bound on the wait.
    pub(crate) async fn try_request(&mut self) -> io::Result<Message> {
        let head = self.try_head().await?;
        let (body, trailers) = self.try_body(head.request_framing()).await?;
        Ok(Message { head, body, trailers })
    }

    /// Everything until the other side ends, and how it ended.
    pub(crate) async fn rest(&mut self) -> (Vec<u8>, End) {
        self.rest_after("everything").await
    }

    /// Like [`Wire::rest`], naming what was done before.
    pub(crate) async fn rest_after(&mut self, what: &str) -> (Vec<u8>, End) {
        let end = within(&format!("the end of the connection after {what}"), async {
            loop {
                if let Some(end) = End::of(self.fill().await) {
                    break end;
                }
            }
        })
        .await;
        (self.take(self.received.len() - self.taken), end)
    }

    /// The bytes that are here now and were not looked at; waits for nothing, and takes an ended connection for a
    /// failure.
    pub(crate) async fn pending(&mut self) -> Vec<u8> {
        tokio::select! {
            biased;
            filled = self.fill() => filled.unwrap_or_else(|error| self.fail("more bytes", &error)),
            () = tokio::task::yield_now() => {}
        }
        self.take(self.received.len() - self.taken)
    }

    async fn try_head(&mut self) -> io::Result<Head> {
        Ok(Head::parse(&self.try_until(b"\r\n\r\n").await?))
    }

    async fn try_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.try_line().await?;
        let size = usize::from_str_radix(&line, 16).unwrap_or_else(|_| panic!("a bad chunk size: {line:?}"));
        if size == 0 {
            return Ok(None);
        }
        let bytes = self.try_exactly(size).await?;
        assert_eq!(
            self.try_exactly(2).await?,
            b"\r\n",
            "a chunk ends with a line end"
        );
        Ok(Some(bytes))
    }

    async fn try_trailers(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let line = self.try_line().await?;
            if line.is_empty() {
                return Ok(lines);
            }
            lines.push(line);
        }
    }

    async fn try_body(&mut self, framing: Framing) -> io::Result<(Vec<u8>, Vec<String>)> {
        match framing {
            Framing::None => Ok((Vec::new(), Vec::new())),
            Framing::Length(length) => Ok((self.try_exactly(length).await?, Vec::new())),
            Framing::ToEnd => loop {
                match self.fill().await {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        return Ok((self.take(self.received.len() - self.taken), Vec::new()));
                    }
                    Err(error) => return Err(error),
                }
            },
            Framing::Chunked => {
                let mut body = Vec::new();
                while let Some(chunk) = self.try_chunk().await? {
                    body.extend_from_slice(&chunk);
                }
                Ok((body, self.try_trailers().await?))
            }
        }
    }

    async fn try_line(&mut self) -> io::Result<String> {
        let line = self.try_until(b"\r\n").await?;
        Ok(String::from_utf8_lossy(&line[..line.len() - 2]).into_owned())
    }

    /// The next bytes up to and with `mark`.
    async fn try_until(&mut self, mark: &[u8]) -> io::Result<Vec<u8>> {
        loop {
            let fresh = &self.received[self.taken..];
            if let Some(at) = fresh.windows(mark.len()).position(|window| window == mark) {
                return Ok(self.take(at + mark.len()));
            }
            self.fill().await?;
        }
    }

    async fn try_exactly(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.received.len() - self.taken < count {
            self.fill().await?;
        }
        Ok(self.take(count))
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let start = self.taken;
        self.taken += count;
        self.received[start..self.taken].to_vec()
    }

    /// Waits for at least one byte; a clean end is an `UnexpectedEof`.
    async fn fill(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.received).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.counter.fetch_add(count, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    fn fail<T>(&self, wanted: &str, error: &io::Error) -> T {
        let seen = String::from_utf8_lossy(&self.received[self.taken..]).into_owned();
        panic!("the connection ended ({error}) before {wanted}; not yet looked at: {seen:?}");
    }
}

// === impl End ===

impl End {
    fn of(filled: io::Result<()>) -> Option<Self> {
        match filled {
            Ok(()) => None,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Some(Self::Fin),
            Err(_) => Some(Self::Reset),
        }
    }
}

// === impl Stream ===

impl Stream for TcpStream {
    fn tcp(&self) -> Option<&TcpStream> {
        Some(self)
    }
}

impl Stream for UnixStream {
    fn tcp(&self) -> Option<&TcpStream> {
        None
    }
}

impl Stream for tokio_rustls::client::TlsStream<TcpStream> {
    fn tcp(&self) -> Option<&TcpStream> {
        Some(self.get_ref().0)
    }
}

impl Stream for tokio_rustls::server::TlsStream<TcpStream> {
    fn tcp(&self) -> Option<&TcpStream> {
        Some(self.get_ref().0)
    }
}
