//! What a `reverse_proxy` does with heads.

use caddy_config as model;

use super::balancing;
use super::compile::Compiler;
use super::handlers;
use super::routes::{self, DoorsInScope};
use crate::forward::proxy::{Answers, Proxy, Streams, Then, Up};
use crate::forward::query::Query;
use crate::ip_set::IpSet;
use crate::upstream::cluster::Source;

/// `None` if nothing is to be done.
pub(super) fn compile(
    compiler: &mut Compiler<'_>,
    proxy: &model::ReverseProxy,
    scope: &mut DoorsInScope,
    (source, queries): (&Source, Vec<Query>),
) -> Option<Box<Proxy>> {
    let is_plain = proxy.rewrite.is_none()
        && proxy.headers.is_none()
        && proxy.handle_response.is_empty()
        && proxy.trusted_proxies.is_empty()
        && proxy.load_balancing.is_none()
        && buffer(proxy.request_buffers).is_none()
        && buffer(proxy.response_buffers).is_none()
        && proxy.stream_timeout.is_none()
        && proxy.stream_close_delay.is_none()
        && proxy.stream_buffer_size.is_none()
        && queries.is_empty();
    if is_plain {
        return None;
    }
    let headers = proxy.headers.as_ref();
    let balancing = proxy.load_balancing.as_ref();
    let policy = balancing.and_then(|balancing| balancing.selection_policy.as_ref());
    let trusted: Vec<_> = proxy.trusted_proxies.iter().map(model::IpRange::net).collect();
    Some(Box::new(Proxy {
        rewrite: proxy
            .rewrite
            .as_ref()
            .map(|rewrite| handlers::rewrite(compiler, rewrite)),
        up: headers
            .and_then(|headers| headers.request.as_ref())
            .map(|ops| up(compiler, ops)),
        down: headers
            .and_then(|headers| headers.response.as_ref())
            .map(|ops| handlers::response_ops(compiler, ops)),
        answers: proxy
            .handle_response
            .iter()
            .map(|answers| self::answers(compiler, answers, scope))
            .collect(),
        trusted: (!trusted.is_empty()).then(|| IpSet::new(&trusted)),
        selection: balancing::selection(compiler, policy, source),
        resend: balancing.and_then(|balancing| balancing::resend(compiler, &balancing.retry_match)),
        request_buffer: buffer(proxy.request_buffers),
        response_buffer: buffer(proxy.response_buffers),
        streams: Streams {
            timeout: proxy.stream_timeout.filter(|limit| !limit.is_zero()),
            close_delay: proxy.stream_close_delay.unwrap_or_default(),
            buffer: proxy
                .stream_buffer_size
                .and_then(|size| usize::try_from(size).ok())
                .filter(|size| *size > 0)
                .unwrap_or(Streams::DEFAULT.buffer),
        },
        queries,
        deadline: None,
        is_silent: false,
        absolute: false,
    }))
}

/// The most bytes that are read ahead.
fn buffer(size: Option<model::BufferSize>) -> Option<u64> {
    match size? {
        model::BufferSize::Bytes(0) => None,
        model::BufferSize::Bytes(bytes) => Some(bytes.into()),
        model::BufferSize::Unlimited => Some(u64::MAX),
    }
}

fn up(compiler: &mut Compiler<'_>, ops: &model::HeaderOps) -> Up {
    let ops = handlers::ops(compiler, ops);
    Up {
        needs_request: !ops.is_fixed(),
        per_upstream: ops.asks_for_upstream(),
        ops,
    }
}

fn answers(
    compiler: &mut Compiler<'_>,
    answers: &model::ResponseHandler,
    scope: &mut DoorsInScope,
) -> Answers {
    Answers {
        only: answers
            .matcher
            .as_ref()
            .map(|matcher| handlers::response_matcher(compiler, matcher))
            .unwrap_or_default(),
        then: match &answers.status_code {
            Some(code) => Then::Status(handlers::status_or_template(compiler, code)),
            None => Then::Routes(routes::list(compiler, &answers.routes, scope)),
        },
    }
}
