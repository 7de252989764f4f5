//! Who does what, case by case and in sums.

use std::fmt::Write as _;

use super::cases::{Case, Table};
use super::outcome::Outcome;
use crate::bench::peers::Proxy;

/// What one proxy made of all cases, in their order.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) proxy: Proxy,
    pub(super) version: String,
    pub(super) outcomes: Vec<Outcome>,
}

/// All cases with what became of them.
#[derive(Debug)]
pub(super) struct Report<'a> {
    columns: &'a [Column],
    tables: Vec<(&'a str, Vec<Row<'a>>)>,
}

#[derive(Debug)]
struct Row<'a> {
    case: &'a Case,
    /// That of Doorway first.
    outcomes: Vec<&'a Outcome>,
}

// === impl Report ===

impl<'a> Report<'a> {
    pub(super) fn new(tables: &'a [Table], columns: &'a [Column]) -> Self {
        let mut at = 0;
        let rows = |table: &'a Table| {
            let row = |case| {
                let outcomes = columns.iter().filter_map(|column| column.outcomes.get(at));
                let outcomes = outcomes.collect();
                at += 1;
                Row { case, outcomes }
            };
            (table.title.as_str(), table.cases.iter().map(row).collect())
        };
        let tables = tables.iter().map(rows).collect();
        Self { columns, tables }
    }

    /// Each case, or only those about which the proxies disagree.
    pub(super) fn cases(&self, all: bool) -> String {
        let mut text = String::new();
        for row in self.rows().filter(|row| all || row.is_disputed()) {
            let _infallible = writeln!(text, "{} [{}]", row.case.id, short(&row.case.written));
            for (column, outcome) in self.columns.iter().zip(&row.outcomes) {
                let _infallible = writeln!(text, "    {:8} {outcome}", column.proxy.name());
            }
        }
        text
    }

    /// How many cases of each kind each proxy refuses.
    pub(super) fn summary(&self) -> String {
        let mut text = format!("{:62} {:>6}", "refused, of cases", "all");
        for column in self.columns {
            let _infallible = write!(text, " {:>8}", column.proxy.name());
        }
        text.push('\n');
        for (title, rows) in &self.tables {
            let _infallible = write!(text, "{title:62.62} {:>6}", rows.len());
            for count in self.refused(rows) {
                let _infallible = write!(text, " {count:>8}");
            }
            text.push('\n');
        }
        text
    }

    /// The same as a part of the manual, with the cases about which Doorway is alone.
    pub(super) fn document(&self) -> String {
        let mut text = "| Requests | Cases".to_owned();
        for column in self.columns {
            let _infallible = write!(text, " | {}", column.proxy.name());
        }
        text.push_str(" |\n|---|---:");
        text.push_str(&"|---:".repeat(self.columns.len()));
        text.push_str("|\n");
        for (title, rows) in &self.tables {
            let _infallible = write!(text, "| {title} | {}", rows.len());
            for count in self.refused(rows) {
                let _infallible = write!(text, " | {count}");
            }
            text.push_str(" |\n");
        }
        let others = self.columns.iter().skip(1);
        let others: Vec<String> = others
            .map(|column| format!("{} {}", column.proxy, number(&column.version)))
            .collect();
        let _infallible = writeln!(text, "\nThe others are {}.", others.join(", "));
        let lenient: Vec<&Row<'_>> = self.rows().filter(|row| row.is_lenient()).collect();
        if !lenient.is_empty() {
            text.push_str("\nWhat Doorway serves although at least two of the others refuse it:\n\n");
        }
        for row in lenient {
            let _infallible = write!(text, "- {}, `` {} ``:", row.case.id, short(&row.case.written));
            let names = self.columns.iter().zip(&row.outcomes).skip(1);
            let names = names.map(|(column, outcome)| {
                let does = match (outcome.is_refused(), outcome.status) {
                    (false, _) => "serves it".to_owned(),
                    (true, Some(status)) => status.to_string(),
                    (true, None) => "ends it".to_owned(),
                };
                format!(" {} {does}", column.proxy.name())
            });
            let _infallible = writeln!(text, "{}", names.collect::<Vec<_>>().join(","));
        }
        text
    }

    /// What only Doorway forwards, but for the names of `on_purpose`.
    pub(super) fn alone(&self, on_purpose: &[(&str, &str)]) -> Vec<String> {
        let expected = |row: &&Row<'_>| on_purpose.iter().all(|(id, _)| *id != row.case.id);
        let alone = self.rows().filter(|row| row.is_alone()).filter(expected);
        alone
            .map(|row| format!("{} [{}]", row.case.id, row.case.written))
            .collect()
    }

    fn rows(&self) -> impl Iterator<Item = &Row<'a>> {
        self.tables.iter().flat_map(|(_, rows)| rows)
    }

    fn refused(&self, rows: &[Row<'_>]) -> Vec<usize> {
        let count = |column: usize| {
            let of = rows.iter().filter_map(|row| row.outcomes.get(column));
            of.filter(|outcome| outcome.is_refused()).count()
        };
        (0..self.columns.len()).map(count).collect()
    }
}

// === impl Row ===

impl Row<'_> {
    /// Whether some forward more than others.
    fn is_disputed(&self) -> bool {
        let forwarded = |outcome: &&Outcome| (outcome.is_refused(), outcome.forwarded.len());
        let mut seen = self.outcomes.iter().map(forwarded);
        let first = seen.next();
        seen.any(|other| Some(other) != first)
    }

    /// Whether Doorway serves it and at least two others do not.
    fn is_lenient(&self) -> bool {
        let Some((doorway, peers)) = self.outcomes.split_first() else {
            return false;
        };
        !doorway.is_refused() && peers.iter().filter(|peer| peer.is_refused()).count() >= 2
    }

    /// Whether more of it reaches the origin through Doorway than through any other proxy.
    fn is_alone(&self) -> bool {
        let Some((doorway, peers)) = self.outcomes.split_first() else {
            return false;
        };
        let most = peers.iter().map(|peer| peer.forwarded.len()).max();
        most.is_some_and(|most| doorway.forwarded.len() > most)
    }
}

/// The number in what a program says of its version.
fn number(version: &str) -> &str {
    let begins = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    version
        .split([' ', '/', '-', 'v'])
        .find(|word| begins(word))
        .unwrap_or(version)
}

fn short(written: &str) -> String {
    written.chars().take(110).collect()
}

#[cfg(test)]
mod tests;
