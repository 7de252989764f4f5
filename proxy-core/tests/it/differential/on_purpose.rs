//! Differences that are meant, as `on_purpose.txt` lists them.
//!
//! A difference is a block: `# reason`, `where CONFIGURATION REQUEST`, then `- line` for what Caddy alone has and
//! `+ line` for what Doorway alone has. Everywhere `*` stands for any text. A block applies to an answer when each of
//! its lines is found among those that differ, and takes them away; one that applies nowhere is a fault.

use super::answers::Answers;

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Differences(Vec<Difference>);

#[derive(Debug, Default)]
struct Difference {
    reason: String,
    configuration: String,
    request: String,
    caddy: Vec<String>,
    doorway: Vec<String>,
    used: bool,
}

// === impl Differences ===

impl Differences {
    pub(crate) fn parse(text: &str) -> Self {
        let blocks = text
            .split("\n\n")
            .map(str::trim)
            .filter(|block| !block.is_empty());
        Self(blocks.map(Difference::parse).collect())
    }

    /// What differs although nobody meant it, one text for each answer.
    pub(crate) fn between(&mut self, configuration: &str, caddy: &Answers, doorway: &Answers) -> Vec<String> {
        assert_eq!(
            caddy.names(),
            doorway.names(),
            "{configuration}: the answers were recorded for other requests"
        );
        let mut faults = Vec::new();
        for name in caddy.names() {
            let (mut less, mut more) = (caddy.lines(name).to_vec(), doorway.lines(name).to_vec());
            take_common(&mut less, &mut more);
            for difference in &mut self.0 {
                difference.take(configuration, name, &mut less, &mut more);
            }
            let lines = less.iter().map(|line| format!("\n  - {line}"));
            let lines = lines.chain(more.iter().map(|line| format!("\n  + {line}")));
            let lines: String = lines.collect();
            if !lines.is_empty() {
                faults.push(format!("== {configuration} {name}{lines}"));
            }
        }
        faults
    }

    /// Differences that were not met: they are none, or none any more.
    pub(crate) fn unused(&self) -> Vec<String> {
        let unused = self.0.iter().filter(|difference| !difference.used);
        unused
            .map(|one| {
                format!(
                    "== no such difference: {} {}: {}",
                    one.configuration, one.request, one.reason
                )
            })
            .collect()
    }
}

// === impl Difference ===

impl Difference {
    fn parse(block: &str) -> Self {
        let mut difference = Self::default();
        for line in block.lines() {
            if let Some(reason) = line.strip_prefix("# ") {
                difference.reason.push_str(reason);
                difference.reason.push(' ');
            } else if let Some(place) = line.strip_prefix("where ") {
                let (configuration, request) = place.split_once(' ').expect("a configuration and a request");
                (difference.configuration, difference.request) =
                    (configuration.to_owned(), request.to_owned());
            } else if let Some(line) = line.strip_prefix("- ") {
                difference.caddy.push(line.to_owned());
            } else if let Some(line) = line.strip_prefix("+ ") {
                difference.doorway.push(line.to_owned());
            } else {
                panic!("what is {line:?}?");
            }
        }
        assert!(
            !difference.reason.is_empty() && !difference.request.is_empty(),
            "a reason and a place: {block}"
        );
        assert!(
            !difference.caddy.is_empty() || !difference.doorway.is_empty(),
            "what differs: {block}"
        );
        difference
    }

    /// Takes away what is meant, if all of it is there.
    fn take(&mut self, configuration: &str, request: &str, less: &mut Vec<String>, more: &mut Vec<String>) {
        if !matches(&self.configuration, configuration) || !matches(&self.request, request) {
            return;
        }
        let found = |patterns: &[String], lines: &[String]| {
            let mut patterns = patterns.iter();
            patterns.all(|pattern| lines.iter().any(|line| matches(pattern, line)))
        };
        if !found(&self.caddy, less) || !found(&self.doorway, more) {
            return;
        }
        less.retain(|line| !self.caddy.iter().any(|pattern| matches(pattern, line)));
        more.retain(|line| !self.doorway.iter().any(|pattern| matches(pattern, line)));
        self.used = true;
    }
}

/// Takes equal lines out of both, each as often as it is in both.
fn take_common(less: &mut Vec<String>, more: &mut Vec<String>) {
    less.retain(|line| match more.iter().position(|other| other == line) {
        Some(at) => {
            more.remove(at);
            false
        }
        None => true,
    });
}

/// Whether `text` is like `pattern`, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut left) = text.strip_prefix(start) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    true
}
