//! A service that forwards over pooled connections.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body::{Body, Frame, SizeHint};
use http1_codec::client::{Answer, Connection, Streaming};
use http1_codec::server::{self, RequestBody, Service};
use http1_codec::{HeadError, HeadLimits};
use tokio::io::{DuplexStream, duplex};
use tokio::sync::mpsc::UnboundedSender;

use super::Wires;
use crate::support::{Dribble, Io, Kept, Script, TestBody};

/// Connections to the origin.
#[derive(Debug)]
pub(crate) struct Proxy {
    kept: Kept,
    streams: UnboundedSender<DuplexStream>,
    room: usize,
    dribbled: bool,
}

/// The service of one client connection.
#[derive(Debug)]
pub(crate) struct Forwarding {
    proxy: Arc<Proxy>,
    control: Arc<Script>,
}

/// The body of an answer.
pub(crate) enum HopBody {
    Whole(Bytes),
    Streaming(Streaming<Io, TestBody, Kept>),
}

// === impl Proxy ===

impl Proxy {
    pub(super) fn new(streams: UnboundedSender<DuplexStream>, wires: &Wires) -> Self {
        Self {
            kept: Kept::default(),
            streams,
            room: wires.upstream,
            dribbled: wires.dribbled,
        }
    }

    fn connection(&self) -> Connection<Io> {
        while self.kept.len() > 0 {
            if let Some(connection) = self.kept.take() {
                return connection;
            }
        }
        let (near, far) = duplex(self.room);
        self.streams.send(far).expect("the origin accepts");
        Connection::new(match self.dribbled {
            true => Box::new(Dribble::new(near)),
            false => Box::new(near),
        })
    }
}

// === impl Forwarding ===

impl Forwarding {
    pub(super) fn new(proxy: Arc<Proxy>, control: Arc<Script>) -> Self {
        Self { proxy, control }
    }
}

impl Service for Forwarding {
    type Body = HopBody;
    type Error = String;

    async fn call(&self, request: Request<RequestBody>) -> Result<Response<HopBody>, String> {
        let request = Box::new(request.map(TestBody::new));
        let limits = HeadLimits::default();
        let kept = self.proxy.kept.clone();
        let interim = |head: &Response<()>| self.control.interim_with(head.status(), head.headers());
        let connection = self.proxy.connection();
        let answer = connection
            .send(request, &[], &limits, kept, interim)
            .await
            .map_err(|error| error.cause.to_string())?;
        let mut answer = answer.map(|answer| match answer {
            Answer::Whole(data) => HopBody::Whole(data),
            Answer::Streaming(body) => HopBody::Streaming(body),
            Answer::Upgraded(_) => unreachable!("nobody asked for it"),
        });
        // What an origin says of its connection is not for the client's.
        answer.headers_mut().remove(header::CONNECTION);
        Ok(answer)
    }

    fn refuse(&self, error: HeadError) -> Response<HopBody> {
        panic!("all requests are valid: {error}");
    }
}

// === impl HopBody ===

impl Body for HopBody {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        match self.get_mut() {
            Self::Whole(data) => {
                let data = std::mem::take(data);
                Poll::Ready((!data.is_empty()).then_some(Ok(Frame::data(data))))
            }
            Self::Streaming(body) => Pin::new(body).poll_frame(cx).map_err(|error| error.to_string()),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(data) => data.is_empty(),
            Self::Streaming(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(data) => SizeHint::with_exact(data.len() as u64),
            Self::Streaming(body) => body.size_hint(),
        }
    }
}

impl server::Body for HopBody {
    fn poll_aside(&mut self, cx: &mut Context<'_>) {
        if let Self::Streaming(body) = self {
            body.poll_upload(cx);
        }
    }
}
