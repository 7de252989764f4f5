//! Building the tree: keys in order, then a node for each place where they part.

use memchr::memchr;

use super::{NONE, Node, ONE, PathTree, Way, hash};
use crate::routing::pattern::{Leaf, PathPattern, WILDCARD};

/// One way to come to a pattern.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The place of its key in the text.
    start: u32,
    end: u32,
    leaf: Leaf,
    pattern: u32,
}

#[derive(Debug)]
struct Builder {
    /// All keys.
    text: Vec<u8>,
    tree: PathTree,
    /// The ways, before they have their places.
    ways: Vec<Way>,
}

pub(super) fn build<'p>(
    patterns: impl Iterator<Item = &'p PathPattern>,
    ignore_trailing_slash: bool,
) -> PathTree {
    let (mut text, mut entries) = (Vec::new(), Vec::new());
    for (pattern, number) in patterns.zip(0..ONE - 1) {
        for (key, leaf) in pattern.leaves(ignore_trailing_slash) {
            let start = place(text.len());
            text.extend_from_slice(&key);
            entries.push(Entry {
                start,
                end: place(text.len()),
                leaf,
                pattern: number,
            });
        }
    }
    let key = |entry: &Entry| {
        text.get(entry.start as usize..entry.end as usize)
            .unwrap_or_default()
    };
    entries.sort_unstable_by(|a, b| {
        let by_key = key(a).cmp(key(b));
        by_key.then(a.leaf.cmp(&b.leaf)).then(a.pattern.cmp(&b.pattern))
    });
    // A subtree with a free wildcard comes to its own places by several ways.
    entries.dedup_by(|a, b| a.pattern == b.pattern && a.leaf == b.leaf && key(a) == key(b));
    let mut builder = Builder {
        text,
        tree: PathTree {
            ignore_trailing_slash,
            ..PathTree::default()
        },
        ways: Vec::new(),
    };
    builder.node(&entries, 0);
    builder.finish()
}

/// Texts of more than 4 GiB are not built.
fn place(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(NONE)
}

// === impl Builder ===

impl Builder {
    /// Adds the node where `entries` come to, whose keys are the same up to `depth`. They are in order, so that those which
    /// end here are the first, and those that go on alike stand together.
    fn node(&mut self, entries: &[Entry], depth: usize) -> u32 {
        let number = place(self.tree.nodes.len());
        self.tree.nodes.push(Node {
            here: NONE,
            rest: NONE,
            wildcard: NONE,
            has_ways: false,
        });
        let end_here = entries.partition_point(|entry| self.rest(entry, depth).is_empty());
        let (ended, mut others) = entries.split_at(end_here);
        let (here, rest) = ended.split_at(ended.partition_point(|entry| entry.leaf == Leaf::Here));
        let (here, rest) = (self.leaf(here), self.leaf(rest));
        let (mut wildcard, mut has_ways) = (NONE, false);
        while let Some(first) = others.first() {
            let segment = self.segment(first, depth);
            let alike = others
                .iter()
                .take_while(|entry| self.segment(entry, depth) == segment)
                .count();
            let (group, after) = others.split_at(alike);
            others = after;
            let is_wildcard = segment == [WILDCARD];
            let mut next = depth.saturating_add(segment.len()).saturating_add(1);
            if is_wildcard {
                wildcard = self.node(group, next);
                continue;
            }
            has_ways = true;
            let hash = hash(number, segment);
            next = self.common(group, next);
            let label = self.label(first, depth, next);
            let to = match group {
                // Nothing else is there.
                [only] if only.leaf == Leaf::Here && self.rest(only, next).is_empty() => ONE | only.pattern,
                group => self.node(group, next),
            };
            self.ways.push(Way {
                from: number,
                hash,
                label: label.0,
                length: label.1,
                to,
            });
        }
        if let Some(node) = self.tree.nodes.get_mut(number as usize) {
            *node = Node {
                here,
                rest,
                wildcard,
                has_ways,
            };
        }
        number
    }

    /// How far the keys of `group`, the same up to `depth`, go on with the same literal segments and end nowhere before.
    fn common(&self, group: &[Entry], mut depth: usize) -> usize {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            return depth;
        };
        loop {
            // The first in order is one that ends here, if any does.
            let segment = self.segment(first, depth);
            let ends = self.rest(first, depth).is_empty();
            if ends || segment == [WILDCARD] || segment != self.segment(last, depth) {
                return depth;
            }
            depth = depth.saturating_add(segment.len()).saturating_add(1);
        }
    }

    /// Keeps the part of a key between two depths, without the slash at its end.
    fn label(&mut self, entry: &Entry, from: usize, to: usize) -> (u32, u32) {
        let start = (entry.start as usize).saturating_add(from);
        let end = (entry.start as usize).saturating_add(to).saturating_sub(1);
        let label = self.text.get(start..end).unwrap_or_default();
        let at = place(self.tree.labels.len());
        self.tree.labels.extend_from_slice(label);
        (at, place(label.len()))
    }

    fn leaf(&mut self, entries: &[Entry]) -> u32 {
        match entries {
            [] => return NONE,
            [only] => return ONE | only.pattern,
            _ => {}
        }
        let tree = &mut self.tree;
        let start = place(tree.routes.len());
        tree.routes.extend(entries.iter().map(|entry| entry.pattern));
        tree.leaves.push((start, place(tree.routes.len())));
        place(tree.leaves.len().saturating_sub(1))
    }

    fn rest(&self, entry: &Entry, depth: usize) -> &[u8] {
        let start = (entry.start as usize).saturating_add(depth);
        self.text.get(start..entry.end as usize).unwrap_or_default()
    }

    /// The segment at `depth`.
    fn segment(&self, entry: &Entry, depth: usize) -> &[u8] {
        let rest = self.rest(entry, depth);
        let end = memchr(b'/', rest).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    /// Gives the ways their places, half of which stay free.
    fn finish(self) -> PathTree {
        let Self { mut tree, ways, .. } = self;
        let size = ways.len().saturating_mul(2).next_power_of_two();
        let free = Way {
            from: NONE,
            hash: 0,
            label: 0,
            length: 0,
            to: NONE,
        };
        tree.ways = vec![free; size];
        let mask = size.wrapping_sub(1);
        for way in ways {
            let mut at = way.hash as usize & mask;
            while tree.ways.get(at).is_some_and(|taken| taken.to != NONE) {
                at = at.wrapping_add(1) & mask;
            }
            if let Some(place) = tree.ways.get_mut(at) {
                *place = way;
            }
        }
        tree
    }
}
