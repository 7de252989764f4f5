//! A request that could not be served: whose fault it is, why, and what the client is told.

use std::error::Error as StdError;
use std::fmt;

use eskip::filters::BodyRefused;
use http::StatusCode;
use http1_codec::BodyError;

use crate::body::BoxError;

/// Who caused a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Client,
    Upstream,
    Proxy,
}

/// When a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// While it was read.
    Request,
    /// On its way through the routes.
    Routes,
    /// While an upstream was chosen and reached.
    Connect,
    /// While an answer was awaited.
    Wait,
    /// While the answer was on its way.
    Answer,
}

/// Why a request failed. One name per kind, as logs and counters show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reason {
    /// The head was refused by the checks.
    BadRequest(&'static str),
    /// The client's body ended early, was malformed or too slow.
    ClientBody,
    /// The client left before the answer was complete.
    ClientGone,
    /// The client took nothing of the answer for too long, or not all of it in time.
    Stalled,
    /// The proxy, or the listener, was stopped before the answer was complete.
    Stopped,
    /// The configuration closes the connection (`abort`).
    Aborted,
    /// The token in a system path does not decode or lies outside every CIDR.
    BadToken,
    /// The pod of a valid token refuses connections: its sessions are gone.
    DeadPod,
    /// The upstream's name has no address.
    Unresolved,
    /// The upstream refuses connections.
    Refused,
    /// No route to the upstream, or another fault of the network.
    Unreachable,
    /// All connections that the upstream may have are in use, and too many requests wait for one, or for too long.
    Busy,
    /// No TLS with the upstream: its certificate is not believed, or the handshake failed otherwise.
    Handshake,
    /// The upstream did not accept the connection or answer in time.
    TimedOut,
    /// The upstream closed the connection before its answer.
    Closed,
    /// The upstream's answer ended before it was whole.
    Cut,
    /// The upstream's answer is not valid HTTP, or framed in a way that cannot be trusted.
    BadResponse,
    /// The client wants a tunnel, and what answers does not open one.
    NoTunnel,
    /// There is no upstream to choose from, or none that takes requests now.
    NoUpstream,
    /// What stands for the placeholders of an upstream makes no address for this request.
    BadUpstream,
    /// The request has come through this kind of proxy too often.
    Loop,
    /// No route answers, and that is an error (strict).
    NoRoute,
    /// The host is not the name that the connection was opened for, and that is an error (`strict_sni_host`).
    Misdirected,
    /// The configuration says so (`error`).
    Raised,
    /// `basic_auth` does not know the user, or the password is wrong.
    Unauthenticated,
    /// Too many passwords are being compared.
    AuthenticationBusy,
    /// The client's body is longer than `request_body` allows.
    BodyTooLong,
    /// A filter does not let the client's body through.
    BodyRefused,
    /// A filter makes path and query longer than a request can have them.
    TargetTooLong,
    /// The client's body has gone to one upstream, and another one needs it too.
    BodySpent,
    /// A status with placeholders is no number for this request.
    BadStatus,
    /// A method with placeholders is none for this request.
    BadMethod,
    /// An expression has no value for this request.
    BadExpression,
    /// `copy_response` without an answer to copy.
    NothingCaught,
    /// Routes lead deeper into routes than they may.
    TooDeep,
    /// A request went through Skipper's routes more often than it may.
    TooManyLoopbacks,
    /// A filter failed.
    FilterPanicked,
    /// No filter has said where a request to a dynamic backend goes.
    NoTarget,
    /// The routes were not read yet.
    NotLoaded,
}

/// One failed request.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) reason: Reason,
    pub(crate) status: StatusCode,
    /// The seconds after which trying again makes sense.
    pub(crate) retry_after: Option<u8>,
    pub(crate) phase: Phase,
    pub(crate) source: Option<Box<dyn StdError + Send + Sync>>,
}

/// A body is longer than configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// A body took longer than configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TookTooLong;

// === impl Reason ===

impl Reason {
    pub(crate) fn side(self) -> Side {
        match self {
            Self::BadRequest(_)
            | Self::ClientBody
            | Self::ClientGone
            | Self::Stalled
            | Self::BadToken
            | Self::NoRoute
            | Self::Misdirected
            | Self::Unauthenticated
            | Self::BodyTooLong
            | Self::BodyRefused
            | Self::TargetTooLong => Side::Client,
            Self::DeadPod
            | Self::Unresolved
            | Self::Refused
            | Self::Unreachable
            | Self::Handshake
            | Self::TimedOut
            | Self::Closed
            | Self::Cut
            | Self::BadResponse => Side::Upstream,
            Self::NoUpstream
            | Self::NoTunnel
            | Self::Busy
            | Self::BadUpstream
            | Self::Stopped
            | Self::Aborted
            | Self::Loop
            | Self::Raised
            | Self::AuthenticationBusy
            | Self::BodySpent
            | Self::BadMethod
            | Self::BadStatus
            | Self::BadExpression
            | Self::NothingCaught
            | Self::TooDeep
            | Self::TooManyLoopbacks
            | Self::FilterPanicked
            | Self::NoTarget
            | Self::NotLoaded => Side::Proxy,
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::BadRequest(_) | Self::ClientBody | Self::BodyRefused => StatusCode::BAD_REQUEST,
            // Never sent: nobody is there to read it. It is what the access log shows.
            Self::ClientGone | Self::Stalled | Self::Stopped | Self::Aborted => StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST),
            Self::BadToken | Self::DeadPod => StatusCode::GONE,
            Self::Unresolved
            | Self::Refused
            | Self::Unreachable
            | Self::Handshake
            | Self::Closed
            | Self::Cut
            | Self::BadResponse
            // As Caddy, which finds it out when it sends the request.
            | Self::BadMethod
            | Self::BadUpstream
            | Self::BodySpent
            | Self::NoTarget => StatusCode::BAD_GATEWAY,
            Self::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            Self::NoUpstream | Self::Busy | Self::AuthenticationBusy | Self::NotLoaded => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::NoTunnel => StatusCode::NOT_IMPLEMENTED,
            Self::NoRoute => StatusCode::NOT_FOUND,
            Self::Misdirected => StatusCode::MISDIRECTED_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::BodyTooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::Raised
            | Self::BadStatus
            | Self::BadExpression
            | Self::NothingCaught
            | Self::TooDeep
            | Self::TooManyLoopbacks
            | Self::FilterPanicked => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Loop => StatusCode::LOOP_DETECTED,
        }
    }

    /// When it happens, unless a [`Failure`] says otherwise.
    fn phase(self) -> Phase {
        match self {
            Self::BadRequest(_) | Self::ClientBody | Self::BodyTooLong | Self::BodyRefused => Phase::Request,
            Self::NoUpstream
            | Self::Busy
            | Self::DeadPod
            | Self::Unresolved
            | Self::Refused
            | Self::Unreachable
            | Self::Handshake
            | Self::TimedOut => Phase::Connect,
            Self::Closed | Self::BadResponse | Self::ClientGone => Phase::Wait,
            Self::Cut | Self::Stalled | Self::Stopped | Self::NoTunnel => Phase::Answer,
            Self::BadToken
            | Self::NoRoute
            | Self::Misdirected
            | Self::Unauthenticated
            | Self::Aborted
            | Self::Loop
            | Self::Raised
            | Self::AuthenticationBusy
            | Self::BodySpent
            | Self::BadMethod
            | Self::BadUpstream
            | Self::BadStatus
            | Self::BadExpression
            | Self::NothingCaught
            | Self::TooDeep
            | Self::TooManyLoopbacks
            | Self::TargetTooLong
            | Self::FilterPanicked
            | Self::NoTarget
            | Self::NotLoaded => Phase::Routes,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest(reason) => reason,
            Self::ClientBody => "the request body is incomplete or malformed",
            Self::ClientGone => "the client left",
            Self::Stalled => "the client did not take the answer in time",
            Self::Stopped => "the proxy was stopped before the answer was complete",
            Self::Aborted => "the configuration closes the connection",
            Self::BadToken => "the token in the path names no pod",
            Self::DeadPod => "the pod of the token refuses connections",
            Self::Unresolved => "the upstream's name has no address",
            Self::Refused => "the upstream refuses connections",
            Self::Unreachable => "the upstream cannot be reached",
            Self::Busy => "all connections to the upstream are in use",
            Self::Handshake => "the TLS handshake with the upstream failed",
            Self::TimedOut => "the upstream did not answer in time",
            Self::Closed => "the upstream closed the connection before its answer",
            Self::Cut => "the upstream's answer ended before it was whole",
            Self::BadResponse => "the upstream's answer is not valid HTTP",
            Self::Loop => "the request goes round in circles",
            Self::NoTunnel => "what answers opens no tunnel",
            Self::NoUpstream => "no upstream is available",
            Self::BadUpstream => "the upstream's placeholders make no address for this request",
            Self::NoRoute => "no route answers this request",
            Self::Misdirected => "the host is not the server name of the TLS connection",
            Self::Raised => "the configuration answers with an error",
            Self::Unauthenticated => "not authenticated",
            Self::AuthenticationBusy => "too many passwords are being compared",
            Self::BodyTooLong => "the request body is longer than configured",
            Self::BodyRefused => "a filter refuses the request body",
            Self::TargetTooLong => "a filter makes the path and query too long",
            Self::BodySpent => "the request body has gone to another upstream",
            Self::BadStatus => "the status with placeholders is not a number from 200 to 999",
            Self::BadMethod => "the method with placeholders is none for this request",
            Self::BadExpression => "an expression has no value for this request",
            Self::NothingCaught => "copy_response stands outside of handle_response",
            Self::TooDeep => "the routes lead too deep into each other",
            Self::TooManyLoopbacks => "the request went through the routes too often",
            Self::FilterPanicked => "a filter failed",
            Self::NoTarget => "no filter says where the request goes",
            Self::NotLoaded => "the routes are not loaded yet",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Failure ===

impl Failure {
    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn with_phase(self, phase: Phase) -> Self {
        Self { phase, ..self }
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn with_retry_after(mut self, seconds: u8) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// What error routes are told: the configuration's own words, or why it failed.
    pub(crate) fn message(&self) -> String {
        match (self.reason, &self.source) {
            (Reason::Raised, None) => String::new(),
            (Reason::Raised, Some(source)) => source.to_string(),
            (reason, _) => reason.as_str().to_owned(),
        }
    }
}

impl Failure {
    /// The failure of a request whose body failed: the only part of it that can fail on our side is what the
    /// client sends.
    pub(crate) fn of_body(error: BoxError) -> Self {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(&*error);
        let (mut slow, mut long, mut refused) = (false, false, None);
        while let Some(error) = cause {
            long |= error.is::<TooLong>();
            slow |= error.is::<TookTooLong>() || matches!(error.downcast_ref(), Some(BodyError::TimedOut));
            refused = refused.or_else(|| error.downcast_ref::<BodyRefused>());
            cause = error.source();
        }
        let failure = match refused {
            Some(refused) => Self::from(Reason::BodyRefused).with_status(refused.status()),
            None if long => Reason::BodyTooLong.into(),
            None => Reason::ClientBody.into(),
        };
        let failure = if slow {
            failure.with_status(StatusCode::REQUEST_TIMEOUT)
        } else {
            failure
        };
        failure.with_source(error)
    }
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Self {
            reason,
            status: reason.status(),
            retry_after: None,
            phase: reason.phase(),
            source: None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body is longer than configured")
    }
}

impl StdError for TooLong {}

impl fmt::Display for TookTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body took longer than configured")
    }
}

impl StdError for TookTooLong {}

impl Phase {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Routes => "routes",
            Self::Connect => "connect",
            Self::Wait => "wait",
            Self::Answer => "answer",
        }
    }
}

impl Side {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Upstream => "upstream",
            Self::Proxy => "proxy",
        }
    }
}
