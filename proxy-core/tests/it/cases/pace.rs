//! How the bytes of a case are cut into writes, and how the writes are kept apart.

use crate::support::rig::Rig;
use crate::support::wire::Wire;

/// Cases below this length are cut at every offset.
const SHORT: usize = 300;

/// How many connections one step of a case drives at once.
pub(super) const BATCH: usize = 64;

/// How the bytes of a case are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pace {
    Whole,
    /// Whole, with a clean request right behind it in the same write.
    Followed,
    /// From this offset on.
    ByteByByte(usize),
    InTwo(usize),
}

/// A connection to the proxy itself whose answers tell that it has read what was written before.
pub(super) struct Metronome(Wire);

// === impl Pace ===

impl Pace {
    /// All that cut `length` bytes from `start` on, the longest first.
    pub(super) fn all(start: usize, length: usize) -> Vec<Self> {
        let mut paces = Vec::new();
        if length < SHORT {
            paces.push(Self::ByteByByte(start));
            paces.extend((start.max(1)..length).map(Self::InTwo));
        } else {
            let offsets = [1, length / 3, length / 2, length - 1];
            paces.extend(offsets.map(Self::InTwo));
        }
        paces.push(Self::Whole);
        paces
    }

    /// The writes, in reverse order.
    pub(super) fn pieces<'b>(self, bytes: &'b [u8], next: &[u8]) -> Vec<std::borrow::Cow<'b, [u8]>> {
        match self {
            Self::Whole => vec![bytes.into()],
            Self::Followed => vec![[bytes, next].concat().into()],
            Self::ByteByByte(start) => {
                let (first, bytes) = bytes.split_at(start);
                let first = (!first.is_empty()).then_some(first);
                bytes.chunks(1).rev().chain(first).map(Into::into).collect()
            }
            Self::InTwo(at) => {
                let (first, second) = bytes.split_at(at);
                vec![second.into(), first.into()]
            }
        }
    }
}

// === impl Metronome ===

impl Metronome {
    pub(super) async fn start(rig: &Rig) -> Self {
        Self(rig.wire().await)
    }

    /// Asks the proxy, which answers by itself. It reads its connections in the order in which they became readable.
    pub(super) async fn tick(&mut self) {
        let answer = self.0.ask("OPTIONS * HTTP/1.1\r\nHost: app.test\r\n\r\n").await;
        assert_eq!(answer.head.status(), 200, "the proxy answers for itself");
    }

    /// Writes one piece on each wire, lets the proxy read, and so on until all pieces are written.
    pub(super) async fn write(
        &mut self,
        wires: &mut [Wire],
        mut pieces: Vec<Vec<std::borrow::Cow<'_, [u8]>>>,
    ) {
        loop {
            let mut more = false;
            for (wire, pieces) in wires.iter_mut().zip(&mut pieces) {
                if let Some(piece) = pieces.pop()
                    && wire.try_send(&piece).await.is_err()
                {
                    // The other side had seen enough.
                    pieces.clear();
                }
                more |= !pieces.is_empty();
            }
            if !more {
                return;
            }
            self.tick().await;
        }
    }
}

/// How many bytes each case has in common with the one before it: cut there, they are no two cases.
pub(super) fn shared<'b>(cases: impl Iterator<Item = &'b [u8]> + Clone) -> impl Iterator<Item = usize> {
    let before = std::iter::once(b"".as_slice()).chain(cases.clone());
    let equal = |(before, case): (&[u8], &[u8])| before.iter().zip(case).take_while(|(a, b)| a == b).count();
    before.zip(cases).map(equal)
}
