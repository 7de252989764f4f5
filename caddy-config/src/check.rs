//! Rules about single values that both surfaces share.

use crate::{
    model::IpRange,
    regexp,
    template::{Template, TemplateError},
};

/// Why a value with placeholders is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ValueError {
    #[error("a line break or control character in a header field")]
    Control,
    #[error(transparent)]
    Placeholder(TemplateError),
}

/// A field name of HTTP: one word without delimiters.
pub(crate) fn field_name(name: &str) -> Result<(), &'static str> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.contains('{') {
        return Err("placeholders in field names are not supported yet");
    }
    if !name.is_empty() && name.bytes().all(token) {
        Ok(())
    } else {
        Err("this is not the name of a header field")
    }
}

/// A field value of HTTP, with placeholders.
pub(crate) fn field_value(value: &str) -> Result<(), ValueError> {
    if value.chars().any(|c| c.is_ascii_control() && c != '\t') {
        return Err(ValueError::Control);
    }
    template(value)
}

/// Text with placeholders, all of them supported.
pub(crate) fn template(text: &str) -> Result<(), ValueError> {
    text.parse::<Template>()
        .map(drop)
        .map_err(ValueError::Placeholder)
}

/// What a secret must be, and where to get one.
pub(crate) const SECRET_HELP: &str = "a key is one word, standard base64 of 16, 24 or 32 bytes, the same as the \
    SECRET of the Doors app; make one with `doorway token secret`";

/// The secret of a `doors_handler`. The error does not show it.
pub(crate) fn secret(text: &str) -> Result<(), String> {
    use doors_token::{KeyError, TokenCipher};
    match TokenCipher::new(text) {
        Ok(_) => Ok(()),
        Err(KeyError::Base64) => Err("the secret is not standard base64 with padding".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A value that Caddy would search for placeholders and Doorway does not yet.
pub(crate) fn no_placeholder(text: &str) -> Result<(), &'static str> {
    let braced = text.split_once('{').is_some_and(|(_, rest)| rest.contains('}'));
    if braced {
        Err("placeholders are not supported here")
    } else {
        Ok(())
    }
}

/// A regular expression.
pub(crate) fn regex(pattern: &str) -> Result<(), String> {
    regexp::compile(pattern)
        .map(drop)
        .map_err(|error| error.to_string())
}

/// An address, a network in CIDR form, or text with a placeholder that stands for one.
pub(crate) fn ip_range(text: &str) -> Result<(), &'static str> {
    if no_placeholder(text).is_err() || text.parse::<IpRange>().is_ok() {
        Ok(())
    } else {
        Err("neither an IP address nor a network such as 10.0.0.0/8")
    }
}

/// What the mode of a file looks like.
pub(crate) const FILE_MODE: &str = "expected octal permissions, such as 0640";

/// What the mode of a directory looks like.
pub(crate) const DIR_MODE: &str = "expected octal permissions, such as 0750, or inherit or from_file";

/// What a time of day looks like.
pub(crate) const TIME_OF_DAY: &str = "expected a time of day from 00:00 to 23:59";

/// A name for how durations in logs are written.
pub(crate) fn duration_format(name: &str) -> Result<(), String> {
    const KNOWN: [&str; 10] = [
        "s", "second", "seconds", "ns", "nano", "nanos", "ms", "milli", "millis", "string",
    ];
    one_of(name, &KNOWN)
}

/// A name for how levels in logs are written.
pub(crate) fn level_format(name: &str) -> Result<(), String> {
    one_of(name, &["lower", "upper", "color"])
}

fn one_of(name: &str, known: &[&str]) -> Result<(), String> {
    if known.contains(&name) {
        Ok(())
    } else {
        Err(format!("expected one of {}", known.join(", ")))
    }
}

/// A number that is read again as the same wherever it is printed.
pub(crate) fn plain_number(text: &str) -> Result<serde_json::Number, &'static str> {
    let read = |text: &str| serde_json::from_str::<serde_json::Number>(text).ok();
    let number = read(text).ok_or("this is not a number that can be kept exactly")?;
    if read(&number.to_string()).as_ref() == Some(&number) {
        Ok(number)
    } else {
        Err("this is not a number that can be kept exactly")
    }
}

/// A host name or IP address, without brackets and without a port.
pub(crate) fn host(host: &str) -> Result<(), &'static str> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    let name = !host.is_empty() && host.len() <= 253 && host.bytes().all(word);
    if name || host.parse::<std::net::IpAddr>().is_ok() {
        Ok(())
    } else {
        Err("this is not a host name or an IP address")
    }
}

/// A status that ends a response; 1xx do not.
pub(crate) fn final_status(status: u64) -> Option<u16> {
    u16::try_from(status)
        .ok()
        .filter(|status| (200..=999).contains(status))
}

/// A name the way header fields are usually written, as Caddy stores it: `x-a` becomes `X-A`.
pub(crate) fn canonical_field(name: &str) -> String {
    let mut upper = true;
    let cased = name.chars().map(|c| {
        let cased = if upper {
            c.to_ascii_uppercase()
        } else {
            c.to_ascii_lowercase()
        };
        upper = c == '-';
        cased
    });
    cased.collect()
}

#[cfg(test)]
mod tests {
    use super::{canonical_field, field_name, field_value, host, regex};

    #[test]
    fn field_names_are_tokens() {
        assert!(field_name("X-A_b.c").is_ok());
        for name in ["", "X A", "X:", "X\n", "{http.request.host}", "\u{e9}"] {
            assert!(field_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn field_values_have_no_line_breaks() {
        assert!(field_value("a\tb {http.request.host} \u{e9}").is_ok());
        assert!(field_value("a\r\nSet-Cookie: b").is_err());
        assert!(field_value("{http.request.body}").is_err());
    }

    #[test]
    fn hosts_are_names_or_addresses() {
        for name in ["a", "svc.ns.svc.cluster.local", "10.0.0.1", "::1", "my_pod"] {
            assert!(host(name).is_ok(), "{name}");
        }
        for name in ["", "a b", "a:80", "http://a", "[::1]", "{env.X}"] {
            assert!(host(name).is_err(), "{name}");
        }
    }

    #[test]
    fn field_names_are_stored_in_their_usual_form() {
        assert_eq!(canonical_field("x-foo-BAR"), "X-Foo-Bar");
        assert_eq!(canonical_field("ETag"), "Etag");
    }

    #[test]
    fn a_wrong_expression_says_what_is_wrong() {
        assert!(regex("^/a(b|c)$").is_ok());
        assert_eq!(
            regex("(a").unwrap_err(),
            "this regular expression is wrong: unclosed group"
        );
        assert!(regex(&"(".repeat(10_000)).is_err());
    }
}
