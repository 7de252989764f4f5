//! `reverse_proxy [matcher] UPSTREAM... { ... }`: forwards requests.

use super::{
    super::{args::Args, cx::Cx, matcher::Scope},
    transport,
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    model::{
        DynamicUpstreams, FlushInterval, Handler, HostPort, HostPortError, HttpTransport, HttpVersion,
        LoadBalancing, ReverseProxy, SelectionPolicy, Transport, Upstream,
    },
    suggest::did_you_mean,
    units,
};

/// More upstreams of one proxy are refused: a port range can be written in a few characters.
const MAX_UPSTREAMS: usize = 10_000;

const SUPPORTED: [&str; 6] = [
    "dynamic",
    "dynamic_upstreams",
    "flush_interval",
    "lb_policy",
    "to",
    "transport",
];

/// Subdirectives of Caddy that Doorway is going to support.
const LATER: [&str; 33] = [
    "fail_duration",
    "handle_response",
    "header_down",
    "header_up",
    "health_body",
    "health_fails",
    "health_follow_redirects",
    "health_headers",
    "health_interval",
    "health_method",
    "health_passes",
    "health_path",
    "health_port",
    "health_request_body",
    "health_status",
    "health_timeout",
    "health_upstream",
    "health_uri",
    "lb_retries",
    "lb_retry_match",
    "lb_try_duration",
    "lb_try_interval",
    "max_fails",
    "method",
    "replace_status",
    "request_buffers",
    "response_buffers",
    "rewrite",
    "stream_close_delay",
    "stream_timeout",
    "trusted_proxies",
    "unhealthy_latency",
    "unhealthy_status",
];

/// What the upstreams' scheme says about the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Scheme {
    #[default]
    None,
    Http,
    H2c,
}

#[derive(Debug, Default)]
struct Reader {
    proxy: ReverseProxy,
    scheme: Scheme,
    transport: Option<HttpTransport>,
}

pub(super) fn read(args: Args<'_>, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    Some(Handler::ReverseProxy(Box::new(proxy(args, scope, cx))))
}

/// The proxy itself, which `forward_auth` is too.
pub(super) fn proxy(args: Args<'_>, _scope: &Scope<'_>, cx: &mut Cx<'_>) -> ReverseProxy {
    let mut reader = Reader::default();
    for upstream in args.rest() {
        reader.upstream(upstream, cx);
    }
    for line in args.block() {
        reader.line(line, cx);
    }
    if args.rest().is_empty() && args.block().is_empty() {
        let help = "every request will be answered with an error; name an upstream".to_owned();
        cx.warn(args.name().span, "no upstream to forward to", help);
    }
    reader.finish()
}

// === impl Reader ===

impl Reader {
    fn line(&mut self, line: &Line, cx: &mut Cx<'_>) {
        match line.name.text.as_str() {
            "to" => {
                for upstream in cx.some(line, "an upstream").unwrap_or_default() {
                    self.upstream(upstream, cx);
                }
            }
            "dynamic" | "dynamic_upstreams" => self.dynamic(line, cx),
            "flush_interval" => {
                if self.proxy.flush_interval.is_some() {
                    cx.error(line.name.span, "`flush_interval` is given twice", None);
                }
                self.proxy.flush_interval = flush_interval(line, cx);
            }
            "lb_policy" => self.policy(line, cx),
            "transport" => {
                if self.transport.is_some() {
                    cx.error(line.name.span, "`transport` is given twice", None);
                }
                self.transport = transport::read(line, cx);
            }
            _ => unsupported(&line.name, cx),
        }
    }

    fn dynamic(&mut self, line: &Line, cx: &mut Cx<'_>) {
        let sources = cx
            .some(line, "a source of upstreams, such as doors_upstreams")
            .unwrap_or_default();
        let Some((source, surplus)) = sources.split_first() else {
            return;
        };
        if source.text != "doors_upstreams" {
            return cx.unknown(source, "source of upstreams", &["doors_upstreams"]);
        }
        cx.surplus(surplus);
        if self.proxy.dynamic_upstreams.is_some() {
            cx.error(line.name.span, "the source of upstreams is given twice", None);
        }
        cx.note_doors_source(source.span);
        self.proxy.dynamic_upstreams = Some(DynamicUpstreams::Doors {});
    }

    fn policy(&mut self, line: &Line, cx: &mut Cx<'_>) {
        let Some(policy) = cx.one(line, "a policy") else {
            return;
        };
        if policy.text != "random" {
            let text = cx.quote(policy);
            let help = "supported so far: random".to_owned();
            return cx.error(
                policy.span,
                format!("the policy `{text}` is not supported yet"),
                help,
            );
        }
        if self.proxy.load_balancing.is_some() {
            cx.error(line.name.span, "`lb_policy` is given twice", None);
        }
        self.proxy.load_balancing = Some(LoadBalancing {
            selection_policy: Some(SelectionPolicy::Random {}),
        });
    }

    fn upstream(&mut self, token: &Token, cx: &mut Cx<'_>) {
        let Some((scheme, dials)) = parse(token, cx) else {
            return;
        };
        // Upstreams before the first scheme take it on; behind `http://`, none means the same.
        let same = scheme == self.scheme || (self.scheme, scheme) == (Scheme::Http, Scheme::None);
        if self.scheme == Scheme::None {
            self.scheme = scheme;
        } else if !same {
            let help = "write them all with one scheme, or in a `reverse_proxy` each".to_owned();
            cx.error(
                token.span,
                "the upstreams of one proxy have different schemes",
                help,
            );
        }
        if self.proxy.upstreams.len().saturating_add(dials.len()) > MAX_UPSTREAMS {
            cx.error(token.span, format!("more than {MAX_UPSTREAMS} upstreams"), None);
            return;
        }
        self.proxy
            .upstreams
            .extend(dials.into_iter().map(|dial| Upstream { dial }));
    }

    fn finish(self) -> ReverseProxy {
        let Self {
            mut proxy,
            scheme,
            mut transport,
        } = self;
        if scheme == Scheme::H2c {
            transport.get_or_insert_default().versions = vec![HttpVersion::H2c, HttpVersion::Http2];
        }
        proxy.transport = transport
            .filter(|http| *http != HttpTransport::default())
            .map(Transport::Http);
        proxy
    }
}

fn flush_interval(line: &Line, cx: &mut Cx<'_>) -> Option<FlushInterval> {
    let arg = cx.one(line, "a duration, or -1")?;
    if arg.text == "-1" {
        return Some(FlushInterval::Immediate);
    }
    let duration = cx.check(
        arg,
        units::duration(&arg.text).ok_or("expected a duration, such as 100ms, or -1"),
    )?;
    Some(duration)
        .filter(|duration| !duration.is_zero())
        .map(FlushInterval::Every)
}

/// An upstream: `[http://|h2c://]HOST[:PORT]`, where the port may be a range.
fn parse(token: &Token, cx: &mut Cx<'_>) -> Option<(Scheme, Vec<HostPort>)> {
    let (scheme, rest) = match token.text.split_once("://") {
        None => (Scheme::None, token.text.as_str()),
        Some((scheme, rest)) => match scheme.to_ascii_lowercase().as_str() {
            "http" => (Scheme::Http, rest),
            "h2c" => (Scheme::H2c, rest),
            other => {
                cx.error(
                    token.span,
                    format!("upstreams by {other}:// are not supported"),
                    scheme_help(other),
                );
                return None;
            }
        },
    };
    match dials(rest) {
        Ok(dials) => {
            let tls_port = scheme != Scheme::None && dials.iter().any(|dial| dial.port() == 443);
            if tls_port {
                cx.error(
                    token.span,
                    "the scheme does not go with port 443, which is for HTTPS",
                    None,
                );
            }
            Some((scheme, dials))
        }
        Err(error) => {
            cx.error(token.span, upstream_problem(error), upstream_help(rest));
            None
        }
    }
}

fn dials(text: &str) -> Result<Vec<HostPort>, HostPortError> {
    let bare = text
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .unwrap_or(text);
    if bare.parse::<std::net::Ipv6Addr>().is_ok() {
        return Ok(vec![HostPort::new(bare.to_owned(), 80)]);
    }
    if let Some((host, (first, last))) = text
        .rsplit_once(':')
        .and_then(|(host, ports)| Some((host, range(ports)?)))
    {
        let host: HostPort = format!("{host}:1").parse()?;
        return Ok((first..=last)
            .map(|port| HostPort::new(host.host().to_owned(), port))
            .collect());
    }
    let dial: HostPort = match text.parse() {
        Err(HostPortError::NoPort) if !text.is_empty() => format!("{text}:80").parse()?,
        other => other?,
    };
    if dial.port() == 0 {
        Err(HostPortError::Port)
    } else {
        Ok(vec![dial])
    }
}

/// `FIRST-LAST`, in order and without zero.
fn range(ports: &str) -> Option<(u16, u16)> {
    let (first, last) = ports.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let range =
        (digits(first) && digits(last)).then(|| Some((first.parse().ok()?, last.parse().ok()?)))??;
    Some(range).filter(|(first, last)| *first > 0 && first <= last)
}

const fn upstream_problem(error: HostPortError) -> &'static str {
    match error {
        HostPortError::Port => "the port is not a number from 1 to 65535, nor a range such as 8080-8083",
        HostPortError::Host | HostPortError::NoPort => "this is not an upstream",
    }
}

fn upstream_help(text: &str) -> String {
    let help = if text.contains('{') {
        "placeholders in upstreams are not supported yet; write a host and a port"
    } else if text.starts_with("unix") {
        "unix sockets are not supported yet; write a host and a port"
    } else if text.contains('/') {
        "an upstream has no path: write a host and a port, such as app:8080"
    } else {
        "write a host and a port, such as app:8080 or [::1]:8080"
    };
    help.to_owned()
}

fn scheme_help(scheme: &str) -> String {
    let help = match scheme {
        "https" => "TLS to upstreams is not supported yet; write http:// if the network between is trusted",
        "ws" => "write http://; WebSockets are passed on as they are",
        "wss" => "write https://, once it is supported; WebSockets are passed on as they are",
        _ => "write http:// or h2c://, or no scheme",
    };
    help.to_owned()
}

fn unsupported(name: &Token, cx: &mut Cx<'_>) {
    let text = cx.quote(name);
    if LATER.contains(&name.text.as_str()) || name.text.starts_with('@') {
        let help = format!("supported so far: {}", SUPPORTED.join(", "));
        cx.error(
            name.span,
            format!("`{text}` is not supported yet in `reverse_proxy`"),
            help,
        );
    } else {
        let help = did_you_mean(&name.text, SUPPORTED)
            .unwrap_or_else(|| format!("supported here: {}", SUPPORTED.join(", ")));
        cx.error(name.span, format!("unknown subdirective `{text}`"), help);
    }
}
