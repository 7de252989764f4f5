//! What a codec made of its input, in a form that can be compared.

use http::HeaderMap;

/// Fields in the order of their names, and of each name in their own.
pub(crate) type Fields = Vec<(String, Vec<u8>)>;

pub(crate) fn of_map(map: &HeaderMap) -> Fields {
    let all = map
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()));
    sorted(all.collect())
}

/// Lengths become plain numbers, and equal ones of a response become one, as the codec hands them out.
pub(crate) fn sorted(mut fields: Fields) -> Fields {
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, value) in &mut fields {
        if name == "content-length"
            && let Ok(text) = std::str::from_utf8(value)
            && let Ok(number) = text.parse::<u64>()
        {
            *value = number.to_string().into_bytes();
        }
    }
    fields.dedup_by(|a, b| a.0 == "content-length" && a == b);
    let chunked = fields.iter().any(|(name, _)| name == "transfer-encoding");
    fields.retain(|(name, _)| !(chunked && name == "content-length"));
    fields
}
