//! What a `filter` form does to a field.

use serde::{Serialize, Serializer, ser::SerializeMap as _};

/// What is done to a field; `filter` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "filter", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogFilter {
    /// Changes cookies in a `Cookie` field.
    Cookie {
        /// By the cookie's name.
        #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
        actions: Vec<FilterAction>,
    },
    /// Leaves the field out.
    Delete {},
    /// Replaces the value by the first eight hexadecimal digits of its SHA-256.
    Hash {},
    /// Keeps only the network of an address.
    IpMask(IpMask),
    /// Replaces by several regular expressions, one after the other.
    MultiRegexp {
        /// In order.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        operations: Vec<RegexpFilter>,
    },
    /// Changes parameters of the query of a URI.
    Query {
        /// By the parameter's name.
        #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_parameter")]
        actions: Vec<FilterAction>,
    },
    /// Replaces by a regular expression.
    Regexp(RegexpFilter),
    /// Gives the field another key.
    Rename {
        /// The new key.
        #[serde(skip_serializing_if = "String::is_empty")]
        name: String,
    },
    /// Puts a fixed text in place of the value.
    Replace {
        /// The text.
        #[serde(skip_serializing_if = "String::is_empty")]
        value: String,
    },
    /// Changes cookies in `Set-Cookie` fields.
    SetCookie {
        /// By the cookie's name.
        #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
        actions: Vec<FilterAction>,
    },
}

/// How many leading bits of an address are kept; `None` keeps all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IpMask {
    /// Of an IPv4 address, 1 to 32.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4_cidr: Option<u8>,
    /// Of an IPv6 address, 1 to 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6_cidr: Option<u8>,
}

/// What is done to one cookie or parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterAction {
    /// Leaves it out.
    Delete {
        /// Its name.
        name: String,
    },
    /// Replaces the value by the first eight hexadecimal digits of its SHA-256.
    Hash {
        /// Its name.
        name: String,
    },
    /// Puts a fixed text in place of the value.
    Replace {
        /// Its name.
        name: String,
        /// The text.
        value: String,
    },
}

/// A regular expression, and what is put in the place of all that it matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RegexpFilter {
    /// The expression.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub regexp: String,
    /// The text; `$1` is a group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
}

// === impl FilterAction ===

impl FilterAction {
    /// The name of the cookie or parameter.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Delete { name } | Self::Hash { name } | Self::Replace { name, .. } => name,
        }
    }
}

fn by_name<S: Serializer>(actions: &[FilterAction], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(actions.iter().map(|action| Keyed { key: "name", action }))
}

fn by_parameter<S: Serializer>(actions: &[FilterAction], serializer: S) -> Result<S::Ok, S::Error> {
    let keyed = |action| Keyed {
        key: "parameter",
        action,
    };
    serializer.collect_seq(actions.iter().map(keyed))
}

/// An action with the key that its name has in JSON.
struct Keyed<'a> {
    key: &'static str,
    action: &'a FilterAction,
}

impl Serialize for Keyed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let kind = match self.action {
            FilterAction::Delete { .. } => "delete",
            FilterAction::Hash { .. } => "hash",
            FilterAction::Replace { .. } => "replace",
        };
        map.serialize_entry("type", kind)?;
        map.serialize_entry(self.key, self.action.name())?;
        if let FilterAction::Replace { value, .. } = self.action
            && !value.is_empty()
        {
            map.serialize_entry("value", value)?;
        }
        map.end()
    }
}
