//! Changes to single parameters of a query. What is not named stays as it came, in its place.

use std::borrow::Cow;

use crate::percent;
use crate::request::Context;
use crate::routing::header_ops::Search;
use crate::routing::template::Template;

/// Changes to the parameters of a query, in the order of the fields. Names that turn out to be empty are passed over.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryOps {
    pub(crate) rename: Vec<(Template, Template)>,
    pub(crate) set: Vec<(Template, Template)>,
    pub(crate) add: Vec<(Template, Template)>,
    pub(crate) replace: Vec<QueryReplacement>,
    pub(crate) delete: Vec<Template>,
}

/// A replacement within the values of one parameter, or of all.
#[derive(Clone, Debug)]
pub(crate) struct QueryReplacement {
    /// `*` is every one.
    pub(crate) key: Template,
    pub(crate) search: Search,
    pub(crate) replace: Template,
}

/// A query in pieces, each as it is sent.
struct Pairs<'q>(Vec<Cow<'q, str>>);

// === impl QueryOps ===

impl QueryOps {
    pub(crate) fn is_empty(&self) -> bool {
        self.rename.is_empty()
            && self.set.is_empty()
            && self.add.is_empty()
            && self.replace.is_empty()
            && self.delete.is_empty()
    }

    /// The query that `query` becomes.
    pub(crate) fn apply(&self, query: &str, cx: &Context) -> String {
        let mut pairs = Pairs(
            query
                .split('&')
                .filter(|pair| !pair.is_empty())
                .map(Into::into)
                .collect(),
        );
        for (from, to) in rendered(&self.rename, cx) {
            if !to.is_empty() {
                pairs.rename(&from, &to);
            }
        }
        for (key, value) in rendered(&self.set, cx) {
            pairs.set(&key, &value);
        }
        for (key, value) in rendered(&self.add, cx) {
            pairs.add(&key, &value);
        }
        for replacement in &self.replace {
            replacement.apply(&mut pairs, cx);
        }
        for key in &self.delete {
            pairs.delete(&key.render(cx));
        }
        pairs.0.join("&")
    }
}

fn rendered(pairs: &[(Template, Template)], cx: &Context) -> impl Iterator<Item = (String, String)> {
    pairs
        .iter()
        .map(|(key, value)| (key.render(cx), value.render(cx)))
        .filter(|(key, _)| !key.is_empty())
}

// === impl QueryReplacement ===

impl QueryReplacement {
    fn apply(&self, pairs: &mut Pairs<'_>, cx: &Context) {
        let (wanted, with) = (self.key.render(cx), self.replace.render(cx));
        let search = match &self.search {
            Search::Text(text) => text.render(cx),
            Search::Regex(_) => String::new(),
        };
        for pair in &mut pairs.0 {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some((name, value)) = percent::decode_query(key).zip(percent::decode_query(value)) else {
                continue;
            };
            if wanted != "*" && name != wanted {
                continue;
            }
            let replaced = match &self.search {
                Search::Text(_) => value.replace(&search, &with),
                Search::Regex(regex) => regex.replace_all(&value, with.as_str()).into_owned(),
            };
            if replaced != value {
                *pair = format!("{key}={}", percent::encode_query(&replaced)).into();
            }
        }
    }
}

// === impl Pairs ===

impl Pairs<'_> {
    /// What the target held before is gone, as in Caddy.
    fn rename(&mut self, from: &str, to: &str) {
        self.0.retain(|pair| has_name(pair, from) || !has_name(pair, to));
        for pair in self.0.iter_mut().filter(|pair| has_name(pair, from)) {
            let value = pair.split_once('=').map(|(_, value)| format!("={value}"));
            *pair = format!("{}{}", percent::encode_query(to), value.unwrap_or_default()).into();
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        let mut new = Some(format!(
            "{}={}",
            percent::encode_query(key),
            percent::encode_query(value)
        ));
        self.0.retain_mut(|pair| {
            if !has_name(pair, key) {
                return true;
            }
            new.take().is_some_and(|new| {
                *pair = new.into();
                true
            })
        });
        self.0.extend(new.map(Into::into));
    }

    fn add(&mut self, key: &str, value: &str) {
        self.0
            .push(format!("{}={}", percent::encode_query(key), percent::encode_query(value)).into());
    }

    fn delete(&mut self, key: &str) {
        self.0.retain(|pair| key.is_empty() || !has_name(pair, key));
    }
}

fn has_name(pair: &str, name: &str) -> bool {
    let key = pair.split('=').next().unwrap_or_default();
    percent::decode_query(key).is_some_and(|key| key == name)
}
