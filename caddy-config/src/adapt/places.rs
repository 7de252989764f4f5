//! Where a Caddyfile says what does not simply work. Whoever runs the configuration finds out whether it works, and by
//! then the text is gone.

use crate::{
    caddyfile::parser::{Block, Kind, Line},
    diagnostic::Place,
    source::{Sources, Span},
    support::{Area, Support, SupportState, support},
};

/// The most places that are kept.
const MOST: usize = 1000;

/// Where names that do not simply work are written. Messages about them name them as [`Support::named`] does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(Vec<(&'static Support, Place)>);

/// What is found on the way.
type Found = Vec<(&'static Support, Span)>;

// === impl Places ===

impl Places {
    /// The places of what `message` names, in the order of the text; none if it is about something else.
    pub fn named_in<'p>(&'p self, message: &'p str) -> impl Iterator<Item = &'p Place> {
        let named = |row: &Support| message.contains(&row.named());
        self.0
            .iter()
            .filter(move |(row, _)| named(row))
            .map(|(_, place)| place)
    }

    pub(super) fn of(blocks: &[Block], sources: &Sources<'_>) -> Self {
        let rows: Vec<_> = support()
            .filter(|row| row.state != SupportState::Active)
            .collect();
        let mut found = Found::new();
        for block in blocks {
            let area = match block.kind {
                Kind::Options => Area::GlobalOption,
                _ => Area::Directive,
            };
            lines(&block.lines, area, &rows, &mut found);
        }
        let places = found.into_iter().take(MOST);
        Self(
            places
                .map(|(row, span)| (row, sources.bare_place(span)))
                .collect(),
        )
    }
}

fn lines(all: &[Line], area: Area, rows: &[&'static Support], found: &mut Found) {
    for line in all {
        let name = line.name.text.as_str();
        for row in rows.iter().copied() {
            let is_proxy = area == Area::Directive && matches!(name, "reverse_proxy" | "forward_auth");
            // The directive's own arguments are upstreams, as those of its option `to` are.
            let first = if is_proxy && row.area == Area::ReverseProxy {
                "to"
            } else if row.area == area {
                name
            } else {
                continue;
            };
            found.extend(place(line, first, row).map(|span| (row, span)));
        }
        if let Some(block) = &line.block {
            lines(block, within(area, name), rows, found);
        }
    }
}

/// What the lines of a block say something about.
fn within(area: Area, name: &str) -> Area {
    match (area, name) {
        (Area::Directive, "reverse_proxy" | "forward_auth") => Area::ReverseProxy,
        (Area::Directive, "tls") => Area::Tls,
        (Area::Directive | Area::GlobalOption, "log") => Area::Log,
        (Area::GlobalOption, "servers") => Area::ServerOption,
        (Area::ReverseProxy, "transport") => Area::Transport,
        (Area::ReverseProxy, "handle_response") => Area::Directive,
        _ => area,
    }
}

/// Where `line`, which begins as if with `first`, says what `row` is about.
fn place(line: &Line, first: &str, row: &Support) -> Option<Span> {
    let mut words = row.name.split(' ');
    if words.next() != Some(first) {
        return None;
    }
    let Some(choice) = words.next() else {
        return Some(line.name.span);
    };
    let is_meant = |text: &str| match choice {
        "{placeholder}" => text.contains('{'),
        _ => text == choice || (choice.ends_with('/') && text.starts_with(choice)),
    };
    let option = line.block.iter().flatten().map(|inner| &inner.name);
    let token = line.args.iter().chain(option).find(|token| is_meant(&token.text));
    token.map(|token| token.span)
}
