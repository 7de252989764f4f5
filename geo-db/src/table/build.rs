//! From prefixes to disjoint ranges.

use std::collections::BTreeMap;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::{Counts, Id, MAX_COUNTRIES, MAX_IPV6_PREFIX, NONE, Table, TableError, ipv4, ipv6};
use crate::CountryCode;

/// Collects prefixes, in the order in which later ones win.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    ids: BTreeMap<CountryCode, Id>,
    /// By id less one.
    counts: Vec<(CountryCode, Counts)>,
    ipv4: Vec<Ipv4Prefix>,
    ipv6: Vec<Ipv6Prefix>,
}

/// Start, length and id in one word: hundreds of thousands of these are held and sorted.
#[derive(Clone, Copy, Debug)]
struct Ipv4Prefix(u64);

/// An IPv6 prefix of at most 64 bits.
#[derive(Clone, Copy, Debug)]
struct Ipv6Prefix {
    start: u64,
    length: u8,
    id: Id,
}

/// A prefix as a range of numbers, both ends included.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: u64,
    last: u64,
    id: Id,
}

/// Turns the steps of a sweep into ranges: of several that begin at one number only the last counts, and neighbours of
/// one country are one range.
struct Ranges<F> {
    emit: F,
    pending: (u64, Id),
    previous: Option<Id>,
}

// === impl Builder ===

impl Builder {
    /// The id to [`Builder::add`] prefixes of a country with.
    pub(crate) fn country(&mut self, code: CountryCode) -> Result<Id, TableError> {
        if let Some(id) = self.ids.get(&code) {
            return Ok(*id);
        }
        if self.counts.len() >= MAX_COUNTRIES {
            return Err(TableError::Countries);
        }
        self.counts.push((code, Counts::default()));
        let id = Id::try_from(self.counts.len()).map_err(|_| TableError::Countries)?;
        self.ids.insert(code, id);
        Ok(id)
    }

    pub(crate) fn add(&mut self, prefix: IpNet, id: Id) -> Result<(), TableError> {
        match prefix {
            IpNet::V4(prefix) => self.add_ipv4(prefix, id),
            IpNet::V6(prefix) => return self.add_ipv6(prefix, id),
        }
        Ok(())
    }

    pub(crate) fn add_ipv4(&mut self, prefix: Ipv4Net, id: Id) {
        self.ipv4.push(Ipv4Prefix::new(prefix, id));
        if let Some(counts) = self.counts_of(id) {
            counts.ipv4 = counts.ipv4.saturating_add(1);
        }
    }

    pub(crate) fn add_ipv6(&mut self, prefix: Ipv6Net, id: Id) -> Result<(), TableError> {
        self.ipv6.push(Ipv6Prefix::new(prefix, id)?);
        if let Some(counts) = self.counts_of(id) {
            counts.ipv6 = counts.ipv6.saturating_add(1);
        }
        Ok(())
    }

    /// How many prefixes were added.
    pub(crate) fn len(&self) -> usize {
        self.ipv4.len().saturating_add(self.ipv6.len())
    }

    fn counts_of(&mut self, id: Id) -> Option<&mut Counts> {
        let index = usize::from(id).checked_sub(1)?;
        self.counts.get_mut(index).map(|(_, counts)| counts)
    }

    pub(crate) fn build(mut self) -> Result<Table, TableError> {
        // Twice as many boundaries as prefixes at most, plus the first; the ranges count them in 32 bits.
        let most = self.ipv4.len().max(self.ipv6.len());
        if most.saturating_mul(2) >= u32::MAX as usize {
            return Err(TableError::Prefixes);
        }

        // A prefix comes before those inside of it, and equal ones keep their order: the sorts must be stable.
        self.ipv4.sort_by_key(|prefix| prefix.order());
        let mut ipv4 = ipv4::Builder::default();
        let spans = self.ipv4.iter().map(|prefix| prefix.span());
        sweep(spans, u64::from(u32::MAX), |first, id| ipv4.push(first, id));
        self.ipv4 = Vec::new();

        self.ipv6.sort_by_key(|prefix| prefix.order());
        let mut ipv6 = ipv6::Builder::default();
        let spans = self.ipv6.iter().map(|prefix| prefix.span());
        sweep(spans, u64::MAX, |first, id| ipv6.push(first, id));
        self.ipv6 = Vec::new();

        let mut codes = [None; 256];
        for (slot, (code, _)) in codes.iter_mut().skip(1).zip(&self.counts) {
            *slot = Some(*code);
        }
        self.counts.retain(|(_, counts)| counts.total() > 0);
        self.counts.sort_unstable_by_key(|(code, _)| *code);
        Ok(Table {
            ipv4: ipv4.build(),
            ipv6: ipv6.build(),
            codes,
            counts: self.counts.into_boxed_slice(),
        })
    }
}

// === impl Ipv4Prefix ===

impl Ipv4Prefix {
    fn new(prefix: Ipv4Net, id: Id) -> Self {
        let start = u64::from(prefix.network().to_bits());
        Self(start << 32 | u64::from(prefix.prefix_len()) << 8 | u64::from(id))
    }

    fn order(self) -> u64 {
        self.0 >> 8
    }

    fn span(self) -> Span {
        let [.., length, id] = self.0.to_be_bytes();
        let first = self.0 >> 32;
        let host = u32::MAX.checked_shr(u32::from(length)).unwrap_or(0);
        Span {
            first,
            last: first | u64::from(host),
            id,
        }
    }
}

// === impl Ipv6Prefix ===

impl Ipv6Prefix {
    fn new(prefix: Ipv6Net, id: Id) -> Result<Self, TableError> {
        let length = prefix.prefix_len();
        if length > MAX_IPV6_PREFIX {
            return Err(TableError::TooLong { prefix });
        }
        let start = (prefix.network().to_bits() >> 64) as u64;
        Ok(Self { start, length, id })
    }

    fn order(self) -> (u64, u8) {
        (self.start, self.length)
    }

    fn span(self) -> Span {
        let host = u64::MAX.checked_shr(u32::from(self.length)).unwrap_or(0);
        Span {
            first: self.start,
            last: self.start | host,
            id: self.id,
        }
    }
}

/// Emits where each range begins, and its country, in order and from 0 on. `spans` nest or are disjoint, each comes
/// before those inside of it, and none goes beyond `max`.
fn sweep(spans: impl Iterator<Item = Span>, max: u64, emit: impl FnMut(u64, Id)) {
    let mut ranges = Ranges {
        emit,
        pending: (0, NONE),
        previous: None,
    };
    let mut open: Vec<Span> = Vec::new();
    for span in spans {
        close(&mut open, &mut ranges, max, |last| last < span.first);
        ranges.begin(span.first, span.id);
        open.push(span);
    }
    close(&mut open, &mut ranges, max, |_| true);
    ranges.flush();
}

/// Leaves the innermost spans for as long as they are `over`: what is behind each belongs to the one around it.
fn close<F: FnMut(u64, Id)>(
    open: &mut Vec<Span>,
    ranges: &mut Ranges<F>,
    max: u64,
    over: impl Fn(u64) -> bool,
) {
    while let Some(span) = open.pop_if(|span| over(span.last)) {
        if span.last < max {
            let around = open.last().map_or(NONE, |around| around.id);
            ranges.begin(span.last.saturating_add(1), around);
        }
    }
}

// === impl Ranges ===

impl<F: FnMut(u64, Id)> Ranges<F> {
    fn begin(&mut self, first: u64, id: Id) {
        if first > self.pending.0 {
            self.flush();
        }
        self.pending = (first, id);
    }

    fn flush(&mut self) {
        let (first, id) = self.pending;
        if self.previous != Some(id) {
            (self.emit)(first, id);
            self.previous = Some(id);
        }
    }
}
