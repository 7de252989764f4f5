//! Delays, for tests of what is before and behind the proxy: answers and requests that come late or slowly, and clients
//! that are kept busy.

mod chance;
mod paced;

use std::time::Duration;

use bytes::Bytes;
use eskip::Arg;
use eskip::filters::{Args, Body, BoxError, Filter, FilterContext, Filters, Flow, StreamBody, Wants};
use eskip::routing::ArgsError;
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, Empty, StreamBody as Pieces};
use tokio::sync::oneshot;
use tokio::time;
use tracing::info;

use self::chance::Spread;
pub(super) use self::chance::chance;
use self::paced::{Pace, paced};
use super::Means;
use super::bodies::bare;

/// What a client in the tar pit gets each time.
const DROP: Bytes = Bytes::from_static(b".");

/// On which way something is delayed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    /// To the backend.
    Request,
    /// To the client.
    Response,
}

/// Holds back a head, and with it all that follows.
#[derive(Debug)]
struct Latency {
    way: Way,
    spread: Spread,
}

/// Slows a body down.
#[derive(Debug)]
struct Slow {
    way: Way,
    pace: Pace,
}

/// Answers without an end.
#[derive(Debug)]
struct TarPit {
    every: Duration,
}

/// Reads the request and answers.
#[derive(Debug)]
struct Absorb {
    is_silent: bool,
}

pub(super) fn add(all: &mut Filters, _means: &Means) {
    add_latencies(all);
    add_paces(all);
    all.add(
        "tarpit",
        (
            "answers without an end, one byte after each such time",
            r#"tarpit("1s")"#,
        ),
        TarPit::create,
    );
    for (name, is_silent, does, example) in [
        (
            "absorb",
            false,
            "reads the request, logs how long it was, and answers with 200",
            "absorb()",
        ),
        (
            "absorbSilent",
            true,
            "reads the request and answers with 200",
            "absorbSilent()",
        ),
    ] {
        all.add(name, (does, example), move |args| {
            Args::new(args).end()?;
            Ok(Absorb { is_silent })
        });
    }
}

/// Reads what it makes of the arguments.
type Read<T> = fn(&mut Args<'_>) -> Result<T, ArgsError>;

fn add_latencies(all: &mut Filters) {
    let kinds: [(_, Way, Read<Spread>, _, _); 8] = [
        (
            "latency",
            Way::Response,
            Spread::fixed,
            "holds the answer back for a time, in milliseconds or as a text",
            r#"latency("120ms")"#,
        ),
        (
            "backendLatency",
            Way::Request,
            Spread::fixed,
            "holds the request back for a time, in milliseconds or as a text",
            "backendLatency(120)",
        ),
        (
            "uniformRequestLatency",
            Way::Request,
            Spread::uniform,
            "holds the request back for any time that far from a mean",
            r#"uniformRequestLatency("100ms", "10ms")"#,
        ),
        (
            "normalRequestLatency",
            Way::Request,
            Spread::normal,
            "holds the request back for a time that is normally distributed, by mean and standard deviation",
            r#"normalRequestLatency("10ms", "5ms")"#,
        ),
        (
            "histogramRequestLatency",
            Way::Request,
            Spread::histogram,
            "holds the request back for a time of one of the ranges, each as likely as the weight between its ends",
            r#"histogramRequestLatency("0ms", 50, "5ms", 0, "10ms", 50, "15ms")"#,
        ),
        (
            "uniformResponseLatency",
            Way::Response,
            Spread::uniform,
            "as `uniformRequestLatency`, for the answer",
            r#"uniformResponseLatency("100ms", "10ms")"#,
        ),
        (
            "normalResponseLatency",
            Way::Response,
            Spread::normal,
            "as `normalRequestLatency`, for the answer",
            r#"normalResponseLatency("10ms", "5ms")"#,
        ),
        (
            "histogramResponseLatency",
            Way::Response,
            Spread::histogram,
            "as `histogramRequestLatency`, for the answer",
            r#"histogramResponseLatency("0ms", 50, "5ms", 50, "10ms")"#,
        ),
    ];
    for (name, way, read, does, example) in kinds {
        all.add(name, (does, example), move |args: &[Arg]| {
            let mut args = Args::new(args);
            let spread = read(&mut args)?;
            args.end()?;
            Ok(Latency { way, spread })
        });
    }
}

fn add_paces(all: &mut Filters) {
    let kinds: [(_, Way, Read<Pace>, _, _); 4] = [
        (
            "bandwidth",
            Way::Response,
            Pace::bandwidth,
            "sends the answer no faster, in KiB a second",
            "bandwidth(30)",
        ),
        (
            "backendBandwidth",
            Way::Request,
            Pace::bandwidth,
            "sends the request's body no faster, in KiB a second",
            "backendBandwidth(30)",
        ),
        (
            "chunks",
            Way::Response,
            Pace::chunks,
            "waits before each so many bytes of the answer",
            r#"chunks(1024, "120ms")"#,
        ),
        (
            "backendChunks",
            Way::Request,
            Pace::chunks,
            "waits before each so many bytes of the request's body",
            r#"backendChunks(1024, "120ms")"#,
        ),
    ];
    for (name, way, read, does, example) in kinds {
        all.add(name, (does, example), move |args: &[Arg]| {
            let mut args = Args::new(args);
            let pace = read(&mut args)?;
            args.end()?;
            Ok(Slow { way, pace })
        });
    }
}

// === impl Way ===

impl Way {
    fn wants(self) -> Wants {
        match self {
            Self::Request => Wants::REQUEST,
            Self::Response => Wants::RESPONSE,
        }
    }
}

// === impl Latency ===

impl Latency {
    fn wait(&self, cx: &FilterContext<'_>) -> Flow {
        let delay = self.spread.sample(|| cx.env.random());
        if delay.is_zero() {
            return Flow::Next;
        }
        Flow::after(time::sleep(delay), |(), _| Flow::Next)
    }
}

impl Filter for Latency {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.wait(cx)
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.wait(cx)
    }

    fn wants(&self) -> Wants {
        self.way.wants().and_acts()
    }
}

// === impl Slow ===

impl Filter for Slow {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let pace = self.pace;
        cx.request_body.watch(move |body| paced(body, pace));
        Flow::Next
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        let pace = self.pace;
        if let Some(answer) = &mut cx.response {
            answer.body.watch(move |body| paced(body, pace));
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        self.way.wants()
    }
}

// === impl TarPit ===

impl TarPit {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let every = args.duration("a length of time")?;
        args.end()?;
        if every < Duration::from_millis(1) {
            return Err(args.expected("a millisecond or more"));
        }
        Ok(Self { every })
    }
}

impl Filter for TarPit {
    fn request(&self, _cx: &mut FilterContext<'_>) -> Flow {
        let every = self.every;
        let drops = futures_util::stream::unfold((), move |()| async move {
            time::sleep(every).await;
            Some((Ok::<_, BoxError>(Frame::data(DROP)), ()))
        });
        let body: StreamBody = Box::pin(Pieces::new(drops));
        Flow::serve(Response::new(Body::Stream(body)))
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

// === impl Absorb ===

impl Filter for Absorb {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let route = (!self.is_silent).then(|| cx.exchange.route.clone());
        let (give, given) = oneshot::channel();
        cx.request_body.wrap(move |body| {
            let _refused = give.send(body);
            Box::pin(Empty::new().map_err(|never| match never {}))
        });
        let reading = async move {
            if let Some(route) = &route {
                info!(%route, "a request is absorbed");
            }
            // No body is given if there is none.
            let Ok(mut body) = given.await else { return };
            let (mut bytes, mut complete) = (0_u64, true);
            while let Some(frame) = body.frame().await {
                let length = frame
                    .as_ref()
                    .map(|frame| frame.data_ref().map_or(0, |data| data.len() as u64));
                complete = length.is_ok();
                bytes = bytes.saturating_add(length.unwrap_or_default());
                if !complete {
                    break;
                }
            }
            if let Some(route) = &route {
                info!(%route, bytes, complete, "a request was absorbed");
            }
        };
        Flow::after(reading, |(), _| Flow::serve(bare(StatusCode::OK)))
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

#[cfg(test)]
mod tests;
