//! What a token must say, so that its request passes.

use eskip::filters::Args;
use eskip::routing::ArgsError;
use serde_json::Value;

use super::Claims;

/// Needs, of which all or one must be met.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Demand {
    needs: Vec<Need>,
    how: How,
}

/// How many needs must be met.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum How {
    Any,
    All,
}

/// What is needed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum What {
    Scopes,
    Claims,
    Pairs,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Need {
    Scope(String),
    /// It is there, whatever it is.
    Claim(String),
    /// It is this text.
    Pair(String, String),
}

// === impl Demand ===

impl Demand {
    /// Reads the rest of the arguments.
    pub(super) fn read(args: &mut Args<'_>, what: What, how: How) -> Result<Self, ArgsError> {
        let needs = match what {
            What::Scopes => each(args, "a scope", Need::Scope)?,
            What::Claims => each(args, "the name of a claim", Need::Claim)?,
            What::Pairs => {
                let texts = args.some_texts("names and values")?;
                let pairs = texts.chunks(2).map(|pair| match pair {
                    [name, value] => Ok(Need::Pair((*name).to_owned(), (*value).to_owned())),
                    _ => Err(ArgsError("expected a value for each name".to_owned())),
                });
                pairs.collect::<Result<_, _>>()?
            }
        };
        Ok(Self { needs, how })
    }

    /// Whether what is known of a token is enough.
    pub(super) fn is_met(&self, claims: &Claims) -> bool {
        let mut needs = self.needs.iter();
        match self.how {
            How::Any => needs.any(|need| need.is_met(claims)),
            How::All => needs.all(|need| need.is_met(claims)),
        }
    }
}

fn each(args: &mut Args<'_>, what: &str, need: fn(String) -> Need) -> Result<Vec<Need>, ArgsError> {
    let texts = args.some_texts(what)?;
    Ok(texts.into_iter().map(|text| need(text.to_owned())).collect())
}

// === impl Need ===

impl Need {
    fn is_met(&self, claims: &Claims) -> bool {
        match self {
            // A list, or a text with blanks between.
            Self::Scope(scope) => match claims.get("scope") {
                Some(Value::Array(scopes)) => scopes.iter().any(|known| known == scope.as_str()),
                Some(Value::String(scopes)) => scopes.split(' ').any(|known| known == scope),
                _ => false,
            },
            Self::Claim(name) => claims.contains_key(name),
            Self::Pair(name, value) => claims.get(name).is_some_and(|known| known == value.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use eskip::Arg;
    use serde_json::json;

    use super::*;

    fn is_met(what: What, how: How, needs: &[&str]) -> bool {
        let args: Vec<Arg> = needs.iter().map(|need| Arg::Text((*need).to_owned())).collect();
        let demand = Demand::read(&mut Args::new(&args), what, how).unwrap();
        let claims = json!({"scope": ["a", "b"], "realm": "r", "uid": "u", "age": 7, "none": null});
        demand.is_met(claims.as_object().unwrap())
    }

    #[test]
    fn one_or_all_needs_are_met() {
        use {How::*, What::*};
        for (what, how, needs, expected) in [
            (Scopes, Any, &["x", "b"][..], true),
            (Scopes, Any, &["x", "y"], false),
            (Scopes, All, &["a", "b"], true),
            (Scopes, All, &["a", "x"], false),
            (Claims, Any, &["x", "uid"], true),
            (Claims, All, &["none", "uid"], true),
            (Claims, All, &["x", "uid"], false),
            (Pairs, Any, &["realm", "x", "realm", "r"], true),
            (Pairs, Any, &["realm", "x", "x", "r"], false),
            (Pairs, All, &["realm", "r", "uid", "u"], true),
            (Pairs, All, &["realm", "r", "uid", "x"], false),
            (Pairs, All, &["age", "7"], false),
        ] {
            assert_eq!(is_met(what, how, needs), expected, "{what:?} {how:?} {needs:?}");
        }
    }

    #[test]
    fn scopes_may_be_a_text() {
        let need = Need::Scope("b".to_owned());
        for (scope, expected) in [("a b", true), ("b", true), ("ab", false), ("", false)] {
            let claims = json!({"scope": scope});
            assert_eq!(need.is_met(claims.as_object().unwrap()), expected, "{scope}");
        }
        assert!(!need.is_met(json!({"scope": 1}).as_object().unwrap()));
    }

    #[test]
    fn arguments_that_need_nothing_are_refused() {
        let text = |text: &str| Arg::Text(text.to_owned());
        for (what, args) in [
            (What::Scopes, vec![]),
            (What::Claims, vec![Arg::Number(1.0)]),
            (What::Pairs, vec![text("a")]),
            (What::Pairs, vec![text("a"), text("b"), text("c")]),
        ] {
            let demand = Demand::read(&mut Args::new(&args), what, How::Any);
            assert!(demand.is_err(), "{what:?} {args:?}");
        }
    }
}
