//! Routes as values.

use std::{borrow::Borrow, fmt, ops::Deref, str::FromStr, sync::Arc};

/// A name of the language: a route's id, a predicate, a filter, a balancing algorithm.
///
/// It begins with an ASCII letter or `_`, and has letters, digits and `_`. Copies share their text: few names are used
/// over and over.
///
/// ```
/// assert_eq!("setPath".parse::<eskip::Name>()?.as_str(), "setPath");
/// assert!("set-path".parse::<eskip::Name>().is_err());
/// # Ok::<(), eskip::NameError>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Name(Arc<str>);

/// A text that is no [`Name`].
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is no name: names begin with a letter or `_`, and have letters, digits and `_`")]
pub struct NameError(String);

/// One route: which requests it is for, what is done with them, where they go.
///
/// The fields are free to be set; [`Route::check`] says whether a parser would have given such a route.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// `None` only for a route that is a document by itself.
    pub id: Option<Name>,
    /// All of them must hold. Empty for `*`: every request.
    pub predicates: Vec<Call>,
    /// In the order that requests pass them; responses pass them the other way round.
    pub filters: Vec<Call>,
    /// Where the request goes in the end.
    pub backend: Backend,
}

/// A predicate or a filter: a name with arguments, such as `Path("/api")`.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name. Whether there is such a predicate or filter is not known here.
    pub name: Name,
    /// The arguments in their order.
    pub args: Vec<Arg>,
}

/// An argument of a predicate or filter.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A number; finite.
    Number(f64),
    /// A string, or a regular expression: once read, they are the same.
    Text(String),
}

/// Where a route's requests go.
#[derive(Clone, Debug, PartialEq)]
pub enum Backend {
    /// `"https://app:8080"`: one server. The address is as it was written, and may be empty.
    Network(String),
    /// `<shunt>`: nowhere; the filters answer, or else it is 404.
    Shunt,
    /// `<loopback>`: through the routes again, as the filters have changed it.
    Loopback,
    /// `<dynamic>`: where a filter says.
    Dynamic,
    /// `<forward>`: where the operator of the proxy says.
    Forward,
    /// `<roundRobin, "http://a", "http://b">`: one of several servers.
    Balanced(Balanced),
}

/// Several servers, and how one of them is chosen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Balanced {
    /// The name of the algorithm; whether there is one of that name is not known here. `None` is the default, that
    /// of `roundRobin`.
    pub algorithm: Option<Name>,
    /// At least one, all with the same scheme.
    pub endpoints: Vec<Endpoint>,
}

/// One of several servers.
///
/// ```
/// let endpoint: eskip::Endpoint = "http://10.0.0.1:8080?zone=a".parse()?;
/// assert_eq!((endpoint.address(), endpoint.zone()), ("http://10.0.0.1:8080", Some("a")));
/// # Ok::<(), eskip::EndpointError>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Endpoint {
    address: String,
    zone: Option<String>,
    /// Bytes of the address before `://`.
    scheme: usize,
}

/// Why a text is no [`Endpoint`].
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("loadbalancer endpoint {text:?} is no address: {reason}")]
pub struct EndpointError {
    text: String,
    reason: &'static str,
}

// === impl Name ===

impl Name {
    /// As [`str::parse`].
    ///
    /// # Errors
    ///
    /// A text that is no name.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let mut bytes = text.bytes();
        let begins = bytes
            .next()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        if begins && bytes.all(is_symbol) {
            Ok(Self(text.into()))
        } else {
            Err(NameError(text.chars().take(LONGEST_SHOWN).collect()))
        }
    }

    /// A text that is known to be a name.
    pub(crate) fn of_symbol(text: &str) -> Self {
        Self(text.into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Of a wrong text, messages show at most so many characters.
pub(crate) const LONGEST_SHOWN: usize = 80;

/// Whether a name may go on with this byte.
pub(crate) const fn is_symbol(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl Arg ===

impl Arg {
    /// The string, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) => None,
        }
    }

    /// The number, if it is one.
    #[must_use]
    pub const fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

impl From<f64> for Arg {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Arg {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

// === impl Endpoint ===

impl Endpoint {
    /// The address: scheme, host and port, without the zone.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What the address said about the zone that the server is in.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    /// What stands before `://`, as it was written.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.address.get(..self.scheme).unwrap_or_default()
    }

    /// Whether both are reached in the same way: schemes don't heed case.
    pub(crate) fn speaks_as(&self, other: &Self) -> bool {
        self.scheme().eq_ignore_ascii_case(other.scheme())
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let error = |reason| EndpointError {
            text: text.chars().take(LONGEST_SHOWN).collect(),
            reason,
        };
        let (scheme, rest) = text
            .split_once(':')
            .and_then(|(scheme, rest)| Some((scheme, rest.strip_prefix("//")?)))
            .ok_or_else(|| error("it has no scheme, such as http://"))?;
        let mut bytes = scheme.bytes();
        let begins = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic());
        if !begins || !bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
            return Err(error(
                "its scheme has other characters than letters, digits, `+`, `-` and `.`",
            ));
        }
        let strange = |c: char| c.is_control() || c.is_whitespace();
        let plain = rest.bytes().all(|byte| byte.is_ascii_graphic());
        if !plain && rest.chars().any(strange) {
            return Err(error("it has a space or a control character"));
        }
        if rest.is_empty() || rest.starts_with(['/', '?', '#', ':']) {
            return Err(error("it has no host"));
        }
        let (address, zone) = without_zone(text);
        Ok(Self {
            address,
            zone,
            scheme: scheme.len(),
        })
    }
}

/// Takes `zone=` out of the query.
fn without_zone(text: &str) -> (String, Option<String>) {
    let Some((address, query)) = text.split_once('?') else {
        return (text.to_owned(), None);
    };
    let mut address = address.to_owned();
    let mut zone = None;
    let mut separator = '?';
    for parameter in query.split('&') {
        if let Some(value) = parameter.strip_prefix("zone=") {
            zone = zone.or_else(|| Some(value.to_owned()).filter(|value| !value.is_empty()));
        } else {
            address.push(separator);
            address.push_str(parameter);
            separator = '&';
        }
    }
    (address, zone)
}

/// As it is written: with its zone.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)?;
        let Some(zone) = &self.zone else {
            return Ok(());
        };
        let separator = if self.address.contains('?') { '&' } else { '?' };
        write!(f, "{separator}zone={zone}")
    }
}
