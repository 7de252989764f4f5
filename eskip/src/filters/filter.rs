//! One filter of one route.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use http::Response;

use super::body::Body;
use super::context::FilterContext;
use super::settings::RouteSettings;

/// A filter with its arguments. It is made once for a route and used by all requests of that route at once: what is one
/// request's own goes into its [`Exchange`](super::Exchange).
pub trait Filter: fmt::Debug + Send + Sync {
    /// What is done with the request.
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let _ = cx;
        Flow::Next
    }

    /// What is done with the answer, which `cx.response` is.
    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        let _ = cx;
        Flow::Next
    }

    /// What the filter takes part in. Default: [`Wants::ALL`] but errors. Whoever runs filters may leave out what is not
    /// wanted, so saying less makes requests cheaper.
    fn wants(&self) -> Wants {
        Wants::ALL
    }

    /// Says what holds for all requests of the route. Called once, in the order of the route.
    fn settle(&self, route: &mut RouteSettings) {
        let _ = route;
    }
}

/// What a filter takes part in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Wants {
    /// [`Filter::request`] is called.
    pub request: bool,
    /// [`Filter::response`] is called.
    pub response: bool,
    /// `cx.request` is the request's head in [`Filter::response`], too. Otherwise it may be empty there.
    pub head: bool,
    /// [`Filter::response`] is also called for the answers that the proxy makes when something fails.
    pub errors: bool,
    /// It does something beside the request: asks another server, counts it, or keeps it waiting. Whoever only wants to know
    /// what would become of a request leaves the filter out.
    pub acts: bool,
}

/// How a request goes on behind a filter.
pub enum Flow {
    /// To the next filter, or to the backend; in the second phase to the filter before, or to the client.
    Next,
    /// This is the answer: no further filter sees the request and no backend gets it; the filters that it has come to, this
    /// one included, see the answer. In the second phase it takes the place of the one that was there.
    Serve(Box<Response<Body>>),
    /// As what comes out of this says, once it is there.
    Wait(Waiting),
    /// Through the routes again, as the filters have changed the request. In the second phase the answer is dropped. A
    /// body that went to a backend does not come back, so requests that have one end with an error then.
    Reroute,
}

/// What a request waits for. It is dropped if the client leaves.
pub type Waiting = Pin<Box<dyn Future<Output = Resume> + Send>>;

/// How a filter goes on when its wait is over.
pub type Resume = Box<dyn FnOnce(&mut FilterContext<'_>) -> Flow + Send>;

// === impl Wants ===

impl Wants {
    /// Nothing: all is said by [`Filter::settle`].
    pub const NONE: Self = Self {
        request: false,
        response: false,
        head: false,
        errors: false,
        acts: false,
    };

    /// The request alone.
    pub const REQUEST: Self = Self {
        request: true,
        ..Self::NONE
    };

    /// The answer alone.
    pub const RESPONSE: Self = Self {
        response: true,
        ..Self::NONE
    };

    /// The request, then the answer without the request's head.
    pub const BOTH: Self = Self {
        request: true,
        response: true,
        ..Self::NONE
    };

    /// The request, then the answer with the request's head.
    pub const ALL: Self = Self {
        head: true,
        ..Self::BOTH
    };

    /// The same, and the answers that the proxy makes when something fails.
    #[must_use]
    pub const fn and_errors(self) -> Self {
        Self { errors: true, ..self }
    }

    /// The same, of a filter that does something beside the request.
    #[must_use]
    pub const fn and_acts(self) -> Self {
        Self { acts: true, ..self }
    }

    /// The same, with the request's head beside the answer.
    #[must_use]
    pub const fn and_head(self) -> Self {
        Self { head: true, ..self }
    }
}

// === impl Flow ===

impl Flow {
    /// Answers.
    #[must_use]
    pub fn serve(response: Response<Body>) -> Self {
        Self::Serve(Box::new(response))
    }

    /// Goes on as `then` says when `future` has come to its end.
    pub fn after<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
        then: impl FnOnce(T, &mut FilterContext<'_>) -> Self + Send + 'static,
    ) -> Self {
        Self::Wait(Box::pin(async move {
            let value = future.await;
            let resume: Resume = Box::new(move |cx| then(value, cx));
            resume
        }))
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Next => f.write_str("Next"),
            Self::Serve(response) => f.debug_tuple("Serve").field(&response.status()).finish(),
            Self::Wait(_) => f.write_str("Wait"),
            Self::Reroute => f.write_str("Reroute"),
        }
    }
}
