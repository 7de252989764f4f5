//! What the clients saw and the upstreams counted, in numbers.

use std::fmt;
use std::time::Duration;

use super::clients::{Outcome, Sample};
use super::upstream::{Reached, Times as Sent};

/// So many lost requests are told of one by one.
const SHOWN: usize = 20;

/// The sums.
#[derive(Debug, Default)]
pub(super) struct Figures {
    all: u64,
    whole: u64,
    /// Answers that were seen to be cut: their head had gone when the upstream failed.
    cut: u64,
    /// POSTs that failed after an upstream had read them, which nobody may send again.
    failed_posts: u64,
    /// POSTs that were sent to an upstream that crashed before it read them. Whoever sent them cannot know that.
    unread_posts: u64,
    /// GETs without an answer, POSTs that failed without having been sent to anybody: these could have been served.
    lost: Vec<Sample>,
    /// POSTs that were sent to upstreams more than once.
    doubled: u64,
    /// Answers that look whole and are not.
    wrong: u64,
    /// Of answers that the whole upstream gave to requests which went to no other one.
    calm: Times,
    trouble: Times,
}

/// Times of answers.
#[derive(Debug, Default)]
struct Times(Vec<Duration>);

// === impl Figures ===

impl Figures {
    pub(super) fn of(seen: Vec<Sample>, reached: &Reached) -> Self {
        let mut figures = Self::default();
        for sample in seen {
            figures.add(sample, reached.times(sample.number));
        }
        figures.calm.0.sort_unstable();
        figures.trouble.0.sort_unstable();
        figures
    }

    fn add(&mut self, sample: Sample, times: Sent) {
        self.all += 1;
        self.doubled += u64::from(sample.is_post && times.read + times.unread > 1);
        match sample.outcome {
            Outcome::Whole(upstream) => {
                self.whole += 1;
                if !sample.in_trouble {
                    self.calm.0.push(sample.took);
                } else if upstream == 2 && times.read == 1 {
                    self.trouble.0.push(sample.took);
                }
            }
            Outcome::Cut => self.cut += 1,
            Outcome::Wrong => self.wrong += 1,
            Outcome::Failed(_) | Outcome::Nothing if sample.is_post && times.read > 0 => {
                self.failed_posts += 1
            }
            Outcome::Failed(_) | Outcome::Nothing if sample.is_post && times.unread > 0 => {
                self.unread_posts += 1
            }
            Outcome::Failed(_) | Outcome::Nothing => self.lost.push(sample),
        }
    }

    /// Whether nothing was lost that could have been served, and nothing came twice.
    pub(super) fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.doubled + self.wrong == 0
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  requests  {} asked, {} answered whole", self.all, self.whole)?;
        writeln!(
            f,
            "  unsafe    {} POSTs failed at an upstream, {} were sent to one that had not read them when it crashed, {} answers \
             were cut after their head",
            self.failed_posts, self.unread_posts, self.cut
        )?;
        writeln!(
            f,
            "  faults    {} lost, {} POSTs came twice, {} answers looked whole and were not",
            self.lost.len(),
            self.doubled,
            self.wrong
        )?;
        for sample in self.lost.iter().take(SHOWN) {
            writeln!(f, "            lost: {sample}")?;
        }
        writeln!(f, "  calm      {}", self.calm)?;
        writeln!(f, "  trouble   {} (of the whole upstream)", self.trouble)
    }
}

// === impl Times ===

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |share: usize| {
            self.0
                .get(self.0.len() * share / 1000)
                .copied()
                .unwrap_or_default()
        };
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        write!(
            f,
            "median {:.2} ms, 99 % {:.2} ms, 99.9 % {:.2} ms",
            millis(at(500)),
            millis(at(990)),
            millis(at(999))
        )
    }
}
