//! What requests must be like.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser::SerializeStruct};

/// Conditions that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MatcherSet {
    /// The client's address, found through trusted proxies, lies in one of these ranges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_ip: Option<IpMatcher>,
    /// A condition written as an expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<Expression>,
    /// The client's address, found through trusted proxies, lies in one of these countries: two letters each, in upper
    /// case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geo_country: Option<Vec<String>>,
    /// Fields that must all match: `None` is absent, an empty list present, else one of the values (with `*` at
    /// either end as a wildcard). `Host` is the request's host.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub header: BTreeMap<String, Option<Vec<String>>>,
    /// Fields of which some value must match, all of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub header_regexp: BTreeMap<String, RegexpMatcher>,
    /// The request's host is one of these; `*` stands for one whole label. Case does not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Vec<String>>,
    /// The method is one of these, upper case in effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Vec<String>>,
    /// None of these sets matches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not: Vec<Self>,
    /// The path is like one of these: `/exact`, `/prefix*`, `*suffix`, `*inside*`, or a glob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
    /// The decoded path, cleaned of dots and double slashes, matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_regexp: Option<RegexpMatcher>,
    /// `http`, `https`, `grpc`, or a version such as `http/2`, with a `+` for this or a later one. Any other
    /// matches nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Parameters that must all match one of their values; `*` is any value. An empty map asks for an empty query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<BTreeMap<String, Vec<String>>>,
    /// The peer's address lies in one of these ranges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_ip: Option<IpMatcher>,
    /// Variables, or placeholders in braces, of which *one* must be one of its values; an empty map always matches.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub vars: BTreeMap<String, Vec<String>>,
    /// Variables, or placeholders in braces, of which *one* must match; an empty map always matches.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub vars_regexp: BTreeMap<String, RegexpMatcher>,
}

/// Networks and single addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IpMatcher {
    /// Each an address, a network in CIDR form, or a placeholder such as `{env.OFFICE}` that stands for one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<String>,
}

/// A regular expression, found anywhere in the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RegexpMatcher {
    /// Its groups are the placeholders `{http.regexp.NAME.GROUP}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The expression; its case matters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pattern: String,
}

/// A condition written as an expression, such as `{http.request.method} in ["GET", "HEAD"]`. A string in JSON if
/// it has no name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expression {
    /// The expression, which [`crate::expression`] reads.
    pub expr: String,
    /// The name of the regular expressions in it that have none.
    pub name: Option<String>,
}

// === impl MatcherSet ===

impl MatcherSet {
    /// Whether it has no condition, so that every request matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl MatcherSet {
    /// How many values it has, at any depth; at least one.
    pub(crate) fn weight(&self) -> usize {
        let list = |list: &Option<Vec<String>>| list.as_ref().map_or(0, Vec::len);
        let ranges = |matcher: &Option<IpMatcher>| matcher.as_ref().map_or(0, |matcher| matcher.ranges.len());
        let lists =
            |map: &BTreeMap<String, Vec<String>>| map.values().map(|list| list.len().saturating_add(1)).sum();
        let header = |values: &Option<Vec<String>>| list(values).saturating_add(1);
        [
            1,
            list(&self.geo_country),
            list(&self.host),
            list(&self.method),
            list(&self.path),
            ranges(&self.client_ip),
            ranges(&self.remote_ip),
            self.header.values().map(header).sum(),
            self.header_regexp.len(),
            self.query.as_ref().map_or(0, lists),
            lists(&self.vars),
            self.vars_regexp.len(),
            self.not.iter().map(Self::weight).sum(),
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }
}

// === impl Expression ===

impl Serialize for Expression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(name) = &self.name else {
            return serializer.serialize_str(&self.expr);
        };
        let mut object = serializer.serialize_struct("Expression", 2)?;
        object.serialize_field("expr", &self.expr)?;
        object.serialize_field("name", name)?;
        object.end()
    }
}
