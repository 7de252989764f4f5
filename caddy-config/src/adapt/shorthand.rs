//! Short placeholders such as `{host}`, written out as the names that the JSON has.

use crate::caddyfile::parser::Line;

const SHORT: [(&str, &str); 35] = [
    ("host", "http.request.host"),
    ("hostport", "http.request.hostport"),
    ("port", "http.request.port"),
    ("orig_method", "http.request.orig_method"),
    ("orig_uri", "http.request.orig_uri"),
    ("orig_path", "http.request.orig_uri.path"),
    ("orig_dir", "http.request.orig_uri.path.dir"),
    ("orig_file", "http.request.orig_uri.path.file"),
    ("orig_query", "http.request.orig_uri.query"),
    ("orig_?query", "http.request.orig_uri.prefixed_query"),
    ("method", "http.request.method"),
    ("uri", "http.request.uri"),
    ("%uri", "http.request.uri_escaped"),
    ("path", "http.request.uri.path"),
    ("%path", "http.request.uri.path_escaped"),
    ("dir", "http.request.uri.path.dir"),
    ("file", "http.request.uri.path.file"),
    ("query", "http.request.uri.query"),
    ("%query", "http.request.uri.query_escaped"),
    ("?query", "http.request.uri.prefixed_query"),
    ("remote", "http.request.remote"),
    ("remote_host", "http.request.remote.host"),
    ("remote_port", "http.request.remote.port"),
    ("scheme", "http.request.scheme"),
    ("uuid", "http.request.uuid"),
    ("tls_cipher", "http.request.tls.cipher_suite"),
    ("tls_version", "http.request.tls.version"),
    ("tls_client_fingerprint", "http.request.tls.client.fingerprint"),
    ("tls_client_issuer", "http.request.tls.client.issuer"),
    ("tls_client_serial", "http.request.tls.client.serial"),
    ("tls_client_subject", "http.request.tls.client.subject"),
    (
        "tls_client_certificate_pem",
        "http.request.tls.client.certificate_pem",
    ),
    (
        "tls_client_certificate_der_base64",
        "http.request.tls.client.certificate_der_base64",
    ),
    ("upstream_hostport", "http.reverse_proxy.upstream.hostport"),
    ("client_ip", "http.vars.client_ip"),
];

/// The supported placeholders, by their short names where there is one.
pub(super) const SUPPORTED: &str = "supported: {client_ip}, {cookie.*}, {dir}, {err.status_code}, {file}, {header.*}, {host}, \
    {hostport}, {labels.0}, {method}, {orig_uri}, {path}, {path.0}, {port}, {query}, {?query}, {query.*}, {re.*}, \
    {remote}, {remote_host}, {remote_port}, {rp.status_code}, {scheme}, {tls_version}, {upstream_hostport}, {uri}, \
    {uuid}, {vars.*}, {http.request.proto}, {http.response.header.*}, {http.auth.user.id}, {env.*}, {geo.country}, {system.hostname}, \
    {time.now}";

/// Prefixes that a name of the user's own follows; `true` if that may have points.
const PREFIXES: [(&str, &str, bool); 12] = [
    ("header.", "http.request.header.", false),
    ("cookie.", "http.request.cookie.", false),
    ("labels.", "http.request.host.labels.", false),
    ("path.", "http.request.uri.path.", false),
    ("file.", "http.request.uri.path.file.", false),
    ("query.", "http.request.uri.query.", false),
    ("re.", "http.regexp.", true),
    ("vars.", "http.vars.", false),
    ("rp.", "http.reverse_proxy.", true),
    ("resp.", "http.intercept.", true),
    ("err.", "http.error.", true),
    ("file_match.", "http.matchers.file.", false),
];

/// Writes out the short placeholders of a line and of all lines in its block, unless that is one of `eskip`.
pub(super) fn write_out(line: &mut Line) {
    for token in std::iter::once(&mut line.name).chain(&mut line.args) {
        if token.text.contains('{') {
            token.text = written_out(&token.text);
        }
    }
    // Skipper's routes have placeholders of their own, such as `${path}` for a part of the path.
    if line.name.text != "eskip" {
        line.block.iter_mut().flatten().for_each(write_out);
    }
}

fn written_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('{') {
        out.push_str(before);
        out.push('{');
        rest = tail;
        // Names are short and without braces, so that a text full of them is not searched again and again.
        let end = tail.find(|c: char| !is_name(c)).unwrap_or(tail.len());
        let (name, behind) = tail.split_at_checked(end).unwrap_or((tail, ""));
        if behind.starts_with('}')
            && let Some(long) = long(name)
        {
            out.push_str(&long);
            rest = behind;
        }
    }
    out.push_str(rest);
    out
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.?%".contains(c)
}

fn long(name: &str) -> Option<String> {
    if let Some((_, long)) = SHORT.iter().find(|(short, _)| *short == name) {
        return Some((*long).to_owned());
    }
    PREFIXES.iter().find_map(|(short, long, points)| {
        let own = name.strip_prefix(short)?;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || (*points && c == '.');
        own.chars().all(word).then(|| format!("{long}{own}"))
    })
}

/// The short name that stands for `long`.
pub(super) fn short(long: &str) -> Option<String> {
    if let Some((short, _)) = SHORT.iter().find(|(_, full)| *full == long) {
        return Some((*short).to_owned());
    }
    PREFIXES
        .iter()
        .filter_map(|(short, full, _)| Some(format!("{short}{}", long.strip_prefix(full)?)))
        .find(|name| self::long(name).as_deref() == Some(long))
}

#[cfg(test)]
mod tests {
    use super::{SUPPORTED, short, written_out};
    use crate::template::{Part, Placeholder, Template};

    #[test]
    fn the_placeholders_that_are_said_to_work_do() {
        let names = SUPPORTED.replace('*', "X").replace("supported: ", "");
        for name in names.split(", ") {
            let template: Template = written_out(name).parse().unwrap();
            let [Part::Placeholder(placeholder)] = template.parts() else {
                panic!("{name} is text");
            };
            assert!(!matches!(placeholder, Placeholder::Variable(_)), "{name}");
        }
    }

    #[test]
    fn a_full_name_leads_back_to_the_short_one() {
        assert_eq!(short("http.request.uuid").as_deref(), Some("uuid"));
        assert_eq!(short("http.vars.client_ip").as_deref(), Some("client_ip"));
        assert_eq!(short("http.regexp.a.1").as_deref(), Some("re.a.1"));
        assert_eq!(short("env.HOME"), None);
    }

    #[test]
    fn short_names_are_written_out_wherever_they_stand() {
        let cases = [
            ("{host}", "{http.request.host}"),
            (
                "https://{host}{uri}?{?query}",
                "https://{http.request.host}{http.request.uri}?{http.request.uri.prefixed_query}",
            ),
            (
                "{header.X-A} {re.a.1} {path.0}",
                "{http.request.header.X-A} {http.regexp.a.1} {http.request.uri.path.0}",
            ),
            ("{client_ip}", "{http.vars.client_ip}"),
            ("{{host}}", "{{http.request.host}}"),
            ("{hosts} {host {} }", "{hosts} {host {} }"),
            (
                "{header.a.b} {http.request.host}",
                "{header.a.b} {http.request.host}",
            ),
            ("{%uri}", "{http.request.uri_escaped}"),
        ];
        for (text, expected) in cases {
            assert_eq!(written_out(text), expected, "{text}");
        }
    }
}
