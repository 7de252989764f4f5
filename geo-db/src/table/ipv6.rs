//! IPv6 ranges: an index on the 16 bits behind 2000::/3, the global unicast space, then the upper 64 bits of where
//! ranges begin.

use super::{Id, NONE};

/// One place for each /19 of 2000::/3, and the end.
const INDEX: usize = (1 << 16) + 1;

/// All ranges of IPv6. Eight bytes and an id each.
#[derive(Debug)]
pub(super) struct Ipv6Ranges {
    /// Where the ranges that begin within each /19 of 2000::/3 stand in `starts` and `ids`.
    index: Box<[u32; INDEX]>,
    /// The upper 64 bits of where each range begins; the lower ones are 0.
    starts: Box<[u64]>,
    /// The country of each range.
    ids: Box<[Id]>,
}

/// Takes the ranges in order.
#[derive(Debug, Default)]
pub(super) struct Builder {
    index: Vec<u32>,
    starts: Vec<u64>,
    ids: Vec<Id>,
}

// === impl Ipv6Ranges ===

impl Ipv6Ranges {
    /// The country of the range that holds the addresses whose upper half is `address`.
    pub(super) fn lookup(&self, address: u64) -> Id {
        let (from, to) = self.bounds(address);
        let Some(starts) = self.starts.get(from..to) else {
            return NONE;
        };
        let before = starts.partition_point(|start| *start <= address);
        // The first range of all begins at ::, so that there always is one at or before the address.
        let range = from.wrapping_add(before).wrapping_sub(1);
        self.ids.get(range).copied().unwrap_or(NONE)
    }

    /// Where the ranges stand that the one at or before `address` is among, or the one right before them.
    fn bounds(&self, address: u64) -> (usize, usize) {
        let at = |place: usize| self.index.get(place).map_or(0, |from| *from as usize);
        match address >> 61 {
            0 => (0, at(0)),
            1 => {
                let place = place(address);
                (at(place), at(place.wrapping_add(1)))
            }
            _ => (at(INDEX.wrapping_sub(1)), self.starts.len()),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.index)
            .saturating_add(size_of_val(&*self.starts))
            .saturating_add(size_of_val(&*self.ids))
    }
}

// === impl Builder ===

impl Builder {
    /// Appends the range that begins at `first`, the upper half of an address.
    pub(super) fn push(&mut self, first: u64, id: Id) {
        match first >> 61 {
            0 => {}
            1 => self.fill(place(first)),
            _ => self.fill(INDEX.wrapping_sub(1)),
        }
        self.starts.push(first);
        self.ids.push(id);
    }

    pub(super) fn build(mut self) -> Ipv6Ranges {
        self.fill(INDEX.wrapping_sub(1));
        let index = self.index.into_boxed_slice().try_into();
        Ipv6Ranges {
            index: index.unwrap_or_else(|_| Box::new([0; INDEX])),
            starts: self.starts.into_boxed_slice(),
            ids: self.ids.into_boxed_slice(),
        }
    }

    /// All ranges before `place` have come, and its own begin here.
    fn fill(&mut self, place: usize) {
        let here = u32::try_from(self.starts.len()).unwrap_or(u32::MAX);
        let len = place.saturating_add(1).min(INDEX);
        if self.index.len() < len {
            self.index.resize(len, here);
        }
    }
}

/// The place in the index of an address within 2000::/3: the 16 bits behind its first three.
fn place(address: u64) -> usize {
    ((address >> 45) & 0xffff) as usize
}
