//! IPv4 ranges: an index on the upper 16 bits, then the lower 16 bits of where ranges begin.

use super::{Id, NONE};

/// One place for each value of the upper 16 bits, and the end.
const INDEX: usize = (1 << 16) + 1;

/// All ranges of IPv4. Two bytes and an id each.
#[derive(Debug)]
pub(super) struct Ipv4Ranges {
    /// Where the ranges that begin within each /16 stand in `lows` and `ids`.
    index: Box<[u32; INDEX]>,
    /// The lower 16 bits of where each range begins.
    lows: Box<[u16]>,
    /// The country of each range.
    ids: Box<[Id]>,
}

/// Takes the ranges in order.
#[derive(Debug, Default)]
pub(super) struct Builder {
    index: Vec<u32>,
    lows: Vec<u16>,
    ids: Vec<Id>,
}

// === impl Ipv4Ranges ===

impl Ipv4Ranges {
    /// The country of the range that holds `address`.
    pub(super) fn lookup(&self, address: u32) -> Id {
        let high = (address >> 16) as usize;
        let low = (address & 0xffff) as u16;
        let bounds = self.index.get(high).zip(self.index.get(high.wrapping_add(1)));
        let Some((from, to)) = bounds else { return NONE };
        let (from, to) = (*from as usize, *to as usize);
        let Some(lows) = self.lows.get(from..to) else {
            return NONE;
        };
        let before = lows.partition_point(|start| *start <= low);
        // The first range of all begins at 0.0.0.0, so that there always is one at or before the address.
        let range = from.wrapping_add(before).wrapping_sub(1);
        self.ids.get(range).copied().unwrap_or(NONE)
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.index)
            .saturating_add(size_of_val(&*self.lows))
            .saturating_add(size_of_val(&*self.ids))
    }
}

// === impl Builder ===

impl Builder {
    /// Appends the range that begins at `first`, an IPv4 address as a number.
    pub(super) fn push(&mut self, first: u64, id: Id) {
        self.fill((first >> 16) as usize);
        self.lows.push((first & 0xffff) as u16);
        self.ids.push(id);
    }

    pub(super) fn build(mut self) -> Ipv4Ranges {
        self.fill(INDEX.wrapping_sub(1));
        let index = self.index.into_boxed_slice().try_into();
        Ipv4Ranges {
            index: index.unwrap_or_else(|_| Box::new([0; INDEX])),
            lows: self.lows.into_boxed_slice(),
            ids: self.ids.into_boxed_slice(),
        }
    }

    /// All ranges within the /16s before `high` have come, and its own begin here.
    fn fill(&mut self, high: usize) {
        let here = u32::try_from(self.lows.len()).unwrap_or(u32::MAX);
        let len = high.saturating_add(1).min(INDEX);
        if self.index.len() < len {
            self.index.resize(len, here);
        }
    }
}
