//! A client's end of a connection, and the server behind it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http1_codec::client::{Answer, Connection, Keep, SendError};
use http1_codec::{HeadLimits, Stream};
use tokio::io::duplex;
use tokio::time::timeout;

use super::{Dribble, Peer, TestBody, Wire, all_of};

pub(crate) type Io = Box<dyn Stream>;

/// Where connections come back to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(Arc<Mutex<Vec<Connection<Io>>>>);

pub(crate) type TestAnswer = Answer<Io, TestBody, Kept>;

// === impl Kept ===

impl Kept {
    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// The connection that was given back last, if it is of use.
    pub(crate) fn take(&self) -> Option<Connection<Io>> {
        let mut connection = self.0.lock().unwrap().pop()?;
        // One look can meet a dribbling stream's pause.
        (connection.is_quiet() && connection.is_quiet()).then_some(connection)
    }
}

impl Keep<Io> for Kept {
    fn keep(self, connection: Connection<Io>) {
        assert!(connection.is_reused());
        self.0.lock().unwrap().push(connection);
    }
}

/// A new connection, and its server.
pub(crate) fn connected(wire: Wire) -> (Connection<Io>, Peer) {
    let room = match wire {
        Wire::Whole | Wire::Dribbled => 1024 * 1024,
        Wire::Narrow => 7,
    };
    let (near, far) = duplex(room);
    let near: Io = match wire {
        Wire::Whole | Wire::Narrow => Box::new(near),
        Wire::Dribbled => Box::new(Dribble::new(near)),
    };
    (Connection::new(near), Peer::new(far))
}

/// Sends a request and reads the head of its answer.
pub(crate) async fn send(
    connection: Connection<Io>,
    request: Request<TestBody>,
    kept: &Kept,
) -> Result<Response<TestAnswer>, SendError<TestBody, String>> {
    let limits = HeadLimits::default();
    let sent = connection.send(Box::new(request), &[], &limits, kept.clone(), |_| {});
    timeout(Duration::from_secs(60), sent).await.expect("an answer")
}

pub(crate) fn get(path: &str) -> Request<TestBody> {
    request("GET", path, TestBody::empty())
}

pub(crate) fn request(method: &str, path: &str, body: TestBody) -> Request<TestBody> {
    Request::builder()
        .method(method)
        .uri(path)
        .header("host", "a")
        .body(body)
        .unwrap()
}

/// The status of an answer, its data, and how it ended.
pub(crate) async fn read(response: Response<TestAnswer>) -> (StatusCode, String, Result<(), String>) {
    let status = response.status();
    let (data, end) = match response.into_body() {
        Answer::Whole(whole) => (String::from_utf8(whole.to_vec()).unwrap(), Ok(())),
        Answer::Streaming(body) => {
            let (data, end) = all_of(body).await;
            (data, end.map(|_| ()))
        }
        Answer::Upgraded(_) => panic!("upgraded"),
    };
    (status, data, end)
}
