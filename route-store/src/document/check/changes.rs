//! Changes of fields.

use http::{HeaderName, HeaderValue};

use super::super::fields::shorten;
use super::super::problem::Found;
use super::super::{RawField, RawFields, RawHeaders};

/// Fields that belong to one connection, or say where a message ends: the proxy alone sets them.
const OF_CONNECTIONS: [&str; 8] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Checks changes, and drops those that change nothing.
pub(super) fn check(headers: &mut Option<Box<RawHeaders>>, place: &str, found: &mut Found) {
    let Some(changes) = headers else {
        return;
    };
    let place = match place {
        "" => "headers".to_owned(),
        place => format!("{place}.headers"),
    };
    direction(&mut changes.request, &format!("{place}.request"), found);
    direction(&mut changes.response, &format!("{place}.response"), found);
    if changes.request.is_none() && changes.response.is_none() {
        *headers = None;
    }
}

fn direction(fields: &mut Option<RawFields>, place: &str, found: &mut Found) {
    let Some(changes) = fields else {
        return;
    };
    for (list, values) in [("add", &changes.add), ("set", &changes.set)] {
        for (number, RawField { name, value }) in values.iter().enumerate() {
            check_name(name, &format!("{place}.{list}[{number}].name"), found);
            if HeaderValue::from_bytes(value.as_bytes()).is_err() {
                let message = "a value has no line breaks and no other control characters";
                found.say(&format!("{place}.{list}[{number}].value"), message);
            }
        }
    }
    for (number, name) in changes.remove.iter().enumerate() {
        check_name(name, &format!("{place}.remove[{number}]"), found);
    }
    if *changes == RawFields::default() {
        *fields = None;
    }
}

fn check_name(name: &str, place: &str, found: &mut Found) {
    match HeaderName::from_bytes(name.as_bytes()) {
        Ok(parsed) if OF_CONNECTIONS.contains(&parsed.as_str()) => {
            found.say(
                place,
                format!("`{parsed}` belongs to a connection, and the proxy alone sets it"),
            );
        }
        Ok(_) => {}
        Err(_) => found.say(
            place,
            format!("`{}` is no name of a field", shorten(name).escape_debug()),
        ),
    }
}
