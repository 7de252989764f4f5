//! What is explained is what happens: each request of the suite, explained and sent.

use http::{HeaderMap, HeaderName, Method};
use proxy_core::explain::{Inquiry, Outcome, Step};
use proxy_core::{Options, Proxy};

use super::requests::Request;

/// What of an answer an explanation says: its status, or what the upstream gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Closed,
    Status(String),
    Upstream(String),
}

/// What is said of `request`; nothing if it has a body or no form that a URL has, or if an upstream's answer matters.
pub(super) async fn said(
    config: &caddy_config::Config,
    options: &Options,
    request: &Request,
) -> Option<Said> {
    let inquiry = inquiry(request)?;
    let explanation = Proxy::explain(config, options, &inquiry).await.unwrap();
    if explanation
        .steps
        .iter()
        .any(|step| matches!(step, Step::Asked { .. }))
    {
        return None;
    }
    Some(match explanation.outcome {
        Outcome::Answered { status, .. } => Said::Status(format!("status {status}")),
        Outcome::Forwarded { destination } => {
            if destination
                .upstreams
                .iter()
                .any(|upstream| upstream == "127.0.0.1:1")
            {
                return None;
            }
            Said::Upstream(format!("upstream {} {}", destination.method, destination.target))
        }
        _ => Said::Closed,
    })
}

/// Whether an answer is as was said.
pub(super) fn agrees(said: &Said, lines: &[String]) -> bool {
    let upstream = lines.iter().find(|line| line.starts_with("upstream "));
    match said {
        Said::Closed => lines.first().is_some_and(|line| line == "closed"),
        Said::Status(status) => upstream.is_none() && lines.contains(status),
        Said::Upstream(line) => upstream == Some(line),
    }
}

fn inquiry(request: &Request) -> Option<Inquiry> {
    let text = std::str::from_utf8(&request.bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let line = lines.next()?.strip_suffix(" HTTP/1.1")?;
    let (method, target) = line.split_once(' ')?;
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':')?;
        headers.append(HeaderName::try_from(name).ok()?, value.trim().parse().ok()?);
    }
    let one_host = headers.get_all("host").iter().count() == 1;
    if !body.is_empty() || !target.starts_with('/') || !one_host {
        return None;
    }
    Some(Inquiry {
        method: Method::try_from(method).ok()?,
        // The configurations listen on port 0.
        url: format!("http://127.0.0.1:0{target}").parse().ok()?,
        headers,
        from: [127, 0, 0, 1].into(),
    })
}
