//! A request at an upstream, and its answer.

use std::time::Duration;

use doors_routing::Decision;
use http::request::Parts;
use http::{Method, Request, Response, header};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use http1_codec::ToProxy;
use tokio::time::Instant;

use super::targets::Untargeted;
use super::{Journey, Next, RequestBody, Waited};
use crate::body::{Body, BoxError};
use crate::error::{Failure, Phase, Reason};
use crate::forward::before::{self, Before};
use crate::forward::exchange::{self, Answered, Beside, Failed, Target};
use crate::forward::interim;
use crate::forward::outgoing;
use crate::forward::proxy::{Answers, Proxy, Then};
use crate::forward::rehearsal::{Destination, Why};
use crate::forward::upload::{self, Upload};
use crate::forward::view::ClusterId;
use crate::forward::worker::Worker;
use crate::http::forwarded::{self, Client};
use crate::http::marks::Marks;
use crate::http::upgrade::Wanted;
use crate::http::{buffer, limit};
use crate::routing::trace::Tracer;
use crate::upstream::cluster::{Cluster, Source};
use crate::upstream::discovery::Found;
use crate::upstream::transport::Purpose;

/// A request that goes to an upstream, and what is needed when its answer comes.
pub(in crate::forward) struct Sent<'a> {
    pub(super) number: ClusterId,
    pub(super) proxy: &'a Proxy,
    pub(super) cluster: &'a Cluster,
    pub(super) target: Target<'a>,
    pub(super) wanted: Option<Wanted>,
    pub(super) beside: Beside<'a>,
    pub(super) before: Before<'a>,
    pub(super) upload: Option<Upload>,
}

/// The longest rest of an answer that is read although nobody wants it.
const REST: u64 = 64 * 1024;

/// How long that may take.
const REST_TIME: Duration = Duration::from_secs(5);

async fn read_rest(mut body: Body) {
    let reading = async { while let Some(Ok(_)) = body.frame().await {} };
    // If it takes too long, the connection ends with the body.
    let _in_time = tokio::time::timeout(REST_TIME, reading).await;
}

// === impl Sent ===

impl<'a> Sent<'a> {
    /// Sends the request of `journey`, and gives the answer's head.
    // No async function: its future would hold the answer once more.
    pub(in crate::forward) fn exchange<'s, T: Tracer<'a>>(
        &'s mut self,
        worker: &'s Worker,
        request: Box<Request<Body>>,
        journey: &'s mut Journey<'a, T>,
    ) -> impl Future<Output = Result<Answered, Failed>> + use<'s, 'a, T> {
        let before = &mut self.before;
        let before = before.is_any().then_some((before, &mut journey.cx));
        exchange::exchange(
            worker,
            self.cluster,
            &mut self.target,
            request,
            &self.beside,
            before,
        )
    }

    /// The same within the time that the upstream has.
    // Boxed, as it is rare: every request's future would carry the room for it.
    pub(in crate::forward) async fn exchange_in_time<T: Tracer<'a>>(
        &mut self,
        worker: &Worker,
        request: Box<Request<Body>>,
        journey: &mut Journey<'a, T>,
    ) -> Result<Answered, Failed> {
        let Some(deadline) = self.deadline() else {
            return self.exchange(worker, request, journey).await;
        };
        let exchange = Box::pin(self.exchange(worker, request, journey));
        match tokio::time::timeout_at(deadline, exchange).await {
            Ok(answered) => answered,
            Err(_) => Err(Failure::from(Reason::TimedOut).with_phase(Phase::Wait).into()),
        }
    }

    /// Until when the upstream must have given all of its answer.
    pub(in crate::forward) fn deadline(&self) -> Option<Instant> {
        self.beside.deadline
    }

    /// Where `request` is to go, for those who only want to know.
    pub(in crate::forward) fn destination(
        &self,
        worker: &Worker,
        request: &Request<Body>,
        decision: Option<Decision>,
    ) -> Destination {
        let why = match (&self.target, &self.cluster.source, decision) {
            (Target::Pod { .. }, ..) => Why::Token,
            (_, Source::Fixed(_), _) => Why::Configured,
            (_, Source::Doors(_), Some(Decision::Server(_))) => Why::Pinned,
            (_, Source::Doors(_), _) => Why::Any,
            (_, Source::Dynamic(_), _) => Why::Found,
        };
        let mut upstreams: Vec<String> = match &self.target {
            Target::Pod { address, .. } => vec![address.to_string()],
            Target::Any(choice) => {
                let order = choice.order(worker, self.cluster);
                let order = order.iter().filter_map(|index| choice.list.get(*index));
                order.map(ToString::to_string).collect()
            }
        };
        let skipped = match &self.target {
            Target::Pod { .. } => Vec::new(),
            Target::Any(choice) => choice.skipped(),
        };
        if let Some(dynamic) = self.cluster.source.dynamic().filter(|_| upstreams.is_empty()) {
            upstreams = dynamic.texts().map(str::to_owned).collect();
        }
        let plain = Response::new(());
        let decides = |answers: &Answers| {
            matches!(answers.then, Then::Routes(_)) && answers.only.matches(200, plain.headers())
        };
        Destination {
            method: request.method().clone(),
            target: crate::request::target(request.uri()).to_owned(),
            host: request.headers().get(header::HOST).cloned(),
            upstreams,
            skipped,
            why,
            decided: self.proxy.answers.iter().any(decides),
        }
    }
}

// === impl Journey ===

impl<'a, T: Tracer<'a>> Journey<'a, T> {
    /// Makes the request that goes to an upstream.
    pub(super) fn proxy(&mut self, number: ClusterId) -> Option<Next<'a>> {
        let Some(cluster) = self.cluster(number) else {
            return self.fail(Reason::NoUpstream.into());
        };
        let proxy = self.proxy_of(number);
        let marks = Marks::of(&self.cx.parts.headers);
        if marks.any(Marks::VIA) && forwarded::is_looping(&self.cx.parts.headers) {
            return self.fail(Reason::Loop.into());
        }
        if let Some(most) = proxy.request_buffer
            && let Some(body) = self.body.take_coming()
        {
            let body = limit::within(body, self.read_timeout());
            return Some(Next::Wait(Box::pin(async move {
                let body = buffer::ahead(body, most).await;
                Waited::Request { number, body }
            })));
        }
        self.forward((number, cluster), marks, None)
    }

    /// Goes on with a request whose upstreams were waited for.
    pub(super) fn found(&mut self, number: ClusterId, found: Box<Found<'a>>) -> Option<Next<'a>> {
        let marks = Marks::of(&self.cx.parts.headers);
        let cluster = self.cluster(number)?;
        self.forward((number, cluster), marks, Some(found))
    }

    /// Goes on with a request whose body was to be read first.
    pub(super) fn buffered(&mut self, number: ClusterId, body: Result<Body, BoxError>) -> Option<Next<'a>> {
        match body {
            Ok(body) => self.body = RequestBody::Whole(body),
            Err(error) => return self.fail(Failure::of_body(error)),
        }
        let marks = Marks::of(&self.cx.parts.headers);
        let cluster = self.cluster(number)?;
        self.forward((number, cluster), marks, None)
    }

    /// Chooses where the request goes and makes what is sent there.
    fn forward(
        &mut self,
        (number, cluster): (ClusterId, &'a Cluster),
        mut marks: Marks,
        found: Option<Box<Found<'a>>>,
    ) -> Option<Next<'a>> {
        let proxy = self.proxy_of(number);
        let target = match self.target((number, cluster, proxy), found) {
            Ok(target) => target,
            Err(Untargeted::Failed(failure)) => return self.fail(*failure),
            Err(Untargeted::Finding(finding)) => return Some(Next::Find(finding)),
        };
        if let Target::Any(choice) = &target {
            self.cx.note_tier(choice.list.tier());
        }
        let mut parts = match self.head_for(proxy) {
            Ok(parts) => parts,
            Err(failure) => return self.fail(*failure),
        };
        let has_body = !self.body.is_empty();
        let wanted = if proxy
            .rewrite
            .as_ref()
            .is_some_and(|rewrite| rewrite.method.is_some())
        {
            // Another request than the client's, so its connection stays what it is.
            None
        } else {
            Wanted::of(&parts, marks, has_body, self.was_connect)
        };
        let Some(body) = self.body_for(proxy, &mut parts) else {
            return self.fail(Reason::BodySpent.into());
        };
        self.let_go();
        let body = if proxy.request_buffer.is_some() {
            // Its time has begun before, and the client was told to send it.
            parts.headers.remove(header::EXPECT);
            marks = marks.without(Marks::EXPECT);
            body.upwards()
        } else {
            limit::within(body.upwards(), self.read_timeout())
        };
        // Over HTTP/1.1 the answer drives the upload, and takes it with it when it ends.
        let (body, upload) = if cluster.multiplexes {
            upload::stoppable(body)
        } else {
            (body, None)
        };
        let (body, interim) = interim::begin(
            body,
            cluster.transport.continue_timeout,
            parts.version,
            marks,
            self.connection,
        );
        let (beside, before) = self.dress((cluster, proxy), &mut parts, interim, wanted.as_ref(), marks);
        let sent = Box::new(Sent {
            number,
            proxy,
            cluster,
            target,
            wanted,
            beside,
            before,
            upload,
        });
        Some(Next::Send(Box::new(Request::from_parts(parts, body)), sent))
    }

    /// Another upstream is asked now, so what routes decided about needs no body any more. A short one is read to its
    /// end, for the sake of its connection.
    fn let_go(&mut self) {
        let Some(caught) = &mut self.cx.caught else { return };
        let body = std::mem::replace(caught.body_mut(), Body::empty());
        let is_short = body.size_hint().upper().is_some_and(|length| length <= REST);
        if is_short && !body.is_end_stream() {
            self.worker.background.spawn("rest of an answer", read_rest(body));
        }
    }

    /// The head that is sent: the request's own, or a copy where somebody may still ask for it.
    fn head_for(&mut self, proxy: &Proxy) -> Result<Parts, Box<Failure>> {
        let needs_request = self.walk.needs_request()
            || self.rules.errors.is_some()
            || !proxy.answers.is_empty()
            || proxy.rewrite.is_some()
            || proxy.up.as_ref().is_some_and(|up| up.needs_request)
            || proxy.down.is_some()
            || proxy.resend.is_some();
        let mut parts = if needs_request {
            self.cx.parts.clone()
        } else {
            std::mem::replace(&mut self.cx.parts, Request::new(()).into_parts().0)
        };
        parts.extensions.clear();
        if proxy.absolute {
            let scheme = if self.cx.tls { "https" } else { "http" };
            parts.extensions.insert(ToProxy { scheme });
        }
        if let Some(rewrite) = &proxy.rewrite {
            let new = rewrite.of(&self.cx)?;
            parts.method = new.method.unwrap_or(parts.method);
            parts.uri = new.target.map_or(parts.uri, Into::into);
        }
        Ok(parts)
    }

    /// The body that is sent; `None` if another upstream has it. A copy that became a GET leaves it to the request.
    fn body_for(&mut self, proxy: &Proxy, parts: &mut Parts) -> Option<Body> {
        let is_other = proxy
            .rewrite
            .as_ref()
            .is_some_and(|rewrite| rewrite.method.is_some());
        if is_other && matches!(parts.method, Method::GET | Method::HEAD) {
            parts.headers.remove(header::CONTENT_LENGTH);
            parts.headers.remove(header::EXPECT);
            return Some(Body::empty());
        }
        self.body.take()
    }

    /// Gives the head the fields that the proxy sets, and says what is done at each upstream.
    fn dress(
        &self,
        (cluster, proxy): (&'a Cluster, &'a Proxy),
        parts: &mut Parts,
        interim: interim::Interim<'a>,
        wanted: Option<&Wanted>,
        marks: Marks,
    ) -> (Beside<'a>, Before<'a>) {
        let client = Client {
            ip: self.cx.client_ip,
            via_trusted_proxy: self.is_via_trusted(proxy),
        };
        let mut added = outgoing::prepare(
            parts,
            self.connection,
            (!proxy.is_silent).then_some(&client),
            self.cx.host.as_ref(),
            wanted,
            marks,
        );
        let mut before = Before {
            notes: self.rules.asked.upstream,
            resend: proxy.resend.as_ref(),
            sets_host: cluster.sets_host && !self.cx.keeps_host,
            ..Before::default()
        };
        if let Some(up) = &proxy.up {
            // The changes are about these fields too.
            added.move_into(&mut parts.headers);
            if up.per_upstream || cluster.sets_host {
                before.changes = Some((&up.ops, parts.headers.clone()));
            } else {
                before::change_request(&up.ops, &self.cx, &mut parts.headers);
            }
        }
        let purpose = Purpose {
            client: self.cx.client_ip,
            upgrades: wanted.is_some(),
        };
        let beside = Beside {
            interim,
            added,
            purpose,
            deadline: proxy.deadline.map(|limit| Instant::now() + limit),
        };
        (beside, before)
    }
}
