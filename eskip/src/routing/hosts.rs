//! The hosts that a regular expression is for, if they can be counted, and an index of routes by them.

use std::{borrow::Cow, collections::HashMap};

use foldhash::fast::FixedState;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// The most hosts of one expression that are counted.
const MOST: usize = 64;

/// Lists of fewer routes are gone through.
const LEAST: usize = 9;

/// Of a list of routes those that a host may be for, in the order of the list.
#[derive(Clone, Debug, Default)]
pub(super) struct HostIndex {
    by_host: HashMap<String, Vec<u32>, FixedState>,
    /// For every host.
    others: Vec<u32>,
}

/// What becomes of the letters of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Kept,
    /// They are made small, so that both cases of a letter are one.
    Folded,
}

// === impl HostIndex ===

impl HostIndex {
    /// An index of `routes`, whose hosts `hosts` gives, if it would save anything.
    pub(super) fn new(routes: &[u32], hosts: impl Fn(u32) -> Option<Vec<String>>) -> Option<Self> {
        if routes.len() < LEAST {
            return None;
        }
        let mut index = Self::default();
        for route in routes {
            match hosts(*route) {
                Some(mut names) => {
                    names.sort_unstable();
                    names.dedup();
                    for name in names {
                        index.by_host.entry(name).or_default().push(*route);
                    }
                }
                None => index.others.push(*route),
            }
        }
        (!index.by_host.is_empty()).then_some(index)
    }

    /// The routes for a host, given by [`name`], in their order.
    pub(super) fn routes(&self, host: &str) -> impl Iterator<Item = u32> {
        let mut named = self.by_host.get(host).map_or(&[][..], Vec::as_slice);
        let mut others = self.others.as_slice();
        std::iter::from_fn(move || {
            let takes_named = match (named.first(), others.first()) {
                (Some(one), Some(other)) => one < other,
                (one, _) => one.is_some(),
            };
            let list = if takes_named { &mut named } else { &mut others };
            let (first, rest) = list.split_first()?;
            *list = rest;
            Some(*first)
        })
    }
}

/// A host as it is looked up: in lower case, without a port and a trailing dot.
pub(super) fn name(host: &str) -> Cow<'_, str> {
    let end = match host.rfind(':') {
        // The colons of an IPv6 address stand in brackets.
        Some(colon) if !host.get(colon..).is_some_and(|rest| rest.contains(']')) => colon,
        _ => host.len(),
    };
    let bare = host.get(..end).unwrap_or(host);
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    if bare.bytes().any(|byte| byte.is_ascii_uppercase()) {
        bare.to_ascii_lowercase().into()
    } else {
        bare.into()
    }
}

/// The hosts that `regexp` can match, by their names; `None` if it may match others, too. Ports and a dot at the end,
/// which names have not, may be optional.
pub(super) fn of_regexp(regexp: &str) -> Option<Vec<String>> {
    let mut names = texts_of(regexp, Case::Folded)?;
    for text in &mut names {
        *text = name(text).into_owned();
    }
    names.sort_unstable();
    names.dedup();
    Some(names)
}

/// The hosts that `regexp` matches, where they can be told without it: it is `^`, one of a few texts, perhaps `[.]?`,
/// perhaps `(:[0-9]+)?`, and `$`. Thousands of such expressions take much memory, and comparing takes less time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    texts: Vec<String>,
    /// Whether a dot may follow.
    dot: bool,
    /// Whether a colon and digits may.
    port: bool,
}

fn texts_of(regexp: &str, case: Case) -> Option<Vec<String>> {
    alternatives(&regex_syntax::parse(regexp).ok()?, case)
}

// === impl Known ===

impl Known {
    pub(super) fn of_regexp(regexp: &str) -> Option<Self> {
        let hir = regex_syntax::parse(regexp).ok()?;
        let mut flat = Vec::new();
        flatten(std::slice::from_ref(&hir), &mut flat);
        let (middle, tail) = without_tail(between_anchors(&flat)?);
        let (dot, port) = match tail {
            [] => (false, false),
            [one] => (is_dot(one), is_colon_digits(one)),
            [dot, port] => (is_dot(dot), is_dot(dot) && is_colon_digits(port)),
            _ => return None,
        };
        let all_said = usize::from(dot).saturating_add(port.into()) == tail.len();
        Some(Self {
            texts: product(middle, Case::Kept).filter(|_| all_said)?,
            dot,
            port,
        })
    }

    pub(super) fn matches(&self, host: &str) -> bool {
        self.texts.iter().any(|text| {
            let Some(mut rest) = host.strip_prefix(text.as_str()) else {
                return false;
            };
            if self.dot {
                rest = rest.strip_prefix('.').unwrap_or(rest);
            }
            let has_port = || rest.len() > 1 && self.port && is_port(rest);
            rest.is_empty() || has_port()
        })
    }
}

// === impl Case ===

impl Case {
    fn of(self, text: &str) -> String {
        match self {
            Self::Kept => text.to_owned(),
            Self::Folded => text.to_ascii_lowercase(),
        }
    }
}

fn alternatives(hir: &Hir, case: Case) -> Option<Vec<String>> {
    match hir.kind() {
        HirKind::Capture(capture) => alternatives(&capture.sub, case),
        HirKind::Alternation(all) => {
            let mut texts = Vec::new();
            for one in all {
                texts.extend(alternatives(one, case)?);
                if texts.len() > MOST {
                    return None;
                }
            }
            Some(texts)
        }
        HirKind::Concat(parts) => {
            let mut flat = Vec::new();
            flatten(parts, &mut flat);
            anchored(&flat, case)
        }
        _ => None,
    }
}

/// The parts of a concatenation, groups being no more than their parts.
fn flatten<'h>(parts: &'h [Hir], flat: &mut Vec<&'h Hir>) {
    for part in parts {
        match part.kind() {
            HirKind::Capture(capture) => flatten(std::slice::from_ref(&capture.sub), flat),
            HirKind::Concat(inner) => flatten(inner, flat),
            _ => flat.push(part),
        }
    }
}

fn anchored(parts: &[&Hir], case: Case) -> Option<Vec<String>> {
    product(without_tail(between_anchors(parts)?).0, case)
}

/// What stands between `^` and `$`.
fn between_anchors<'p, 'h>(parts: &'p [&'h Hir]) -> Option<&'p [&'h Hir]> {
    let is = |part: &&Hir, look| matches!(part.kind(), HirKind::Look(found) if *found == look);
    let (first, rest) = parts.split_first()?;
    let (last, middle) = rest.split_last()?;
    (is(first, Look::Start) && is(last, Look::End)).then_some(middle)
}

/// The parts of a name, and what it has not.
fn without_tail<'p, 'h>(parts: &'p [&'h Hir]) -> (&'p [&'h Hir], &'p [&'h Hir]) {
    let tail = parts
        .iter()
        .rev()
        .take_while(|part| is_optional_tail(part))
        .count();
    parts.split_at(parts.len().saturating_sub(tail))
}

/// Whether a part is `[.]?` or `(:[0-9]+)?` or the like: optional, and nothing of a name.
fn is_optional_tail(part: &Hir) -> bool {
    let ports = || {
        let texts = optional(part).and_then(|parts| product(&parts, Case::Kept));
        texts.is_some_and(|texts| texts.iter().all(|text| is_port(text)))
    };
    is_dot(part) || is_colon_digits(part) || ports()
}

/// The parts of an optional part.
fn optional(part: &Hir) -> Option<Vec<&Hir>> {
    let HirKind::Repetition(repetition) = part.kind() else {
        return None;
    };
    let mut flat = Vec::new();
    flatten(std::slice::from_ref(&repetition.sub), &mut flat);
    (repetition.min == 0 && repetition.max == Some(1)).then_some(flat)
}

/// `[.]?`
fn is_dot(part: &Hir) -> bool {
    let texts = optional(part).and_then(|parts| product(&parts, Case::Kept));
    texts.is_some_and(|texts| texts == ["."])
}

/// `(:[0-9]+)?`
fn is_colon_digits(part: &Hir) -> bool {
    match optional(part).as_deref() {
        Some([colon, digits]) => {
            texts(colon, Case::Kept).is_some_and(|texts| texts == [":"]) && is_digits(digits)
        }
        _ => false,
    }
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':')
        .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_digits(part: &Hir) -> bool {
    let HirKind::Repetition(repetition) = part.kind() else {
        return false;
    };
    let HirKind::Class(Class::Unicode(class)) = repetition.sub.kind() else {
        return false;
    };
    let any_number = repetition.min == 1 && repetition.max.is_none();
    any_number
        && class
            .ranges()
            .iter()
            .all(|range| range.start().is_numeric() && range.end().is_numeric())
}

fn product(parts: &[&Hir], case: Case) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    for part in parts {
        let texts = texts(part, case)?;
        if all.len().saturating_mul(texts.len()) > MOST {
            return None;
        }
        all = all
            .iter()
            .flat_map(|before| texts.iter().map(move |text| format!("{before}{text}")))
            .collect();
    }
    Some(all)
}

/// The texts of a part without anchors, if they are few.
fn texts(part: &Hir, case: Case) -> Option<Vec<String>> {
    match part.kind() {
        HirKind::Empty => Some(vec![String::new()]),
        HirKind::Literal(literal) => Some(vec![case.of(std::str::from_utf8(&literal.0).ok()?)]),
        HirKind::Capture(capture) => texts(&capture.sub, case),
        HirKind::Concat(parts) => product(&parts.iter().collect::<Vec<_>>(), case),
        HirKind::Alternation(all) => {
            let each: Option<Vec<Vec<String>>> = all.iter().map(|one| texts(one, case)).collect();
            each.map(|each| each.concat()).filter(|texts| texts.len() <= MOST)
        }
        HirKind::Repetition(repetition) if repetition.min == 0 && repetition.max == Some(1) => {
            let mut with = texts(&repetition.sub, case)?;
            with.push(String::new());
            Some(with)
        }
        HirKind::Class(Class::Unicode(class)) => {
            let chars = class
                .ranges()
                .iter()
                .flat_map(|range| range.start()..=range.end());
            // Both cases of a letter are one.
            let mut chars: Vec<String> = chars
                .take(MOST)
                .map(|one| case.of(one.encode_utf8(&mut [0; 4])))
                .collect();
            chars.sort_unstable();
            chars.dedup();
            (chars.len() <= 4).then_some(chars)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_counted_where_they_can_be() {
        for (regexp, hosts) in [
            (r"^www[.]example[.]org$", "www.example.org"),
            (r"^www\.example\.org$", "www.example.org"),
            (r"^(my-app[.]example[.]org[.]?(:[0-9]+)?)$", "my-app.example.org"),
            (r"^(a|b)[.]example[.]org$", "a.example.org b.example.org"),
            (r"^(a[.]org|b[.]org)[.]?(:\d+)?$", "a.org b.org"),
            (r"^(www[.])?example[.]org$", "example.org www.example.org"),
            (r"(?i)^Www[.]Example[.]ORG$", "www.example.org"),
            (r"^a[.]org:8080$", "a.org"),
            (r"^a[.]org(:80|:8080)?$", "a.org"),
            (r"^[ab]x$", "ax bx"),
        ] {
            let found = of_regexp(regexp).map(|hosts| hosts.join(" "));
            assert_eq!(found.as_deref(), Some(hosts), "{regexp}");
        }
    }

    #[test]
    fn what_is_known_matches_as_the_expression_does() {
        let hosts = [
            "",
            "a.org",
            "A.org",
            "a.org.",
            "a.org..",
            "a.org:80",
            "a.org.:80",
            "a.org:",
            "a.org:x",
            "a.org:80x",
            "b.org",
            "b.org:8080",
            "xa.org",
            "a.orgx",
            "a.org:80.",
        ];
        let mut known_ones = 0;
        for regexp in [
            r"^a[.]org$",
            r"^A[.]org$",
            r"^(a[.]org[.]?(:[0-9]+)?)$",
            r"^(a|b)[.]org(:\d+)?$",
            r"^a[.]org[.]?$",
            r"^a[.]org(:[0-9]+)?[.]?$",
            r"^a[.]org(:80|:8080)?$",
            r"^a[.]org(:[0-9]*)?$",
            r"^a[.]org(:[0-9])?$",
            r"^a[.]org[.]?[.]?$",
            r"(?i)^a[.]org$",
            r"^[ab][.]org[.]?(:[0-9]+)?$",
            r"a[.]org",
        ] {
            let Some(known) = Known::of_regexp(regexp) else {
                continue;
            };
            known_ones += 1;
            let expression = regex::Regex::new(regexp).unwrap();
            for host in hosts {
                assert_eq!(
                    known.matches(host),
                    expression.is_match(host),
                    "{regexp} of {host}"
                );
            }
        }
        assert!(known_ones >= 7, "{known_ones}");
    }

    #[test]
    fn others_are_not_counted() {
        for regexp in [
            "example[.]org",
            "^example[.]org",
            "example[.]org$",
            ".*",
            "^.*[.]example[.]org$",
            "^www.example[.]org$",
            "^a[.]org(/x)?.*$",
            "^[a-z]+$",
            "(?m)^a$",
            "^(a|b|c|d)(a|b|c|d)(a|b|c|d)(a|b|c|d)$",
            "",
            "(",
        ] {
            assert_eq!(of_regexp(regexp), None, "{regexp}");
        }
    }

    #[test]
    fn names_have_no_port_and_no_dot_at_the_end() {
        for (host, expected) in [
            ("Example.ORG:8080", "example.org"),
            ("example.org.", "example.org"),
            ("example.org.:80", "example.org"),
            ("[::1]", "[::1]"),
            ("[::1]:80", "[::1]"),
            ("", ""),
        ] {
            assert_eq!(name(host), expected);
        }
    }
}
