//! Rules about single values that both surfaces share.

mod auth;
mod consul;
mod eskip;
mod geo;
mod proxy;
pub(crate) mod route_sources;
mod tls;

pub(crate) use self::{
    auth::{HASH_HELP, password_hash, user_name},
    consul::{consul_address, consul_client, consul_locality, consul_service, consul_token_once},
    eskip::{
        PROBABILITY, default_status, drop_probabilities, edit, eskip_host, filter_name, forward_backend,
        max_loopbacks, not_zero, probability, routes_source,
    },
    geo::{REDIRECT_STATUSES, country, download_url, is_assigned, redirect_domain, redirect_status},
    proxy::{
        at_least_one, bound, breaker_window, choose, cookie_name, health_upstream, health_value,
        is_status_or_class, percent, port_text, proxy_url, weights,
    },
    tls::{
        CLIENT_AUTH_MODES, alpn, authority, base64, cipher, curve, http_url, renewal_window_ratio, versions,
    },
};
use crate::{
    model::{HostPortError, IpRange, ListenAddress, ListenError, ListenerWrapper},
    template::{Part, Placeholder, Template, TemplateError},
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
    no_control(value)?;
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

/// The path of a file: not empty, and without placeholders, which nobody would fill in.
pub(crate) fn file(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        Err("the path is empty")
    } else {
        no_placeholder(path)
    }
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

/// The number that a word of a Caddyfile writes; `None` if it writes none.
///
/// Caddy reads what Go reads as a number, and keeps a float of 64 bits. The error is about a number that would not
/// print as Caddy prints it.
pub(crate) fn go_number(text: &str) -> Option<Result<serde_json::Number, &'static str>> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    if hexadecimal && digits.contains(['p', 'P']) {
        return Some(Err("hexadecimal numbers are not supported"));
    }
    if ["inf", "infinity", "nan"]
        .iter()
        .any(|word| digits.eq_ignore_ascii_case(word))
    {
        return Some(Err("this is not a number that JSON has"));
    }
    let plain = |c: char| c.is_ascii_digit() || "._eE+-".contains(c);
    let underscored = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || !digits.chars().all(plain)
        || underscored
    {
        return None;
    }
    let clean = text.replace('_', "");
    let mut number: f64 = clean.parse().ok()?;
    if number == 0.0 && clean.parse::<i64>().is_ok() {
        // A whole number has no sign at zero.
        number = 0.0;
    }
    // Go writes numbers out up to 21 digits, and very small ones with an exponent; so does this, or it fails.
    let written = number.to_string();
    let exact = written.parse::<i64>().map(Into::into).ok();
    let number = exact.or_else(|| serde_json::Number::from_f64(number));
    Some(
        number
            .filter(|number| number.to_string() == written)
            .ok_or("this number is too large or too small to be kept"),
    )
}

/// Where the administration endpoint listens; else what is wrong, and what to do.
pub(crate) fn admin_address(text: &str) -> Result<(), (String, &'static str)> {
    let help = "write host:port, such as localhost:2019, or unix//path/of/the.sock";
    if let Err(message) = no_placeholder(text) {
        return Err((message.to_owned(), help));
    }
    match text.parse::<ListenAddress>() {
        Ok(_) => Ok(()),
        // Without a port it is the usual one.
        Err(ListenError::Address(HostPortError::NoPort)) if host(text.trim_matches(['[', ']'])).is_ok() => {
            Ok(())
        }
        Err(error) => Err((error.to_string(), help)),
    }
}

/// Whether a listener wrapper may stand behind others; else what is wrong, and what to do.
pub(crate) fn next_wrapper(
    before: &[ListenerWrapper],
    next: &ListenerWrapper,
) -> Result<(), (&'static str, &'static str)> {
    if *next == (ListenerWrapper::Tls {}) && before.is_empty() {
        return Err((
            "`tls` stands first among the listener wrappers, which is how it is without it",
            "put it behind those that act before TLS, or remove it",
        ));
    }
    let same = |other: &ListenerWrapper| std::mem::discriminant(other) == std::mem::discriminant(next);
    if before.iter().any(same) {
        return Err(("this listener wrapper is there already", "remove one of them"));
    }
    Ok(())
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

/// A host to match: a name, an address, `*` for a label, or text with placeholders; a name outside ASCII in the form
/// that it has in requests.
pub(crate) fn host_pattern(host: &str) -> Result<String, &'static str> {
    const WRONG: &str = "this is not a host name or an IP address";
    let host = ascii_host(host).ok_or(WRONG)?;
    let other = |c: char| c.is_whitespace() || c.is_control() || "/@".contains(c);
    if host.is_empty() || host.contains(other) {
        Err(WRONG)
    } else {
        Ok(host)
    }
}

/// A host name without characters outside ASCII; these become `xn--...`. What is in ASCII already stays as it is.
pub(crate) fn ascii_host(host: &str) -> Option<String> {
    if host.is_ascii() {
        Some(host.to_owned())
    } else {
        // Some characters count for nothing; a name of only these must not become every host.
        idna::domain_to_ascii(host).ok().filter(|host| !host.is_empty())
    }
}

/// Text without line breaks or other control characters.
pub(crate) fn no_control(text: &str) -> Result<(), ValueError> {
    if text.chars().any(|c| c.is_ascii_control() && c != '\t') {
        Err(ValueError::Control)
    } else {
        Ok(())
    }
}

/// A placeholder that a `map` sets: one name of the user's own in braces.
pub(crate) fn map_destination(text: &str) -> Result<(), String> {
    let template = text.parse::<Template>();
    match template.as_ref().map(Template::parts) {
        Ok([Part::Placeholder(Placeholder::Variable(_))]) => Ok(()),
        Ok([Part::Placeholder(_)]) | Err(_) => Err("this placeholder has a meaning of its own".to_owned()),
        _ => Err("a destination is one name in braces, such as `{backend}`".to_owned()),
    }
}

/// A method, or text with placeholders that makes one.
pub(crate) fn method_template(text: &str) -> Result<(), &'static str> {
    if text.contains('{') { Ok(()) } else { method(text) }
}

/// A method of HTTP: one word, in any case.
pub(crate) fn method(method: &str) -> Result<(), &'static str> {
    field_name(method).map_err(|_| "this is not a method of HTTP")
}

/// The interim status that a configuration may send.
pub(crate) const EARLY_HINTS: u16 = 103;

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
    use super::{ascii_host, canonical_field, field_name, field_value, go_number, host};

    #[test]
    fn field_names_are_tokens() {
        assert!(field_name("X-A_b.c").is_ok());
        for name in ["", "X A", "X:", "X\n", "{http.request.host}", "\u{e9}"] {
            assert!(field_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn names_outside_ascii_get_the_form_of_requests() {
        for (host, expected) in [
            ("Bücher.example", Some("xn--bcher-kva.example")),
            ("*.bücher.example", Some("*.xn--bcher-kva.example")),
            ("例え。jp", Some("xn--r8jz45g.jp")),
            ("A.example", Some("A.example")),
            ("\u{ad}", None),
            ("xn--\u{fc}", None),
        ] {
            assert_eq!(ascii_host(host).as_deref(), expected, "{host}");
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
    fn numbers_are_those_of_go() {
        for (text, number) in [
            ("007", "7"),
            ("+3", "3"),
            ("-3", "-3"),
            ("1e3", "1000"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1_000", "1000"),
            ("1.10", "1.1"),
            ("-0", "0"),
            ("9007199254740993", "9007199254740992"),
            ("1234567890123456789", "1234567890123456800"),
        ] {
            let read = go_number(text).unwrap().unwrap();
            assert_eq!(read.to_string(), number, "{text}");
        }
        for text in [
            "", "a", "0x10", "1,5", "1_", "_1", "1.2.3", "--1", "e5", ".", "1e",
        ] {
            assert_eq!(go_number(text), None, "{text}");
        }
        for text in [
            "inf",
            "NaN",
            "-Infinity",
            "0x1p-2",
            "1e21",
            "1e400",
            "1e-7",
            "-0.0",
        ] {
            assert!(go_number(text).unwrap().is_err(), "{text}");
        }
    }

    #[test]
    fn field_names_are_stored_in_their_usual_form() {
        assert_eq!(canonical_field("x-foo-BAR"), "X-Foo-Bar");
        assert_eq!(canonical_field("ETag"), "Etag");
    }
}
