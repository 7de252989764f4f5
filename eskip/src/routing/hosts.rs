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
    let hir = regex_syntax::parse(regexp).ok()?;
    let mut names: Vec<String> = alternatives(&hir)?;
    for text in &mut names {
        *text = name(text).into_owned();
    }
    names.sort_unstable();
    names.dedup();
    Some(names)
}

fn alternatives(hir: &Hir) -> Option<Vec<String>> {
    match hir.kind() {
        HirKind::Capture(capture) => alternatives(&capture.sub),
        HirKind::Alternation(all) => {
            let mut texts = Vec::new();
            for one in all {
                texts.extend(alternatives(one)?);
                if texts.len() > MOST {
                    return None;
                }
            }
            Some(texts)
        }
        HirKind::Concat(parts) => {
            let mut flat = Vec::new();
            flatten(parts, &mut flat);
            anchored(&flat)
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

fn anchored(parts: &[&Hir]) -> Option<Vec<String>> {
    let is = |part: &&Hir, look| matches!(part.kind(), HirKind::Look(found) if *found == look);
    let (first, rest) = parts.split_first()?;
    let (last, mut middle) = rest.split_last()?;
    if !is(first, Look::Start) || !is(last, Look::End) {
        return None;
    }
    // What a name has not.
    while let Some((last, before)) = middle.split_last()
        && is_optional_tail(last)
    {
        middle = before;
    }
    product(middle)
}

/// Whether a part is `[.]?` or `(:[0-9]+)?` or the like: optional, and nothing of a name.
fn is_optional_tail(part: &Hir) -> bool {
    let HirKind::Repetition(repetition) = part.kind() else {
        return false;
    };
    if repetition.min != 0 || repetition.max != Some(1) {
        return false;
    }
    let mut flat = Vec::new();
    flatten(std::slice::from_ref(&repetition.sub), &mut flat);
    match flat.as_slice() {
        [only] => texts(only).is_some_and(|texts| texts.iter().all(|text| text == "." || is_port(text))),
        [colon, digits] => texts(colon).is_some_and(|texts| texts == [":"]) && is_digits(digits),
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
    class
        .ranges()
        .iter()
        .all(|range| range.start().is_numeric() && range.end().is_numeric())
}

fn product(parts: &[&Hir]) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    for part in parts {
        let texts = texts(part)?;
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

/// The texts of a part without anchors, in lower case, if they are few.
fn texts(part: &Hir) -> Option<Vec<String>> {
    match part.kind() {
        HirKind::Empty => Some(vec![String::new()]),
        HirKind::Literal(literal) => Some(vec![std::str::from_utf8(&literal.0).ok()?.to_ascii_lowercase()]),
        HirKind::Capture(capture) => texts(&capture.sub),
        HirKind::Concat(parts) => product(&parts.iter().collect::<Vec<_>>()),
        HirKind::Alternation(all) => {
            let each: Option<Vec<Vec<String>>> = all.iter().map(texts).collect();
            each.map(|each| each.concat()).filter(|texts| texts.len() <= MOST)
        }
        HirKind::Repetition(repetition) if repetition.min == 0 && repetition.max == Some(1) => {
            let mut with = texts(&repetition.sub)?;
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
                .map(|one| one.to_ascii_lowercase().to_string())
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
