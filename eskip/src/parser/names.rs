//! Names that share their text.

use crate::ast::Name;

/// Remembers some names: a document has few, and each of them often. Which are remembered is no promise, so that a
/// document of many names costs no more.
#[derive(Debug)]
pub(super) struct Names {
    slots: Vec<Option<Name>>,
}

/// How many are remembered, at most.
const SLOTS: usize = 128;

// === impl Names ===

impl Names {
    pub(super) fn new() -> Self {
        Self {
            slots: vec![None; SLOTS],
        }
    }

    /// The name of this text, which is known to be one.
    pub(super) fn get(&mut self, text: &str) -> Name {
        let Some(slot) = self.slots.get_mut(slot_of(text)) else {
            return Name::of_symbol(text);
        };
        match slot {
            Some(name) if *name == text => name.clone(),
            _ => slot.insert(Name::of_symbol(text)).clone(),
        }
    }
}

/// Names that begin and end alike and are equally long take turns in a slot.
fn slot_of(text: &str) -> usize {
    let bytes = text.as_bytes();
    let byte = |byte: Option<&u8>| byte.copied().map_or(0, usize::from);
    let mixed = byte(bytes.first())
        .wrapping_mul(31)
        .wrapping_add(byte(bytes.last()))
        .wrapping_mul(31)
        .wrapping_add(byte(bytes.get(bytes.len() / 2)))
        .wrapping_mul(31)
        .wrapping_add(bytes.len());
    mixed % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_they_were_asked_for() {
        let mut names = Names::new();
        for _ in 0..2 {
            for n in 0..1000 {
                let text = format!("name{n}");
                assert_eq!(names.get(&text), text.as_str());
            }
        }
    }
}
