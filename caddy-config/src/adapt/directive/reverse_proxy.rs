//! `reverse_proxy [matcher] UPSTREAM... { ... }`: forwards requests.

mod address;
mod balancing;
mod breaker;
mod consul;
mod dynamic;
mod health;
mod responses;
mod transport;
mod trust_pool;

pub(super) use self::trust_pool::{certificates, trust_pool};
use self::{
    address::{MAX_UPSTREAMS, Scheme},
    responses::Responses,
};
use super::{
    super::{
        args::Args,
        cx::Cx,
        matcher::Scope,
        server_options::ranges,
        values::{Once, block, duration},
    },
    header::{operation, split_sign, warn_of_cancelled},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{
        BufferSize, FlushInterval, Handler, HeaderOps, HttpTransport, HttpVersion, ReverseProxy, Transport,
        Upstream, UpstreamTls,
    },
    support::Area,
    units,
};

/// Subdirectives that may stand several times.
const REPEATED: [&str; 10] = [
    "dynamic",
    "dynamic_upstreams",
    "handle_response",
    "header_down",
    "header_up",
    "lb_retry_match",
    "replace_status",
    "to",
    "trusted_proxies",
    "unhealthy_status",
];

#[derive(Debug, Default)]
struct Reader<'l> {
    proxy: ReverseProxy,
    scheme: Scheme,
    transport: Option<HttpTransport>,
    responses: Responses<'l>,
}

pub(super) fn read(args: Args<'_>, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let lines: Vec<&Line> = args.block().iter().collect();
    Some(Handler::ReverseProxy(Box::new(proxy(args, &lines, scope, cx))))
}

/// The proxy itself, with these lines of its block; `forward_auth` is one too, and keeps lines for itself.
pub(super) fn proxy(args: Args<'_>, lines: &[&Line], scope: &Scope<'_>, cx: &mut Cx<'_>) -> ReverseProxy {
    let mut reader = Reader::default();
    for upstream in args.rest() {
        reader.upstream(upstream, cx);
    }
    let mut once = Once::default();
    for &line in lines {
        let name = line.name.text.as_str();
        if name.starts_with('@') {
            reader.responses.define(line, cx);
        } else if cx.is_supported(Area::ReverseProxy, &line.name) {
            if !REPEATED.contains(&name) {
                once.note(&line.name, cx);
            }
            reader.line(line, cx);
        }
    }
    if args.rest().is_empty() && lines.is_empty() {
        let help = "every request will be answered with an error; name an upstream".to_owned();
        cx.warn(args.name().span, "no upstream to forward to", help);
    }
    let proxy = reader.finish(args.name(), scope, cx);
    let headers = proxy.headers.as_ref();
    let request = headers.and_then(|headers| headers.request.as_ref());
    let response = headers.and_then(|headers| headers.response.as_ref());
    for ops in request.into_iter().chain(response.map(|response| &response.ops)) {
        warn_of_cancelled(ops, args.name(), cx);
    }
    proxy
}

// === impl Reader ===

impl<'l> Reader<'l> {
    fn line(&mut self, line: &'l Line, cx: &mut Cx<'_>) {
        let proxy = &mut self.proxy;
        match line.name.text.as_str() {
            "to" => {
                for upstream in cx.some(line, "an upstream").unwrap_or_default() {
                    self.upstream(upstream, cx);
                }
            }
            "breaker" => proxy.circuit_breaker = breaker::read(line, cx),
            "dynamic" | "dynamic_upstreams" => dynamic::read(line, &mut proxy.dynamic_upstreams, cx),
            "flush_interval" => proxy.flush_interval = flush_interval(line, cx),
            "handle_response" => self.responses.handle(line),
            "header_up" => header_op(line, request_ops(proxy), cx),
            "header_down" => header_op(line, response_ops(proxy), cx),
            "method" => {
                if let Some(arg) = cx.one(line, "a method") {
                    cx.check(arg, check::method(&arg.text));
                    proxy.rewrite.get_or_insert_default().method = Some(arg.text.clone());
                }
            }
            "replace_status" => self.responses.replace_status(line, cx),
            "request_buffers" => proxy.request_buffers = buffer_size(line, cx),
            "response_buffers" => proxy.response_buffers = buffer_size(line, cx),
            "rewrite" => {
                if let Some(arg) = cx.one(line, "a path") {
                    cx.check_value(arg, check::template(&arg.text));
                    proxy.rewrite.get_or_insert_default().uri = Some(arg.text.clone());
                }
            }
            "stream_buffer_size" => proxy.stream_buffer_size = bytes(line, cx),
            "stream_close_delay" => proxy.stream_close_delay = duration(line, cx),
            "stream_timeout" => proxy.stream_timeout = duration(line, cx),
            "transport" => self.transport = transport::read(line, cx),
            "trusted_proxies" => {
                let args = cx.some(line, "a network, such as 10.0.0.0/8").unwrap_or_default();
                proxy.trusted_proxies.extend(ranges(args, cx));
            }
            "verbose_logs" => {
                cx.nothing(line);
                proxy.verbose_logs = true;
            }
            name if name.starts_with("lb_") => {
                balancing::read(line, proxy.load_balancing.get_or_insert_default(), cx);
            }
            _ => health::read(line, proxy.health_checks.get_or_insert_default(), cx),
        }
    }

    fn upstream(&mut self, token: &Token, cx: &mut Cx<'_>) {
        let Some((scheme, dials)) = address::parse(token, cx) else {
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
        self.proxy.upstreams.extend(dials.into_iter().map(Upstream::from));
    }

    fn finish(self, name: &Token, scope: &Scope<'_>, cx: &mut Cx<'_>) -> ReverseProxy {
        let Self {
            mut proxy,
            scheme,
            mut transport,
            responses,
        } = self;
        match scheme {
            Scheme::None => {}
            Scheme::Http => {
                if transport.as_ref().is_some_and(|http| http.tls.is_some()) {
                    let help = "write https:// before the upstreams, or remove the options of TLS".to_owned();
                    cx.error(
                        name.span,
                        "the transport speaks TLS, and the upstreams are http://",
                        help,
                    );
                }
            }
            Scheme::Https => {
                let http = transport.get_or_insert_default();
                http.tls.get_or_insert_with(UpstreamTls::default);
            }
            Scheme::H2c => {
                transport.get_or_insert_default().versions = vec![HttpVersion::H2c, HttpVersion::Http2];
            }
        }
        proxy.transport = transport
            .filter(|http| *http != HttpTransport::default())
            .map(|http| Transport::Http(Box::new(http)));
        health::warn_of_useless(name, proxy.health_checks.as_ref(), cx);
        proxy.handle_response = responses.finish(scope, cx);
        proxy
    }
}

fn request_ops(proxy: &mut ReverseProxy) -> &mut HeaderOps {
    let headers = proxy.headers.get_or_insert_default();
    headers.request.get_or_insert_default()
}

fn response_ops(proxy: &mut ReverseProxy) -> &mut HeaderOps {
    let headers = proxy.headers.get_or_insert_default();
    &mut headers.response.get_or_insert_default().ops
}

/// `[+|-]FIELD [VALUE|PATTERN [REPLACEMENT]]`.
fn header_op(line: &Line, ops: &mut HeaderOps, cx: &mut Cx<'_>) {
    let Some((field, values)) = cx.some(line, "a field").and_then(<[_]>::split_first) else {
        return;
    };
    if let (Some('?'), _) = split_sign(&field.text) {
        let name = cx.quote(&line.name);
        let help =
            "for a field that is set where it is missing, write `header ?FIELD VALUE` in the site".to_owned();
        return cx.error(field.span, format!("`?` is not possible in `{name}`"), help);
    }
    operation(ops, field, values, cx);
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

/// A size, or `unlimited`.
fn buffer_size(line: &Line, cx: &mut Cx<'_>) -> Option<BufferSize> {
    let arg = cx.one(line, "a size, such as 4KiB, or `unlimited`")?;
    if arg.text == "unlimited" {
        return Some(BufferSize::Unlimited);
    }
    let size = units::size(&arg.text).and_then(|size| u32::try_from(size).ok());
    cx.check(arg, size.ok_or("expected a size, such as 4KiB, or `unlimited`"))
        .filter(|size| *size != 0)
        .map(BufferSize::Bytes)
}

/// A size that is not zero.
fn bytes(line: &Line, cx: &mut Cx<'_>) -> Option<u32> {
    let size = super::super::values::size(line, cx)?;
    u32::try_from(size).ok()
}
