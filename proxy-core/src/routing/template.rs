//! Text with placeholders, parsed once when a route is compiled.

mod duration;
mod render;
mod tls;

use std::fmt::Write as _;
use std::sync::Arc;

use caddy_config::{Part, Placeholder, ProxyPart};
use doors_routing::Located;

pub(crate) use self::render::proto;
use super::map::{Given, Map};
use super::slots::{Slot, Slots, Value};
use crate::geo::Source;
use crate::request::Context;

/// Text with placeholders, as the configuration's language defines them. Names of variables are places already, and
/// what is the same for every request is text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template(Box<[Piece]>);

#[derive(Clone, Debug)]
enum Piece {
    Text(Box<str>),
    Placeholder {
        placeholder: Placeholder,
        /// What stands for it if the request has no value for it.
        unset: Box<str>,
    },
    Variable {
        slot: Slot,
        unset: Box<str>,
    },
    /// The country of the client.
    Country(Arc<Source>),
}

/// What becomes of a placeholder that nothing has a value for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// It stays as it was written: in fields, bodies and messages.
    Kept,
    /// Nothing takes its place.
    Empty,
}

/// How many maps one text may ask. One that leads to itself would have no end.
const MAX_MAPS: u32 = 64;

// === impl Template ===

impl Template {
    /// Gives each variable its place.
    pub(crate) fn new(parsed: &caddy_config::Template, unknown: Unknown, slots: &mut Slots) -> Self {
        let mut pieces: Vec<Piece> = Vec::new();
        for part in parsed.parts() {
            let next = match part {
                Part::Text(text) => Piece::Text(text.as_str().into()),
                Part::Placeholder(placeholder) => piece(placeholder, unknown, slots),
            };
            match (pieces.last_mut(), next) {
                (Some(Piece::Text(last)), Piece::Text(text)) => *last = format!("{last}{text}").into(),
                (_, next) => pieces.push(next),
            }
        }
        pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        Self(pieces.into())
    }

    /// Text without placeholders.
    #[cfg(test)]
    pub(crate) fn text(text: &str) -> Self {
        let pieces = (!text.is_empty()).then(|| Piece::Text(text.into()));
        Self(pieces.into_iter().collect())
    }

    /// The text for one request.
    pub(crate) fn render(&self, cx: &Context) -> String {
        let mut out = String::new();
        let mut maps = MAX_MAPS;
        self.render_to(&mut out, cx, &mut maps);
        out
    }

    /// The text for one request as the value of a field. Values of other fields are as they came, be they UTF-8 or not.
    pub(crate) fn render_bytes(&self, cx: &Context) -> Vec<u8> {
        if !self.0.iter().any(Piece::is_field) {
            return self.render(cx).into_bytes();
        }
        let (mut out, mut text) = (Vec::new(), String::new());
        let mut maps = MAX_MAPS;
        for piece in &self.0 {
            if let Piece::Placeholder { placeholder, .. } = piece
                && render::field(placeholder, cx, &mut out)
            {
                continue;
            }
            text.clear();
            piece.render_to(&mut text, cx, &mut maps);
            out.extend_from_slice(text.as_bytes());
        }
        out
    }

    /// The text for one request; `escape` writes what stands for placeholders.
    pub(crate) fn render_with(&self, cx: &Context, escape: &mut Escape<'_>) -> String {
        let mut out = String::new();
        let mut maps = MAX_MAPS;
        for piece in &self.0 {
            let placeholder = match piece {
                Piece::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Piece::Placeholder { placeholder, .. } => Some(placeholder),
                Piece::Country(_) => Some(&Placeholder::GeoCountry),
                Piece::Variable { .. } => None,
            };
            let mut text = String::new();
            piece.render_to(&mut text, cx, &mut maps);
            escape(placeholder, &text, &mut out);
        }
        out
    }

    /// The value of a single placeholder, with its kind; text otherwise.
    pub(crate) fn value(&self, cx: &Context) -> Value {
        match &*self.0 {
            [Piece::Variable { slot, .. }] => match cx.vars.get(*slot) {
                Value::Mapped(..) => Value::text(&self.render(cx)),
                Value::Unset => Value::Null,
                value => value.clone(),
            },
            [Piece::Placeholder { placeholder, .. }] => render::value(placeholder, cx),
            _ => Value::text(&self.render(cx)),
        }
    }

    fn render_to(&self, out: &mut String, cx: &Context, maps: &mut u32) {
        for piece in &self.0 {
            piece.render_to(out, cx, maps);
        }
    }

    /// Whether it asks for the upstream that was chosen. A variable may be made of anything.
    pub(crate) fn asks_for_upstream(&self) -> bool {
        self.0.iter().any(|piece| match piece {
            Piece::Text(_) | Piece::Country(_) => false,
            Piece::Placeholder { placeholder, .. } => {
                matches!(placeholder, Placeholder::Upstream(_) | Placeholder::Proxy(_))
            }
            Piece::Variable { .. } => true,
        })
    }

    /// The text if it is the same for every request.
    pub(crate) fn as_static(&self) -> Option<&str> {
        match &*self.0 {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }
}

/// Writes what stands for a placeholder, or for a variable.
pub(crate) type Escape<'e> = dyn FnMut(Option<&Placeholder>, &str, &mut String) + 'e;

fn piece(placeholder: &Placeholder, unknown: Unknown, slots: &mut Slots) -> Piece {
    let name = placeholder.to_string();
    let kept = || match unknown {
        Unknown::Kept => format!("{{{name}}}").into(),
        Unknown::Empty => Box::default(),
    };
    match placeholder {
        Placeholder::Env(name) => Piece::Text(slots.environment(name).unwrap_or_default().into()),
        Placeholder::GeoCountry => slots
            .countries()
            .map_or_else(|| Piece::Text(Box::default()), Piece::Country),
        Placeholder::System(part) => Piece::Text(render::system(*part).into()),
        Placeholder::Var(_) => Piece::Variable {
            slot: slots.of(&name),
            unset: Box::default(),
        },
        Placeholder::Variable(_) | Placeholder::Regexp(_) | Placeholder::AuthUserId => Piece::Variable {
            slot: slots.of(&name),
            unset: kept(),
        },
        _ => {
            slots.note(placeholder);
            Piece::Placeholder {
                placeholder: placeholder.clone(),
                unset: kept(),
            }
        }
    }
}

// === impl Piece ===

impl Piece {
    /// Whether it is the value of a field.
    fn is_field(&self) -> bool {
        matches!(
            self,
            Self::Placeholder {
                placeholder: Placeholder::RequestHeader(_)
                    | Placeholder::ResponseHeader(_)
                    | Placeholder::Proxy(ProxyPart::Header(_)),
                ..
            }
        )
    }

    fn render_to(&self, out: &mut String, cx: &Context, maps: &mut u32) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Country(source) => {
                if let Located::In(country) = source.locate(cx.client_ip) {
                    out.extend(country.map(char::from));
                }
            }
            Self::Placeholder { placeholder, unset } => {
                if !render::placeholder(placeholder, cx, out) {
                    out.push_str(unset);
                }
            }
            Self::Variable { slot, unset } => match cx.vars.get(*slot) {
                Value::Unset => out.push_str(unset),
                Value::Mapped(map, number) => mapped(map, *number, out, cx, maps),
                value => {
                    let written = write!(out, "{value}");
                    debug_assert!(written.is_ok(), "a String takes all text");
                }
            },
        }
    }
}

fn mapped(map: &Arc<Map>, number: usize, out: &mut String, cx: &Context, maps: &mut u32) {
    let Some(left) = maps.checked_sub(1) else {
        return;
    };
    *maps = left;
    let mut input = String::new();
    map.source.render_to(&mut input, cx, maps);
    match map.give(number, &input) {
        Given::Template(template) => template.render_to(out, cx, maps),
        Given::Text(text) => out.push_str(&text),
        Given::Nothing => {}
    }
}

/// For tests: variables have places of their own.
#[cfg(any(test, fuzzing))]
impl std::str::FromStr for Template {
    type Err = caddy_config::TemplateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(&text.parse()?, Unknown::Kept, &mut Slots::default()))
    }
}

#[cfg(test)]
mod tests;
