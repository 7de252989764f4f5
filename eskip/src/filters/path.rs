//! The path: set, changed, its reserved characters kept.

use std::borrow::Cow;

use regex::Regex;

use super::args::Args;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::registry::Filters;
use crate::routing::ArgsError;
use crate::{Arg, Template};

/// What is done with the path.
#[derive(Debug)]
enum Path {
    Set(Template),
    Modify { pattern: Regex, replacement: String },
    KeepReserved,
}

pub(super) fn add(all: &mut Filters) {
    all.add(
        "setPath",
        ("sets the path", r#"setPath("/users/${id}/home")"#),
        Path::set,
    );
    all.add(
        "modPath",
        (
            "replaces what matches a regular expression in the path",
            r#"modPath(/^\/api\/v(\d+)/, "/$1")"#,
        ),
        Path::modify,
    );
    all.add(
        "rfcPath",
        (
            "lets the filters behind it see and leave reserved characters of the path, such as `/`, as they are encoded",
            "rfcPath()",
        ),
        Path::keep_reserved,
    );
}

// === impl Path ===

impl Path {
    fn set(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let path = args.template("a path")?;
        args.end()?;
        Ok(Self::Set(path))
    }

    fn modify(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let pattern = args.regexp()?;
        let replacement = args.text("what replaces it")?.to_owned();
        args.end()?;
        Ok(Self::Modify { pattern, replacement })
    }

    fn keep_reserved(args: &[Arg]) -> Result<Self, ArgsError> {
        Args::new(args).end()?;
        Ok(Self::KeepReserved)
    }
}

impl Filter for Path {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        match self {
            Self::Set(template) => {
                let path = cx.fill(template).text;
                cx.set_path(&path);
            }
            Self::Modify { pattern, replacement } => {
                let path = cx.path();
                let changed = match pattern.replace_all(&path, replacement.as_str()) {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(changed) => Some(changed),
                };
                drop(path);
                if let Some(changed) = changed {
                    cx.set_path(&changed);
                }
            }
            Self::KeepReserved => cx.exchange.keeps_reserved = true,
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

#[cfg(test)]
mod tests {
    use crate::filters::trial::Trial;

    fn target(from: &str, filters: &str) -> String {
        let mut trial = Trial::get(from);
        trial.exchange.add_param("id", "a/b c");
        trial.request(filters);
        trial.target()
    }

    #[test]
    fn a_path_is_set_from_a_template() {
        assert_eq!(target("/x?q=1", r#"setPath("/u/${id}")"#), "/u/a/b%20c?q=1");
        assert_eq!(target("/x", r#"setPath("/u/${none}/z")"#), "/u//z");
        assert_eq!(target("/x?q=1", r#"setPath("")"#), "/?q=1");
    }

    #[test]
    fn what_matches_in_a_path_is_replaced() {
        assert_eq!(
            target(
                "/api/v2/x?q=1",
                r#"modPath(/^\/api\/v(?P<n>\d+)(.*)/, "/${n}$2")"#
            ),
            "/2/x?q=1"
        );
        assert_eq!(target("/a/a", r#"modPath(/a/, "b")"#), "/b/b");
        assert_eq!(target("/a", r#"modPath(/\/a/, "")"#), "/");
    }

    #[test]
    fn a_path_that_stays_the_same_keeps_its_encoding() {
        assert_eq!(target("/a%2Fb%41", r#"modPath(/none/, "x")"#), "/a%2Fb%41");
        assert_eq!(target("/a%2Fb", r#"modPath(/a/, "a")"#), "/a%2Fb");
        assert_eq!(target("/a%2Fb", r#"modPath(/a/, "c")"#), "/c/b");
    }

    #[test]
    fn reserved_characters_stay_encoded_for_who_wants_it() {
        assert_eq!(target("/a%2fb", "rfcPath()"), "/a%2fb");
        assert_eq!(
            target("/a%2fb%3F%20c", r#"rfcPath() -> modPath(/^\/a/, "/x")"#),
            "/x%2Fb%3F%20c"
        );
        assert_eq!(target("/a%2Fb", r#"rfcPath() -> modPath(/%2F/, "-")"#), "/a-b");
        assert_eq!(
            target("/a%252Fb", r#"rfcPath() -> modPath(/a/, "x")"#),
            "/x%252Fb"
        );
    }
}
