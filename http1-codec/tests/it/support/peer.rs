//! The other end of a connection, in a test's hand.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, split};
use tokio::time::timeout;

/// Bytes in, bytes out. The clock stands still as long as anything moves: its seconds cost nothing.
#[derive(Debug)]
pub(crate) struct Peer(DuplexStream);

// === impl Peer ===

impl Peer {
    pub(crate) fn new(io: DuplexStream) -> Self {
        Self(io)
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends what the other side may not want any more.
    pub(crate) async fn try_send(&mut self, bytes: impl AsRef<[u8]>) {
        drop(timeout(Duration::from_secs(1), self.0.write_all(bytes.as_ref())).await);
    }

    /// Reads exactly this.
    pub(crate) async fn expect(&mut self, text: &str) {
        expect(&mut self.0, text).await;
    }

    /// Sends this, and reads exactly that while it does.
    pub(crate) async fn exchange(&mut self, bytes: impl AsRef<[u8]>, text: &str) {
        let (mut reader, mut writer) = split(&mut self.0);
        let write = async { writer.write_all(bytes.as_ref()).await.unwrap() };
        tokio::join!(write, expect(&mut reader, text));
    }

    /// Whether the other side sends this, or closes before its end.
    pub(crate) async fn asks(&mut self, text: &str) -> bool {
        let mut read = vec![0; text.len()];
        let whole = self.0.read_exact(&mut read).await.is_ok();
        assert!(!whole || read == text.as_bytes());
        whole
    }

    /// Sends this until the other side closes, and reads all that it sends.
    pub(crate) async fn talk(&mut self, bytes: &str) -> String {
        let (mut reader, mut writer) = split(&mut self.0);
        let write = async { drop(writer.write_all(bytes.as_bytes()).await) };
        let read = async {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).await.unwrap();
            String::from_utf8(all).unwrap()
        };
        tokio::join!(write, read).1
    }

    /// The other side is gone, whatever it has sent.
    pub(crate) async fn expect_closed(&mut self) {
        self.rest().await;
    }

    /// The other side takes less than this.
    pub(crate) async fn expect_full_behind(&mut self, bytes: usize) {
        let data = vec![b'0'; bytes];
        let send = self.0.write_all(&data);
        assert!(timeout(Duration::from_secs(1), send).await.is_err());
    }

    /// Nothing comes, however long it is waited for.
    pub(crate) async fn expect_silence(&mut self) {
        let mut piece = [0; 256];
        if let Ok(read) = timeout(Duration::from_secs(1), self.0.read(&mut piece)).await {
            let length = read.unwrap_or(0);
            panic!("not silent: {:?}", String::from_utf8_lossy(&piece[..length]));
        }
    }

    /// The other side has closed and sent nothing more.
    pub(crate) async fn expect_end(&mut self) {
        let rest = self.rest().await;
        assert_eq!(rest, "");
    }

    /// All that comes until the other side closes.
    pub(crate) async fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        timeout(Duration::from_secs(1), self.0.read_to_end(&mut rest))
            .await
            .unwrap_or_else(|_| panic!("not closed behind {:?}", String::from_utf8_lossy(&rest)))
            .unwrap();
        String::from_utf8(rest).unwrap()
    }

    /// The other side has ended its own behind something that ends like this.
    pub(crate) async fn expect_end_behind(&mut self, text: &str) {
        let rest = self.rest().await;
        assert!(rest.ends_with(text), "{rest}");
    }

    /// The other side reads nothing any more.
    pub(crate) async fn expect_gone(&mut self) {
        let gone = async { while self.0.write_all(b"x").await.is_ok() {} };
        timeout(Duration::from_secs(1), gone).await.expect("gone");
    }

    /// Ends this side; the other one may go on.
    pub(crate) async fn finish(&mut self) {
        self.0.shutdown().await.unwrap();
    }
}

async fn expect(io: &mut (impl AsyncRead + Unpin), text: &str) {
    let mut read = Vec::new();
    while read.len() < text.len() {
        let mut piece = vec![0; text.len() - read.len()];
        match timeout(Duration::from_secs(1), io.read(&mut piece)).await {
            Ok(Ok(length)) if length > 0 => read.extend_from_slice(&piece[..length]),
            end => panic!(
                "{end:?} behind {:?} instead of {text:?}",
                String::from_utf8_lossy(&read)
            ),
        }
    }
    assert_eq!(String::from_utf8_lossy(&read), text);
}
