//! What an Ingress says beside its rules.

use std::collections::BTreeMap;

use ipnet::IpNet;
use route_store::document::{LOAD_BALANCING as POLICIES, RawField, RawFields, RawHeaders};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

/// What ours begin with.
const PREFIX: &str = "doorway.dev/";

const BASIC_AUTH: &str = "basic-auth-secret";
const DOORS_CIDRS: &str = "doors-cidrs";
const DOORS_COOKIE: &str = "doors-cookie";
const DOORS_SECRET: &str = "doors-secret";
const HANDLERS: &str = "handlers";
const LOAD_BALANCING: &str = "load-balancing";
const REDIRECT: &str = "redirect";
const REQUEST_HEADERS: &str = "request-headers";
const RESPONSE_HEADERS: &str = "response-headers";

const NAMES: [&str; 9] = [
    BASIC_AUTH,
    DOORS_CIDRS,
    DOORS_COOKIE,
    DOORS_SECRET,
    HANDLERS,
    LOAD_BALANCING,
    REDIRECT,
    REQUEST_HEADERS,
    RESPONSE_HEADERS,
];

/// All annotations of an Ingress that are ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Annotations {
    /// The name of a policy.
    pub(super) load_balancing: Option<String>,
    /// Whether plain HTTP is redirected.
    pub(super) redirect: Option<bool>,
    /// Fields that change.
    pub(super) headers: Option<RawHeaders>,
    /// Handlers that run first.
    pub(super) handlers: Vec<Value>,
    /// The Secret with the accounts of those who may pass.
    pub(super) basic_auth: Option<String>,
    /// What a Doors app needs.
    pub(super) doors: Option<DoorsApp>,
}

/// What is said of a Doors app.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DoorsApp {
    /// The Secret with its key.
    pub(super) secret: String,
    /// The networks of pods: of a Service that is named, or of all.
    pub(super) cidrs: Vec<(Option<String>, IpNet)>,
    /// The name of its id cookie.
    pub(super) cookie: Option<String>,
}

/// What is wrong with an annotation. Values are not shown.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub(super) enum AnnotationError {
    #[error("there is no annotation `{PREFIX}{name}`{}", suggestion(name))]
    Unknown { name: String },
    #[error("`{PREFIX}{name}` must be {expected}")]
    Value {
        name: &'static str,
        expected: &'static str,
    },
    #[error(
        "`{PREFIX}{name}` may not read files or the environment of the proxy: no placeholder in it may begin with \
        `env.`, `file.` or `system.`"
    )]
    Placeholder { name: &'static str },
    #[error("`{PREFIX}{HANDLERS}` is not allowed by the configuration of the proxy")]
    Handlers,
    #[error("`{PREFIX}{name}` is of no use without `{PREFIX}{DOORS_SECRET}`")]
    NoDoorsSecret { name: &'static str },
    #[error("`{PREFIX}{DOORS_SECRET}` needs `{PREFIX}{DOORS_CIDRS}`, the networks of the pods")]
    NoDoorsCidrs,
}

// === impl Annotations ===

impl Annotations {
    /// Reads what is ours; everything else is left alone.
    ///
    /// # Errors
    ///
    /// Everything that is wrong: then the Ingress cannot be served as its owner wants, so it is not served.
    pub(super) fn read(
        given: &BTreeMap<String, String>,
        allow_handlers: bool,
    ) -> Result<Self, Vec<AnnotationError>> {
        let mut reader = Reader {
            ours: given
                .iter()
                .filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, value.as_str())))
                .collect(),
            errors: Vec::new(),
        };
        for name in reader.ours.keys().filter(|name| !NAMES.contains(name)) {
            reader.errors.push(AnnotationError::Unknown {
                name: (*name).to_owned(),
            });
        }
        let handlers: Vec<Value> = reader
            .json(HANDLERS, "a JSON list of handlers", |list: &Vec<Value>| {
                list.iter()
                    .all(|handler| handler.get("handler").is_some_and(Value::is_string))
            })
            .unwrap_or_default();
        if !handlers.is_empty() && !allow_handlers {
            reader.errors.push(AnnotationError::Handlers);
        }
        let annotations = Self {
            load_balancing: reader.value(
                LOAD_BALANCING,
                "the name of a policy that needs no settings, such as `least_conn`",
                |name| POLICIES.contains(&name).then(|| name.to_owned()),
            ),
            redirect: reader.value(REDIRECT, "`true` or `false`", |text| text.parse().ok()),
            headers: reader.headers(allow_handlers),
            handlers,
            basic_auth: reader.word(BASIC_AUTH, "the name of a Secret"),
            doors: reader.doors(),
        };
        if reader.errors.is_empty() {
            Ok(annotations)
        } else {
            Err(reader.errors)
        }
    }
}

/// Changes of fields, as an annotation has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(default)]
    add: BTreeMap<String, String>,
    #[serde(default)]
    set: BTreeMap<String, String>,
    #[serde(default)]
    remove: Vec<String>,
}

// === impl Fields ===

impl From<Fields> for RawFields {
    fn from(fields: Fields) -> Self {
        let list = |fields: BTreeMap<String, String>| {
            let fields = fields.into_iter();
            fields.map(|(name, value)| RawField { name, value }).collect()
        };
        Self {
            add: list(fields.add),
            set: list(fields.set),
            remove: fields.remove,
        }
    }
}

/// Takes annotations and gathers what is wrong.
struct Reader<'a> {
    ours: BTreeMap<&'a str, &'a str>,
    errors: Vec<AnnotationError>,
}

// === impl Reader ===

impl Reader<'_> {
    fn value<T>(
        &mut self,
        name: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let parsed = parse(self.ours.get(name)?.trim());
        if parsed.is_none() {
            self.errors.push(AnnotationError::Value { name, expected });
        }
        parsed
    }

    fn word(&mut self, name: &'static str, expected: &'static str) -> Option<String> {
        self.value(name, expected, |text| {
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            (!text.is_empty() && text.bytes().all(is_word)).then(|| text.to_owned())
        })
    }

    fn json<T: DeserializeOwned>(
        &mut self,
        name: &'static str,
        expected: &'static str,
        fits: impl FnOnce(&T) -> bool,
    ) -> Option<T> {
        self.value(name, expected, |text| {
            serde_json::from_str(text).ok().filter(fits)
        })
    }

    fn headers(&mut self, trusted: bool) -> Option<RawHeaders> {
        let request = self.fields(REQUEST_HEADERS, trusted);
        let response = self.fields(RESPONSE_HEADERS, trusted);
        (request.is_some() || response.is_some()).then_some(RawHeaders { request, response })
    }

    /// Values of fields have placeholders, some of which show what only the proxy may read.
    fn fields(&mut self, name: &'static str, trusted: bool) -> Option<RawFields> {
        let expected = r#"JSON such as {"set":{"X-Frame-Options":"DENY"},"remove":["Server"]}"#;
        let fields = RawFields::from(self.json::<Fields>(name, expected, |_| true)?);
        let reads = |value: &str| {
            let starts = ["{env.", "{file.", "{system.", "{$"];
            starts.iter().any(|start| value.contains(start))
        };
        let mut written = fields.add.iter().chain(&fields.set);
        if !trusted && written.any(|field| reads(&field.value)) {
            self.errors.push(AnnotationError::Placeholder { name });
        }
        Some(fields)
    }

    fn doors(&mut self) -> Option<DoorsApp> {
        let cidrs = self.value(
            DOORS_CIDRS,
            "networks of pods such as `10.0.0.0/24, fd00::/64`, or `service=10.0.0.0/24` for each Service, without \
             addresses of the proxy's own machine and of links",
            cidrs,
        );
        let cookie = self.word(DOORS_COOKIE, "the name of a cookie");
        let Some(secret) = self.word(DOORS_SECRET, "the name of a Secret") else {
            for name in [DOORS_CIDRS, DOORS_COOKIE] {
                if self.ours.contains_key(name) && !self.ours.contains_key(DOORS_SECRET) {
                    self.errors.push(AnnotationError::NoDoorsSecret { name });
                }
            }
            return None;
        };
        if !self.ours.contains_key(DOORS_CIDRS) {
            self.errors.push(AnnotationError::NoDoorsCidrs);
        }
        Some(DoorsApp {
            secret,
            cidrs: cidrs?,
            cookie,
        })
    }
}

/// Networks, separated by commas, each of the Service whose name is before it.
fn cidrs(text: &str) -> Option<Vec<(Option<String>, IpNet)>> {
    text.split(',')
        .map(|part| match part.trim().split_once('=') {
            Some((service, cidr)) if !service.trim().is_empty() => {
                Some((Some(service.trim().to_owned()), network(cidr)?))
            }
            Some(_) => None,
            None => Some((None, network(part)?)),
        })
        .collect()
}

/// A network that pods can be in. Whoever may write Ingresses has the key of the tokens, so they lead to any address of it:
/// never to what listens on the machine of the proxy alone, nor to the metadata of a cloud.
fn network(text: &str) -> Option<IpNet> {
    let network: IpNet = text.trim().parse().ok()?;
    let is_fine = LOCAL
        .iter()
        .filter_map(|local| local.parse::<IpNet>().ok())
        .all(|local| {
            let overlap = network.contains(&local) || local.contains(&network);
            !overlap
        });
    is_fine.then_some(network)
}

/// No pod has its address there.
const LOCAL: [&str; 10] = [
    "0.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "224.0.0.0/4",
    "255.255.255.255/32",
    "::/128",
    "::1/128",
    "::ffff:0:0/96",
    "fe80::/10",
    "ff00::/8",
];

/// The name that was probably meant.
fn suggestion(given: &str) -> String {
    let nearest = NAMES
        .iter()
        .map(|name| (distance(given, name), name))
        .min()
        .filter(|(distance, _)| *distance <= 4);
    nearest.map_or_else(
        || format!("; there are {}", NAMES.join(", ")),
        |(_, name)| format!("; did you mean `{PREFIX}{name}`?"),
    )
}

/// How many letters must be put in, left out or exchanged.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (number, letter) in one.chars().enumerate() {
        let mut diagonal = number;
        let mut left = number.saturating_add(1);
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, against) in row.iter_mut().skip(1).zip(other.chars()) {
            let exchanged = diagonal.saturating_add(usize::from(letter != against));
            diagonal = *cell;
            left = exchanged.min(left.saturating_add(1)).min(cell.saturating_add(1));
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
