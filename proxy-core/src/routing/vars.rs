//! `vars`: sets variables.

use std::sync::Arc;

use super::slots::{Slot, Slots, VARS, Value};
use super::template::Template;
use crate::request::Context;

/// One variable that is set.
#[derive(Debug)]
pub(crate) struct Assign {
    pub(crate) name: Name,
    pub(crate) value: Given,
}

/// Which variable.
#[derive(Debug)]
pub(crate) enum Name {
    Fixed(Slot),
    /// The name has placeholders, so it is looked up: among all names that are mentioned anywhere.
    Rendered(Template, Arc<std::sync::OnceLock<Slots>>),
}

/// What it becomes.
#[derive(Debug)]
pub(crate) enum Given {
    Fixed(Value),
    Rendered(Template),
}

// === impl Assign ===

impl Assign {
    pub(crate) fn run(&self, cx: &mut Context) {
        let slot = match &self.name {
            Name::Fixed(slot) => Some(*slot),
            Name::Rendered(name, slots) => {
                let name = format!("{VARS}{}", name.render(cx));
                slots.get().and_then(|slots| slots.find(&name))
            }
        };
        let Some(slot) = slot else { return };
        let value = match &self.value {
            Given::Fixed(value) => value.clone(),
            Given::Rendered(template) => Value::text(&template.render(cx)),
        };
        cx.vars.set(slot, value);
    }
}
