//! One exchange on a connection, and whether the connection may have another.

/// What was received and what was sent of an exchange. A connection goes on only behind two whole messages whose
/// peer wants it to: whatever else happens, it is of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    received: bool,
    sent: bool,
    keep_alive: bool,
}

// === impl Turn ===

impl Turn {
    /// An exchange has begun.
    pub(crate) fn new() -> Self {
        Self {
            received: false,
            sent: false,
            keep_alive: true,
        }
    }

    /// The other side's message was read to its end.
    pub(crate) fn received_all(&mut self) {
        self.received = true;
    }

    /// Our message was written to its end.
    pub(crate) fn sent_all(&mut self) {
        self.sent = true;
    }

    /// One side said, or something showed, that this exchange is the last one.
    pub(crate) fn is_last(&mut self) {
        self.keep_alive = false;
    }

    /// Whether [`Turn::is_last`] was called.
    pub(crate) fn is_marked_last(self) -> bool {
        !self.keep_alive
    }

    /// Whether nothing but the rest of the other side's message is missing for another exchange.
    pub(crate) fn allows_another_once_received(self) -> bool {
        self.sent && self.keep_alive
    }

    /// Whether the connection can have another exchange.
    pub(crate) fn allows_another(self) -> bool {
        self.received && self.sent && self.keep_alive
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Event {
        Received,
        Sent,
        Last,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![Just(Event::Received), Just(Event::Sent), Just(Event::Last)]
    }

    proptest! {
        #[test]
        fn only_two_whole_messages_whose_peers_go_on_allow_another(events in proptest::collection::vec(event(), 0..8)) {
            let mut turn = Turn::new();
            for event in &events {
                match event {
                    Event::Received => turn.received_all(),
                    Event::Sent => turn.sent_all(),
                    Event::Last => turn.is_last(),
                }
            }
            let met = |wanted| events.contains(&wanted);
            prop_assert_eq!(
                turn.allows_another(),
                met(Event::Received) && met(Event::Sent) && !met(Event::Last)
            );
        }
    }
}
