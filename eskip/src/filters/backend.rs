//! How a route asks its backend: the Host it is told, how long it has, and what leads elsewhere instead.

use std::time::Duration;

use http::StatusCode;

use super::args::Args;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::registry::Filters;
use super::settings::RouteSettings;
use super::settles::Settles;
use crate::Arg;
use crate::routing::ArgsError;

/// `loopbackIfStatus(code, path)`.
#[derive(Debug)]
struct LoopbackIfStatus {
    status: StatusCode,
    path: String,
}

pub(super) fn add(all: &mut Filters) {
    all.add(
        "preserveHost",
        (
            "says whether the backend is told the Host of the request or its own",
            r#"preserveHost("true")"#,
        ),
        |args| {
            let mut args = Args::new(args);
            let preserved = args.truth()?;
            args.end()?;
            Ok(Settles::new(preserved, |route, preserved| {
                route.preserve_host = Some(*preserved);
            }))
        },
    );
    all.add(
        "backendIsProxy",
        (
            "asks the backend as a proxy, with the whole URL",
            "backendIsProxy()",
        ),
        |args| {
            Args::new(args).end()?;
            Ok(Settles::new((), |route, ()| route.backend_is_proxy = true))
        },
    );
    add_timeouts(all);
    all.add(
        "loopbackIfStatus",
        (
            "goes through the routes again with another path if the answer has a status",
            r#"loopbackIfStatus(404, "/missing")"#,
        ),
        LoopbackIfStatus::create,
    );
}

fn add_timeouts(all: &mut Filters) {
    all.add(
        "backendTimeout",
        (
            "limits how long the backend has for everything, from the connection to the end of its answer",
            r#"backendTimeout("10s")"#,
        ),
        |args| timeout(args, |route, limit| route.backend_timeout = Some(*limit)),
    );
    all.add(
        "readTimeout",
        (
            "limits how long the client has for the body of its request",
            r#"readTimeout("30s")"#,
        ),
        |args| timeout(args, |route, limit| route.read_timeout = Some(*limit)),
    );
    all.add(
        "writeTimeout",
        (
            "limits how long the client has to take the answer",
            r#"writeTimeout("1m")"#,
        ),
        |args| timeout(args, |route, limit| route.write_timeout = Some(*limit)),
    );
}

fn timeout(args: &[Arg], say: fn(&mut RouteSettings, &Duration)) -> Result<Settles<Duration>, ArgsError> {
    let mut args = Args::new(args);
    // A number would be read as milliseconds by one and as seconds by another, so there must be a unit.
    let limit = args.text_duration("a length of time, such as `10s`")?;
    args.end()?;
    Ok(Settles::new(limit, say))
}

// === impl LoopbackIfStatus ===

impl LoopbackIfStatus {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (status, path) = (args.status()?, args.text("a path")?.to_owned());
        if !path.starts_with('/') {
            return Err(args.expected("a path, which begins with a slash"));
        }
        args.end()?;
        Ok(Self { status, path })
    }
}

impl Filter for LoopbackIfStatus {
    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        let is_it = cx
            .response
            .as_ref()
            .is_some_and(|answer| *answer.status == self.status);
        if !is_it {
            return Flow::Next;
        }
        cx.set_path(&self.path);
        Flow::Reroute
    }

    fn wants(&self) -> Wants {
        Wants::RESPONSE.and_head()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::trial::Trial;

    #[test]
    fn the_last_word_on_the_host_counts() {
        assert_eq!(Trial::settings("backendIsProxy()").preserve_host, None);
        assert_eq!(
            Trial::settings(r#"preserveHost("true") -> preserveHost("false")"#).preserve_host,
            Some(false)
        );
        for wrong in [
            r#"preserveHost("yes")"#,
            "preserveHost()",
            "preserveHost(1)",
            r#"preserveHost("true", "true")"#,
        ] {
            assert!(
                Trial::mistake(wrong).starts_with("invalid_filter_params"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_backend_may_be_a_proxy() {
        assert!(!Trial::settings(r#"preserveHost("true")"#).backend_is_proxy);
        assert!(Trial::settings("backendIsProxy()").backend_is_proxy);
        assert!(Trial::mistake("backendIsProxy(1)").contains("expected at most 0 arguments"));
    }

    #[test]
    fn times_have_units() {
        let settings =
            Trial::settings(r#"backendTimeout("1m30s") -> readTimeout("200ms") -> writeTimeout("1h")"#);
        assert_eq!(settings.backend_timeout, Some(Duration::from_secs(90)));
        assert_eq!(settings.read_timeout, Some(Duration::from_millis(200)));
        assert_eq!(settings.write_timeout, Some(Duration::from_secs(3600)));
        for name in ["backendTimeout", "readTimeout", "writeTimeout"] {
            for args in ["", "100", r#""100""#, r#""-1s""#, r#""1s", "1s""#] {
                let wrong = format!("{name}({args})");
                assert!(
                    Trial::mistake(&wrong).starts_with("invalid_filter_params"),
                    "{wrong}"
                );
            }
        }
    }

    #[test]
    fn an_answer_with_the_status_sends_the_request_to_another_path() {
        let mut trial = Trial::get("/a%2Fb?x=1");
        let filters = trial.make(r#"loopbackIfStatus(404, "/missing page")"#);
        assert!(matches!(filters[0].response(&mut trial.cx(true)), Flow::Next));
        assert_eq!(trial.target(), "/a%2Fb?x=1");

        trial.status = StatusCode::NOT_FOUND;
        assert!(matches!(filters[0].response(&mut trial.cx(true)), Flow::Reroute));
        assert_eq!(trial.target(), "/missing%20page?x=1");
        assert!(filters[0].wants().head && !filters[0].wants().request);

        for wrong in [
            "loopbackIfStatus(404)",
            r#"loopbackIfStatus(99, "/")"#,
            r#"loopbackIfStatus(404, "x")"#,
            r#"loopbackIfStatus(404, "/", "/")"#,
        ] {
            assert!(
                Trial::mistake(wrong).starts_with("invalid_filter_params"),
                "{wrong}"
            );
        }
    }
}
