//! The parts of a route, and what is refused of them.

use serde_json::Value;

use super::super::fields::{Fields, shorten};
use super::super::problem::Found;
use super::super::raw::field;
use super::super::{RawField, RawFields, RawTls, RawUpstream};

/// An upstream and the fields of requests to it.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) raw: RawUpstream,
    pub(super) fields: Vec<RawField>,
}

/// An upstream. TLS is spoken at port 443, as in Proksi, and wherever a name for it is given.
pub(super) fn upstream(value: Value, place: &str, host: &str, found: &mut Found) -> Upstream {
    let mut fields = Fields::of(value, place, found);
    let ip = fields.needed_text("ip");
    let before = fields.found.len();
    let port = port(&mut fields);
    if port.is_none() && fields.found.len() == before {
        fields.say("port", "it is missing");
    }
    let weight = fields.small("weight");
    let sni = fields.text("sni");
    if fields.take("network").is_some() {
        fields.say("network", "it has no effect: leave it out");
    }
    let added = fields.object("headers", |value, place, found| {
        let mut fields = Fields::of(value, place, found);
        let added = fields.list("add", field).unwrap_or_default();
        if fields.take("remove").is_some_and(|remove| remove != Value::Array(Vec::new())) {
            fields.say("remove", "fields of requests to one upstream cannot be removed: use `headers.request.remove` of a document of version 2");
        }
        fields.end();
        added
    });
    fields.end();
    let sni = sni.or_else(|| (port == Some(443)).then(|| host.to_owned()));
    Upstream {
        raw: RawUpstream {
            address: address(&ip, port.unwrap_or(1)),
            weight,
            sni,
        },
        fields: added.unwrap_or_default(),
    }
}

/// A port, which is text where it comes out of the environment.
fn port(fields: &mut Fields<'_>) -> Option<u16> {
    let value = fields.take("port")?;
    let digits = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = value.as_str().filter(digits).and_then(|text| text.parse().ok());
    let number = text.or_else(|| value.as_u64().and_then(|number| u16::try_from(number).ok()));
    let number = number.filter(|number| *number > 0);
    if number.is_none() {
        fields.say("port", "a whole number from 1 to 65535 is expected");
    }
    number
}

/// What a route calls an IP may be a name too.
fn address(ip: &str, port: u16) -> String {
    if ip.parse::<std::net::Ipv6Addr>().is_ok() {
        return format!("[{ip}]:{port}");
    }
    format!("{ip}:{port}")
}

/// Changes of answers: Proksi removes after it has added.
pub(super) fn headers(value: Value, place: &str, found: &mut Found) -> Option<RawFields> {
    let mut fields = Fields::of(value, place, found);
    let added = fields.list("add", field).unwrap_or_default();
    let removed = fields.list("remove", |value, place, found| match value {
        Value::String(name) => name,
        value => {
            let mut fields = Fields::of(value, place, found);
            let name = fields.needed_text("name");
            fields.end();
            name
        }
    });
    fields.end();
    let remove = removed.unwrap_or_default();
    let is_removed = |field: &RawField| remove.iter().any(|name| name.eq_ignore_ascii_case(&field.name));
    let left = added.into_iter().filter(|field| !is_removed(field)).collect();
    let mut changes = super::set(left).unwrap_or_default();
    changes.remove = remove;
    Some(changes)
}

pub(super) fn ssl(value: Value, place: &str, found: &mut Found) -> Option<RawTls> {
    let mut fields = Fields::of(value, place, found);
    for name in ["min_proto", "max_proto"] {
        if fields.take(name).is_some() {
            fields.say(
                name,
                "versions of TLS are a setting of the listener: leave it out",
            );
        }
    }
    no_self_signed(&mut fields, "self_signed_fallback");
    let tls = fields.object("path", |value, place, found| {
        let mut fields = Fields::of(value, place, found);
        let tls = RawTls {
            certificate: fields.needed_text("pem"),
            key: fields.needed_text("key"),
            redirect: None,
        };
        fields.end();
        tls
    });
    fields.end();
    tls
}

pub(super) fn ssl_certificate(value: Value, place: &str, found: &mut Found) {
    let mut fields = Fields::of(value, place, found);
    no_self_signed(&mut fields, "self_signed_on_failure");
    fields.end();
}

fn no_self_signed(fields: &mut Fields<'_>, name: &'static str) {
    if fields.flag(name) == Some(true) {
        fields.say(
            name,
            "a route makes no certificates: leave it out, and give files as `ssl.path` for HTTPS",
        );
    }
}

pub(super) fn cache(value: &Value, place: &str, found: &mut Found) {
    if value.get("enabled").and_then(Value::as_bool) != Some(false) {
        let message = "answers are kept by filters: write the route as a document of version 2 with `eskip`";
        found.say(place, message);
    }
}

/// Plugins change who may see a site, so none is left out.
pub(super) fn plugins(plugins: &Value, found: &mut Found) {
    let Value::Array(plugins) = plugins else {
        found.say("plugins", "a list is expected");
        return;
    };
    for (number, plugin) in plugins.iter().enumerate() {
        let name = plugin.get("name").and_then(Value::as_str).unwrap_or_default();
        let message = match name {
            "basic_auth" => "the password is plain here and a hash in Doorway: write the route as a document of version 2 with an `authentication` handler, and hash the password with `doorway hash-password`".to_owned(),
            "request_id" => "write the route as a document of version 2, and set a field with `{http.request.uuid}` in `headers.request`".to_owned(),
            "oauth2" => "there is no counterpart: write the route as a document of version 2 with a `reverse_proxy` among its `handlers` that asks a login service first".to_owned(),
            _ => format!("there is no counterpart of plugin `{}`: write the route as a document of version 2 with `handlers`", shorten(name)),
        };
        found.say(&format!("plugins[{number}]"), message);
    }
}
