//! Fields of a head, as inputs write them.

use http::header::{HeaderMap, HeaderName, HeaderValue};

/// More fields than this are left out.
const MOST: usize = 80;

/// The fields of `lines`, each a name and a value with a colon between. What is no field is left out.
pub(super) fn read<'d>(lines: impl Iterator<Item = &'d [u8]>) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in lines.take(MOST) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            fields.append(name, value);
        }
    }
    fields
}

/// The values of one name.
pub(super) fn values<'f>(fields: &'f HeaderMap, name: &str) -> Vec<&'f [u8]> {
    fields.get_all(name).iter().map(HeaderValue::as_bytes).collect()
}

/// `data` in lines.
pub(super) fn lines(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|byte| *byte == b'\n')
}
