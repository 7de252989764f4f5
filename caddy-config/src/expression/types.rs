//! Types, as far as they are known before a request comes.

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Bool,
    Double,
    /// Known only when a request comes, such as that of a placeholder.
    Dynamic,
    Int,
    List(Item),
    Null,
    String,
}

/// The type of the items of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Bool,
    Double,
    /// Of different types, or known only when a request comes.
    Dynamic,
    Int,
    String,
}

// === impl Type ===

impl Type {
    /// As a message calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Double => "a number with a fraction",
            Self::Dynamic => "a placeholder's value",
            Self::Int => "a whole number",
            Self::List(_) => "a list",
            Self::Null => "null",
            Self::String => "a text",
        }
    }

    /// Whether a value of this type may be of the other one too.
    pub(super) fn may_be(self, other: Self) -> bool {
        match (self, other) {
            (Self::Dynamic, _) | (_, Self::Dynamic) => true,
            (Self::List(a), Self::List(b)) => a == b || a == Item::Dynamic || b == Item::Dynamic,
            _ => self == other,
        }
    }

    /// The type of a list with items of these types.
    pub(super) fn list_of(items: &[Self]) -> Self {
        let item = items.first().copied().map_or(Item::Dynamic, Self::as_item);
        let all = items.iter().all(|other| other.as_item() == item);
        Self::List(if all { item } else { Item::Dynamic })
    }

    const fn as_item(self) -> Item {
        match self {
            Self::Bool => Item::Bool,
            Self::Double => Item::Double,
            Self::Int => Item::Int,
            Self::String => Item::String,
            Self::Dynamic | Self::List(_) | Self::Null => Item::Dynamic,
        }
    }
}

// === impl Item ===

impl Item {
    /// The type of one.
    pub(super) const fn as_type(self) -> Type {
        match self {
            Self::Bool => Type::Bool,
            Self::Double => Type::Double,
            Self::Dynamic => Type::Dynamic,
            Self::Int => Type::Int,
            Self::String => Type::String,
        }
    }
}
