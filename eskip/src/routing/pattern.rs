//! What `Path` and `PathSubtree` ask of a path.

use std::{borrow::Cow, ops::Range};

use memchr::memchr_iter;

use super::uri;

/// The most segments of a pattern.
const MOST_SEGMENTS: usize = 256;

/// How a wildcard stands in a key. No canonical path has this byte.
pub(crate) const WILDCARD: u8 = 0;

/// The argument of `Path` or `PathSubtree`: literal segments, `:name` for one that is not empty, `*name` at the end for
/// one or more characters.
///
/// A pattern is compared segment by segment, each decoded once: `%41` is `A` in either, and `%2F` is a character of its
/// segment, never a separator.
///
/// ```
/// use eskip::routing::PathPattern;
///
/// let pattern = PathPattern::path("/users/:id/*rest")?;
/// let params: Vec<_> = pattern.params("/users/4%2F2/a/b").collect();
/// assert_eq!(params, [("id", "4/2".into()), ("rest", "/a/b".into())]);
///
/// let error = PathPattern::path("/users/*rest/id").unwrap_err();
/// assert_eq!(error.to_string(), "free wildcard param should be last");
/// # Ok::<(), eskip::routing::PatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    /// Each segment, canonical, with a slash behind it; a wildcard is [`WILDCARD`].
    key: Box<[u8]>,
    /// The numbers of the segments that are wildcards, and their names.
    params: Box<[(usize, Box<str>)]>,
    end: End,
}

/// What follows the segments of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Nothing,
    /// At least one character, by this name.
    Rest(Box<str>),
    /// Nothing, a slash, or that.
    Subtree(Box<str>),
}

/// Where a pattern may end, for a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leaf {
    /// Here.
    Here,
    /// Behind at least one more character.
    Rest,
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// A `:` or `*` within a segment.
    #[error("* or : in middle of path component")]
    WithinSegment,
    /// A `*` in a segment that others follow.
    #[error("free wildcard param should be last")]
    NotLast,
    /// A `:` or `*` alone.
    #[error("a wildcard without a name")]
    Nameless,
    /// No slash at the beginning.
    #[error("a path begins with a slash")]
    NoSlash,
    /// More than 256 segments.
    #[error("a path of more than {MOST_SEGMENTS} segments")]
    TooLong,
}

// === impl PathPattern ===

impl PathPattern {
    /// The pattern of `Path`; empty is `/`.
    ///
    /// # Errors
    ///
    /// A text that is no pattern.
    pub fn path(text: &str) -> Result<Self, PatternError> {
        Self::new(if text.is_empty() { "/" } else { text })
    }

    /// The pattern of `PathSubtree`: the path, with a slash or without, and everything below it, which has the name `*`
    /// unless the text ends in a free wildcard of its own.
    ///
    /// # Errors
    ///
    /// A text that is no pattern.
    pub fn subtree(text: &str) -> Result<Self, PatternError> {
        let mut pattern = match text.strip_suffix('/').unwrap_or(text) {
            "" => Self {
                key: Box::default(),
                params: Box::default(),
                end: End::Nothing,
            },
            text => Self::new(text)?,
        };
        pattern.end = match pattern.end {
            End::Rest(name) | End::Subtree(name) => End::Subtree(name),
            End::Nothing => End::Subtree("*".into()),
        };
        Ok(pattern)
    }

    fn new(text: &str) -> Result<Self, PatternError> {
        let segments = text.strip_prefix('/').ok_or(PatternError::NoSlash)?;
        let (mut key, mut params, mut end) = (Vec::new(), Vec::new(), End::Nothing);
        for (number, segment) in segments.split('/').enumerate() {
            if end != End::Nothing {
                return Err(PatternError::NotLast);
            }
            if number >= MOST_SEGMENTS {
                return Err(PatternError::TooLong);
            }
            let named = |name: &str| match name {
                "" => Err(PatternError::Nameless),
                "*" => Ok("*".into()),
                name if name.contains([':', '*']) => Err(PatternError::WithinSegment),
                name => Ok(Box::from(name)),
            };
            if let Some(name) = segment.strip_prefix('*') {
                end = End::Rest(named(name)?);
            } else if let Some(name) = segment.strip_prefix(':') {
                params.push((number, named(name)?));
                key.extend([WILDCARD, b'/']);
            } else if segment.contains([':', '*']) {
                return Err(PatternError::WithinSegment);
            } else {
                key.extend_from_slice(&uri::canonical(segment));
                key.push(b'/');
            }
        }
        Ok(Self {
            key: key.into(),
            params: params.into(),
            end,
        })
    }

    /// The wildcards' names, and what of `path`, which the pattern matches, they stand for: decoded, a `+` being a space.
    /// What stands for a free wildcard begins with a slash.
    ///
    /// `path` is as it came, or without the slash at its end where that is ignored.
    pub fn params<'s>(&'s self, path: &'s str) -> impl Iterator<Item = (&'s str, Cow<'s, str>)> {
        let segments = segments(path);
        let one = move |(number, name): &'s (usize, Box<str>)| {
            let range = segments.clone().nth(*number)?;
            Some((&**name, uri::value(path.get(range)?)))
        };
        self.params.iter().filter_map(one).chain(self.rest(path))
    }

    fn rest<'s>(&'s self, path: &'s str) -> Option<(&'s str, Cow<'s, str>)> {
        let (End::Rest(name) | End::Subtree(name)) = &self.end else {
            return None;
        };
        let before = memchr_iter(b'/', &self.key).count();
        let rest = segments(path).nth(before);
        let rest = rest.and_then(|range| path.get(range.start.saturating_sub(1)..));
        Some((
            name,
            uri::value(rest.filter(|rest| !rest.is_empty()).unwrap_or("/")),
        ))
    }

    /// What a tree holds of it: keys, and how paths go on behind them.
    pub(crate) fn leaves(&self, ignore_trailing_slash: bool) -> impl Iterator<Item = (Cow<'_, [u8]>, Leaf)> {
        let key = match self.key.strip_suffix(b"//") {
            // The last segment is empty, and it is not the only one.
            Some(before) if ignore_trailing_slash && self.end == End::Nothing => {
                self.key.get(..before.len().saturating_add(1)).unwrap_or_default()
            }
            _ => &self.key,
        };
        let with_slash = || Cow::Owned([key, b"/"].concat());
        let leaves = match self.end {
            End::Nothing => [Some((key.into(), Leaf::Here)), None, None],
            End::Rest(_) => [Some((key.into(), Leaf::Rest)), None, None],
            End::Subtree(_) => [
                Some((key.into(), Leaf::Here)),
                Some((with_slash(), Leaf::Here)),
                Some((key.into(), Leaf::Rest)),
            ],
        };
        leaves.into_iter().flatten()
    }
}

/// The places of a path's segments.
fn segments(path: &str) -> impl Iterator<Item = Range<usize>> + Clone {
    let begins = memchr_iter(b'/', path.as_bytes()).map(|slash| slash.saturating_add(1));
    let ends = memchr_iter(b'/', path.as_bytes())
        .skip(1)
        .chain(std::iter::once(path.len()));
    begins.zip(ends).map(|(begin, end)| begin..end)
}
