//! Changes to a text of routes that leave alone what they do not concern: comments, order and layout.

use std::collections::{HashMap, HashSet};

use crate::{
    ast::Route,
    error::ParseErrors,
    lexer::Lexer,
    parser::{Located, parse_located},
    print::{Layout, print},
    token::Kind,
};

/// Why a text cannot be changed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RewriteError {
    /// It is no document.
    #[error(transparent)]
    Syntax(ParseErrors),
    /// It, or what is to be put into it, has a route without an id: one of several routes needs one.
    #[error("a route without an id stands alone: give it one, as in `id: ...`")]
    Unnamed,
}

/// A text with routes changed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Rewritten {
    /// The new text: the old one if nothing has changed.
    pub text: String,
    /// How many routes came.
    pub added: usize,
    /// How many routes are others now.
    pub changed: usize,
    /// How many routes went.
    pub removed: usize,
}

/// What becomes of a route.
enum Fate<'r> {
    Stays,
    Becomes(&'r Route),
    Goes,
}

/// As [`upsert`](crate::upsert), in a text. Routes that come or change are printed in this layout.
///
/// ```
/// let text = "// ours\na: * -> <shunt>; // for now\nb: * -> <shunt>\n";
/// let updates = eskip::parse("b: * -> \"http://b\"; c: * -> \"http://c\"")?;
/// let rewritten = eskip::upsert_text(text, &updates, eskip::Layout::Plain)?;
/// assert_eq!(
///     rewritten.text,
///     "// ours\na: * -> <shunt>; // for now\nb: * -> \"http://b\";\n\nc: * -> \"http://c\";\n"
/// );
/// assert_eq!((rewritten.added, rewritten.changed, rewritten.removed), (1, 1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// A text that is no document, and routes without an id.
pub fn upsert_text(text: &str, updates: &[Route], layout: Layout<'_>) -> Result<Rewritten, RewriteError> {
    put(text, updates, layout, true)
}

/// As [`reset`](crate::reset), in a text. Routes that come or change are printed in this layout.
///
/// # Errors
///
/// A text that is no document, and routes without an id.
pub fn reset_text(text: &str, updates: &[Route], layout: Layout<'_>) -> Result<Rewritten, RewriteError> {
    put(text, updates, layout, false)
}

/// As [`delete`](crate::delete), in a text. Ids that no route has are passed over.
///
/// ```
/// let rewritten = eskip::delete_text("a: * -> <shunt>; // first\nb: * -> <shunt>;\n", &["b"])?;
/// assert_eq!(rewritten.text, "a: * -> <shunt>; // first\n");
/// # Ok::<(), eskip::RewriteError>(())
/// ```
///
/// # Errors
///
/// A text that is no document.
pub fn delete_text(text: &str, ids: &[&str]) -> Result<Rewritten, RewriteError> {
    let located = parse_located(text).map_err(RewriteError::Syntax)?;
    let gone: HashSet<&str> = ids.iter().copied().collect();
    let goes = |located: &Located| located.route.id.as_deref().is_some_and(|id| gone.contains(id));
    let fates: Vec<Fate<'_>> = located
        .iter()
        .map(|located| if goes(located) { Fate::Goes } else { Fate::Stays })
        .collect();
    Ok(written(text, &located, &fates, &[], Layout::Plain))
}

fn put(
    text: &str,
    updates: &[Route],
    layout: Layout<'_>,
    others_stay: bool,
) -> Result<Rewritten, RewriteError> {
    let located = parse_located(text).map_err(RewriteError::Syntax)?;
    let mut routes = located.iter().map(|located| &located.route).chain(updates);
    if routes.any(|route| route.id.is_none()) {
        return Err(RewriteError::Unnamed);
    }
    // The last one of an id wins, and takes the place of the first.
    let last: HashMap<&str, &Route> = updates
        .iter()
        .filter_map(|route| Some((route.id.as_deref()?, route)))
        .collect();
    let mut placed = HashSet::new();
    let mut fates = Vec::with_capacity(located.len());
    for located in &located {
        let id = located.route.id.as_deref().unwrap_or_default();
        fates.push(match last.get(id) {
            None if others_stay => Fate::Stays,
            None => Fate::Goes,
            Some(_) if !placed.insert(id) => Fate::Goes,
            Some(update) if update.is_equivalent(&located.route) => Fate::Stays,
            Some(update) => Fate::Becomes(update),
        });
    }
    let added: Vec<Route> = updates
        .iter()
        .filter(|route| {
            let id = route.id.as_deref().unwrap_or_default();
            !placed.contains(id) && last.get(id).is_some_and(|last| std::ptr::eq(*last, *route))
        })
        .cloned()
        .collect();
    Ok(written(text, &located, &fates, &added, layout))
}

fn written(
    text: &str,
    located: &[Located],
    fates: &[Fate<'_>],
    added: &[Route],
    layout: Layout<'_>,
) -> Rewritten {
    let mut out = Rewritten::default();
    let mut copied = 0;
    let mut closed = true;
    for (Located { span, .. }, fate) in located.iter().zip(fates) {
        let between = text.get(copied..span.start).unwrap_or_default();
        let semicolon = semicolon_behind(text, span.end);
        match fate {
            Fate::Stays => {
                out.text.push_str(between);
                out.text.push_str(text.get(span.clone()).unwrap_or_default());
                copied = span.end;
                closed = semicolon.is_some();
            }
            Fate::Becomes(route) => {
                out.text.push_str(between);
                let definition = print(std::slice::from_ref(*route), layout);
                out.text
                    .push_str(definition.strip_suffix(';').unwrap_or(&definition));
                copied = span.end;
                closed = semicolon.is_some();
                out.changed = out.changed.saturating_add(1);
            }
            Fate::Goes => {
                let indent = between.trim_end_matches([' ', '\t']);
                let tail = if indent.is_empty() { &out.text } else { indent };
                let begins_line = tail.is_empty() || tail.ends_with('\n');
                out.text.push_str(if begins_line { indent } else { between });
                copied = semicolon.unwrap_or(span.end);
                if begins_line {
                    copied = copied.saturating_add(rest_of_line(text, copied, &out.text));
                }
                out.removed = out.removed.saturating_add(1);
            }
        }
        if !closed && !added.is_empty() {
            out.text.push(';');
        }
    }
    out.text.push_str(text.get(copied..).unwrap_or_default());
    out.added = added.len();
    if added.is_empty() {
        return out;
    }
    if !out.text.is_empty() && !out.text.ends_with('\n') {
        out.text.push('\n');
    }
    if !out.text.is_empty() && !out.text.ends_with("\n\n") {
        out.text.push('\n');
    }
    out.text.push_str(&print(added, layout));
    out.text.push('\n');
    out
}

/// Where the `;` behind a route ends, if there is one.
fn semicolon_behind(text: &str, end: usize) -> Option<usize> {
    let token = Lexer::new(text.get(end..)?).next();
    matches!(token.kind, Kind::Semicolon).then(|| end.saturating_add(token.span.end))
}

/// How many bytes go with a route that stood on lines of its own: blanks, the line's end, and an empty line if there
/// is one before, too.
fn rest_of_line(text: &str, from: usize, before: &str) -> usize {
    let line = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        let blanks = rest.trim_start_matches([' ', '\t', '\r']);
        let length = rest.len().saturating_sub(blanks.len());
        blanks
            .starts_with('\n')
            .then(|| length.saturating_add(1))
            .or_else(|| blanks.is_empty().then_some(length))
    };
    let Some(rest) = line(from) else {
        return 0;
    };
    let next = from.saturating_add(rest);
    let follows_empty = before.is_empty() || before.ends_with("\n\n");
    let empty = line(next).filter(|_| follows_empty);
    rest.saturating_add(empty.unwrap_or_default())
}
