//! The values of one cookie in a request's Cookie header lines (RFC 6265, section 5.4), read without copying.

/// Every value of the cookie `name`, in the order of the lines and within them, without one pair of surrounding double
/// quotes. Names are compared byte for byte. Anything malformed is passed over.
pub(crate) fn values<'a>(
    lines: impl IntoIterator<Item = &'a [u8]>,
    name: &[u8],
) -> impl Iterator<Item = &'a [u8]> {
    lines
        .into_iter()
        .flat_map(|line| line.split(|byte| *byte == b';'))
        .filter_map(move |pair| value_of(pair, name))
}

/// Whether `name` may name a cookie: a token (RFC 9110, section 5.6.2).
pub(crate) fn is_name(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(token)
}

fn value_of<'a>(pair: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let rest = pair.trim_ascii_start().strip_prefix(name)?;
    let value = rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii();
    let unquoted = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""));
    Some(unquoted.unwrap_or(value))
}
