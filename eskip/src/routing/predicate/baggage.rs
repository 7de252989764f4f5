//! The predicate of the header field `Baggage` (W3C Baggage).

use std::borrow::Cow;

use http::HeaderMap;

use super::{Predicate, Predicates, all_texts, wanted};
use crate::routing::{Asked, uri};

/// `OTelBaggage("key")` and `OTelBaggage("key", "value")`.
#[derive(Debug)]
struct Baggage(String, Option<String>);

pub(super) fn add(all: &mut Predicates) {
    all.add(
        "OTelBaggage",
        (
            "the field Baggage has an item with this key, and with this value if one is given",
            r#"OTelBaggage("tenant", "a")"#,
        ),
        |args| {
            let what = "a key, and perhaps a value";
            match all_texts(args, what)?.as_slice() {
                [key] => Ok(Baggage((*key).to_owned(), None)),
                [key, value] => Ok(Baggage((*key).to_owned(), Some((*value).to_owned()))),
                _ => wanted(what),
            }
        },
    );
}

/// The value of an item, decoded; of several with this key the last.
pub(crate) fn baggage_item<'h>(headers: &'h HeaderMap, key: &str) -> Option<Cow<'h, str>> {
    let lines = headers.get_all("baggage").iter();
    let items = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    // What stands behind a semicolon are properties of the item.
    let pairs = items.filter_map(|item| item.split(';').next()?.split_once('='));
    let mut values = pairs.filter_map(|(given, value)| (given.trim() == key).then_some(value.trim()));
    values.next_back().map(uri::decoded)
}

impl Predicate for Baggage {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        let item = baggage_item(asked.headers, &self.0);
        item.is_some_and(|value| self.1.as_ref().is_none_or(|wanted| *wanted == value))
    }
}
