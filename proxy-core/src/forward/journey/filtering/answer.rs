//! An answer on its way back through the filters of its route.

use std::panic::{AssertUnwindSafe, catch_unwind};

use eskip::filters::{self, Answer, BodyChange, BodySlot, FilterContext, Flow, Resume};
use http::{Response, StatusCode, header};
use http_body::Body as _;

use super::super::{Journey, Next, Waited};
use super::{set_length, unless_it_panics, wrapped};
use crate::body::Body;
use crate::error::Reason;
use crate::routing::trace::Tracer;
use crate::skipper::table::Placed;

/// What a filter made of an answer.
pub(in crate::forward::journey) enum Answered {
    /// It goes on to the filter before.
    On,
    /// It has to wait.
    Waits(filters::Waiting),
    /// The request goes through the table again.
    Reroute,
    /// The filter failed.
    Panicked,
}

// === impl Journey ===

impl<'a, T: Tracer<'a>> Journey<'a, T> {
    /// Goes on with what a filter of an answer has waited for.
    pub(in crate::forward::journey) fn answer_waited(
        &mut self,
        resume: Option<Resume>,
        placed: &'a Placed,
        mut response: Response<Body>,
    ) -> Next<'a> {
        let answered = resume.map_or(Answered::Panicked, |resume| {
            self.see_answer(&mut response, resume)
        });
        match answered {
            Answered::On => self.settle(response),
            other => self.end_seeing(other, placed, response),
        }
    }

    /// The answer does not simply go on to the filter before `placed`.
    pub(in crate::forward::journey) fn end_seeing(
        &mut self,
        answered: Answered,
        placed: &'a Placed,
        response: Response<Body>,
    ) -> Next<'a> {
        let next = match answered {
            Answered::On => Some(self.settle(response)),
            Answered::Waits(waiting) => Some(Next::Wait(Box::pin(async move {
                Waited::FilterOfAnswer {
                    resume: unless_it_panics(waiting).await,
                    placed,
                    response: Box::new(response),
                }
            }))),
            Answered::Reroute if self.is_target_too_long() => self.fail(Reason::TargetTooLong.into()),
            Answered::Reroute => self.reroute(),
            Answered::Panicked => self.fail(Reason::FilterPanicked.into()),
        };
        match next {
            Some(next) => next,
            None => self.walk(),
        }
    }

    /// Lets a filter see the answer.
    pub(in crate::forward::journey) fn see_answer(
        &mut self,
        response: &mut Response<Body>,
        run: impl FnOnce(&mut FilterContext<'_>) -> Flow,
    ) -> Answered {
        let Some(filtering) = self.filtering.as_deref_mut() else {
            return Answered::On;
        };
        let is_head = filtering.is_head;
        // What a GET would bring is not known.
        let length = response.body().size_hint().exact().filter(|_| !is_head);
        let mut slot = BodySlot::new(length);
        let mut gone = BodySlot::default();
        let (mut status, mut headers) = (response.status(), std::mem::take(response.headers_mut()));
        let mut cx = FilterContext {
            request: &mut self.cx.parts,
            request_body: &mut gone,
            exchange: &mut filtering.exchange,
            response: Some(Answer {
                status: &mut status,
                headers: &mut headers,
                body: &mut slot,
            }),
            env: self.worker,
        };
        let flow = catch_unwind(AssertUnwindSafe(|| run(&mut cx)));
        *response.headers_mut() = headers;
        // What becomes another protocol stays what it is.
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            *response.status_mut() = status;
            if let Some(change) = slot.take_change() {
                change_body(response, change, is_head);
            }
        }
        match flow {
            Ok(Flow::Next) => Answered::On,
            Ok(Flow::Serve(other)) => {
                *response = other.map(Body::from);
                Answered::On
            }
            Ok(Flow::Wait(waiting)) => Answered::Waits(waiting),
            Ok(Flow::Reroute) => Answered::Reroute,
            Err(_) => Answered::Panicked,
        }
    }
}

/// The answer to a HEAD says what the one to a GET would say, and has no body: how long what a filter makes of one is
/// would be a lie about another.
fn change_body(response: &mut Response<Body>, change: BodyChange, is_head: bool) {
    match change {
        BodyChange::Wrap {
            keeps_length: false, ..
        } if is_head => {
            response.headers_mut().remove(header::CONTENT_LENGTH);
            *response.body_mut() = Body::empty();
        }
        BodyChange::Replace(new) => {
            set_length(response.headers_mut(), new.length());
            response.headers_mut().remove(header::TRANSFER_ENCODING);
            *response.body_mut() = Body::from(new);
        }
        BodyChange::Wrap { wrap, keeps_length } => {
            if !keeps_length {
                response.headers_mut().remove(header::CONTENT_LENGTH);
            }
            let body = std::mem::replace(response.body_mut(), Body::empty());
            *response.body_mut() = wrapped(body, wrap);
        }
    }
}
