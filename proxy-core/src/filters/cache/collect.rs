//! The body of an answer on its way to a client, and into the store if all of it comes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use eskip::filters::{BoxError, StreamBody};
use http_body::{Body as HttpBody, SizeHint};

use super::store::{Entry, Key, MOST_OF_ONE, Store};
use crate::filters::bodies::Polled;

/// An answer that is to be kept.
pub(super) struct Collected {
    store: Arc<Store>,
    key: Key,
    entry: Option<Entry>,
    body: BytesMut,
}

struct Collecting {
    body: StreamBody,
    collected: Collected,
}

// === impl Collected ===

impl Collected {
    pub(super) fn new(store: Arc<Store>, key: Key, entry: Entry) -> Self {
        let (entry, body) = (Some(entry), BytesMut::new());
        Self {
            store,
            key,
            entry,
            body,
        }
    }

    /// Keeps the answer with this body, once it has come to its end.
    pub(super) fn of(mut self, body: StreamBody) -> StreamBody {
        if body.is_end_stream() {
            self.finish();
            return body;
        }
        Box::pin(Collecting {
            body,
            collected: self,
        })
    }

    fn add(&mut self, data: &Bytes) {
        if self.body.len() + data.len() > MOST_OF_ONE {
            self.give_up();
        } else if self.entry.is_some() {
            self.body.extend_from_slice(data);
        }
    }

    fn finish(&mut self) {
        if let Some(entry) = self.entry.take() {
            let body = std::mem::take(&mut self.body).freeze();
            self.store.insert(self.key.clone(), entry, body);
        }
    }

    fn give_up(&mut self) {
        if self.entry.take().is_some() {
            self.body = BytesMut::new();
            self.store.asked_in_vain(&self.key);
        }
    }
}

impl Drop for Collected {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl HttpBody for Collecting {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let frame = ready!(self.body.as_mut().poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => match frame.data_ref() {
                Some(data) => {
                    self.collected.add(data);
                    if self.body.is_end_stream() {
                        self.collected.finish();
                    }
                }
                // What comes behind a body is not kept, so neither is the body.
                None => self.collected.give_up(),
            },
            Some(Err(_)) => self.collected.give_up(),
            None => self.collected.finish(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
