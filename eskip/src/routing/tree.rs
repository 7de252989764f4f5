//! From a path to the routes whose patterns match it, the most specific first.

mod build;

use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::fast::FixedState;
use memchr::memchr;

use super::{pattern::PathPattern, uri};

/// No node, no leaf.
const NONE: u32 = u32::MAX;

/// The bit of a leaf of one pattern, whose number is the rest of it: most leaves are of this kind, and a look-up that has
/// come to one need look nowhere else. Also of a way that leads to such a leaf and to nothing else.
const ONE: u32 = 1 << 31;

/// Patterns of paths, as a tree that is built once.
///
/// A look-up goes through a path segment by segment. At each, a literal comes before `:name`, which comes before
/// `*name`; where the rest of the path, or whoever asks, refuses, the less specific ones are tried. It allocates nothing
/// unless the path has percent-encodings, and visits no node twice.
///
/// ```
/// use eskip::routing::{PathPattern, PathTree};
///
/// let patterns = ["/users/:id", "/users/me", "/*rest"].map(|text| PathPattern::path(text).unwrap());
/// let tree = PathTree::new(&patterns, false);
/// let mut asked = Vec::new();
/// let found = tree.find("/users/me", |patterns| {
///     asked.extend_from_slice(patterns);
///     None::<()> // go on
/// });
/// assert_eq!((asked, found), (vec![1, 0, 2], None));
/// ```
#[derive(Clone, Debug, Default)]
pub struct PathTree {
    nodes: Vec<Node>,
    /// The literal ways from nodes, a hash table with open addressing; its size is a power of two.
    ways: Vec<Way>,
    /// The labels of the ways.
    labels: Vec<u8>,
    /// The places of leaves in `routes`.
    leaves: Vec<(u32, u32)>,
    /// The numbers of patterns, in their order for each leaf.
    routes: Vec<u32>,
    ignore_trailing_slash: bool,
}

/// Where some segments lead to.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The leaf of paths that end here.
    here: u32,
    /// The leaf of paths that go on somehow.
    rest: u32,
    /// The node behind a wildcard.
    wildcard: u32,
    /// Whether ways lead from here.
    has_ways: bool,
}

/// One or more literal segments between two nodes.
#[derive(Clone, Copy, Debug)]
struct Way {
    from: u32,
    /// Of `from` and the first segment.
    hash: u32,
    label: u32,
    length: u32,
    /// A node, or a leaf of one pattern; `NONE`: the place is free.
    to: u32,
}

// === impl PathTree ===

impl PathTree {
    /// A tree of `patterns`, which are known by their places in the list from then on. With `ignore_trailing_slash`, a
    /// slash at the end of a pattern or a path means nothing, unless it is all of it.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p PathPattern>, ignore_trailing_slash: bool) -> Self {
        build::build(patterns.into_iter(), ignore_trailing_slash)
    }

    /// Asks `choose` for each set of patterns that match `path` alike, the most specific first, until it makes a choice. A
    /// set is in the order of the list that the tree was made of. `path` is as it came, empty being `/`.
    pub fn find<R>(&self, path: &str, mut choose: impl FnMut(&[u32]) -> Option<R>) -> Option<R> {
        self.find_place(path, |_, numbers| choose(numbers))
    }

    /// As [`PathTree::find`]; tells also the place of a set of several patterns.
    pub(super) fn find_place<R>(
        &self,
        path: &str,
        mut choose: impl FnMut(Option<u32>, &[u32]) -> Option<R>,
    ) -> Option<R> {
        let path = match self.compared(path) {
            "" => "/",
            path => path,
        };
        let form = uri::canonical(path);
        let rest = form.strip_prefix(b"/")?;
        self.descend(0, Some(rest), &mut choose)
    }

    /// The part of a path that patterns are compared with.
    pub fn compared<'p>(&self, path: &'p str) -> &'p str {
        match path.strip_suffix('/') {
            Some(before) if self.ignore_trailing_slash && !before.is_empty() => before,
            _ => path,
        }
    }

    /// The places of all sets of several patterns.
    pub(super) fn places(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let sets = (0_u32..).zip(&self.leaves);
        sets.filter_map(|(place, (start, end))| {
            Some((place, self.routes.get(*start as usize..*end as usize)?))
        })
    }

    pub(super) fn ignores_trailing_slash(&self) -> bool {
        self.ignore_trailing_slash
    }

    /// `rest` is what follows the slash behind what led to `at`; `None` if nothing does.
    fn descend<R>(
        &self,
        mut at: u32,
        mut rest: Option<&[u8]>,
        choose: &mut impl FnMut(Option<u32>, &[u32]) -> Option<R>,
    ) -> Option<R> {
        loop {
            if at & ONE != 0 {
                return if rest.is_none() {
                    self.choose(at, choose)
                } else {
                    None
                };
            }
            let node = self.nodes.get(at as usize)?;
            let Some(path) = rest else {
                return self.choose(node.here, choose);
            };
            let end = memchr(b'/', path).unwrap_or(path.len());
            let segment = path.get(..end)?;
            let way = if node.has_ways {
                self.way(at, segment, path)
            } else {
                None
            };
            if node.wildcard == NONE && node.rest == NONE {
                // Nothing to come back for.
                (at, rest) = way?;
                continue;
            }
            if let Some((to, rest)) = way
                && let Some(found) = self.descend(to, rest, choose)
            {
                return Some(found);
            }
            if node.wildcard != NONE
                && !segment.is_empty()
                && let Some(found) = self.descend(node.wildcard, path.get(end.saturating_add(1)..), choose)
            {
                return Some(found);
            }
            return if path.is_empty() {
                None
            } else {
                self.choose(node.rest, choose)
            };
        }
    }

    /// Where the literal way goes that begins with `segment`, and what of `path` is left behind it.
    fn way<'p>(&self, from: u32, segment: &[u8], path: &'p [u8]) -> Option<(u32, Option<&'p [u8]>)> {
        let hash = hash(from, segment);
        let mask = self.ways.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        loop {
            let way = self.ways.get(at)?;
            if way.to == NONE {
                return None;
            }
            if way.hash == hash && way.from == from {
                let start = way.label as usize;
                let label = self.labels.get(start..start.checked_add(way.length as usize)?)?;
                if let Some(after) = path.strip_prefix(label) {
                    match after.split_first() {
                        None => return Some((way.to, None)),
                        Some((b'/', after)) => return Some((way.to, Some(after))),
                        Some(_) => {}
                    }
                }
            }
            at = at.wrapping_add(1) & mask;
        }
    }

    fn choose<R>(&self, leaf: u32, choose: &mut impl FnMut(Option<u32>, &[u32]) -> Option<R>) -> Option<R> {
        if leaf == NONE {
            return None;
        }
        if leaf & ONE != 0 {
            return choose(None, &[leaf & !ONE]);
        }
        let (start, end) = *self.leaves.get(leaf as usize)?;
        choose(Some(leaf), self.routes.get(start as usize..end as usize)?)
    }
}

fn hash(from: u32, segment: &[u8]) -> u32 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write_u32(from);
    hasher.write(segment);
    let hash = hasher.finish();
    #[expect(clippy::cast_possible_truncation, reason = "a part of a hash is one")]
    let folded = (hash ^ (hash >> 32)) as u32;
    folded
}
