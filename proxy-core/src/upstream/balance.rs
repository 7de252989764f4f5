//! Which of several upstreams takes a request: rules without sockets, clocks or randomness of their own.
//!
//! A rule sees its upstreams as [`Candidates`] and gives the place of one of them. What it counts from one request to
//! the next is its own and atomic, so that all workers follow one rule.

mod hash;
mod least;
mod random;
mod round_robin;
#[cfg(test)]
mod tests;
mod weighted;

pub(crate) use self::hash::Bound;
pub(crate) use self::round_robin::{Schedule, Turn};

/// The upstreams of one proxy as a rule sees them, in the order of the configuration.
pub(crate) trait Candidates {
    /// How many there are, available or not.
    fn len(&self) -> usize;

    /// Whether the one at `index` may be chosen now.
    fn is_free(&self, index: usize) -> bool;

    /// Its requests in flight.
    fn load(&self, index: usize) -> u32;

    /// How long its answers take, in nanoseconds; 0 as long as none is known.
    fn latency(&self, index: usize) -> f64;

    /// Whether some are to have larger shares than others, by the rules that go by chance or turns.
    fn is_weighted(&self) -> bool {
        false
    }

    /// Its share beside the others, if there are weights.
    fn weight(&self, _index: usize) -> u16 {
        1
    }

    /// What it is told apart by, such as `127.0.0.1:8080`.
    fn label(&self, index: usize) -> &str;
}

/// A rule of choice.
#[derive(Debug)]
pub(crate) enum Rule {
    /// Any one, all equally likely.
    Random,
    /// Of so many chosen at random, the one with the fewest requests in flight.
    RandomChoose(usize),
    /// The one with the fewest requests in flight; any of several that have as few.
    LeastConn,
    /// Of two chosen at random, the one that is likely to answer sooner: the latency of its answers times its requests
    /// in flight with this one.
    PeakEwma,
    /// One after the other.
    RoundRobin(Turn),
    /// One after the other, each as often as its weight says.
    Weighted(Schedule, Turn),
    /// The first one.
    First,
    /// The one that a key leads to, by rendezvous hashing: when an upstream goes, only its keys move; when one comes,
    /// only the keys that it takes.
    Hash(Option<Bound>),
}

// === impl Rule ===

impl Rule {
    /// The place of the candidate for a request; `None` if none is free. `key` is what the request is hashed by, and
    /// `random` gives a new number with each call.
    pub(crate) fn choose(
        &self,
        among: &impl Candidates,
        key: &str,
        random: &mut impl FnMut() -> u64,
    ) -> Option<usize> {
        match self {
            Self::Random if among.is_weighted() => weighted::at(random(), among),
            Self::Random => random::any(among, random),
            Self::RandomChoose(count) => random::fewest_of(*count, among, random),
            Self::LeastConn => least::loaded(among, random),
            Self::PeakEwma => least::expected_of_two(among, random),
            Self::RoundRobin(turn) if among.is_weighted() => {
                weighted::at(weighted::of_turn(turn.next()), among)
            }
            Self::RoundRobin(turn) => round_robin::next(turn, among),
            Self::Weighted(schedule, turn) => schedule.next(turn, among),
            Self::First => free(among).next(),
            Self::Hash(bound) => hash::choose(bound.as_ref(), among, key),
        }
    }
}

/// The places of those that are free.
fn free(among: &impl Candidates) -> impl Iterator<Item = usize> {
    (0..among.len()).filter(|index| among.is_free(*index))
}

/// A number below `bound`, which is not 0.
fn below(bound: usize, random: &mut impl FnMut() -> u64) -> usize {
    usize::try_from(random() % (bound as u64).max(1)).unwrap_or(0)
}
