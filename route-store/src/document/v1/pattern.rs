//! Patterns of paths, which Proksi gives to a tree of segments.

use serde_json::Value;

use super::super::problem::Found;

/// The pattern that matches the same paths, if there is one. A `:name` is one segment that is not empty, a `*` at the end is
/// everything. Case is not looked at any more.
pub(super) fn read(value: Value, place: &str, found: &mut Found) -> Option<String> {
    let Value::String(pattern) = value else {
        found.say(place, "the pattern of a path is expected");
        return None;
    };
    match upgrade(&pattern) {
        Ok(upgraded) => Some(upgraded),
        Err(reason) => {
            found.say(
                place,
                format!(
                    "{reason}; a document of version 2 can say more, with a `path_regexp` in its handlers"
                ),
            );
            None
        }
    }
}

fn upgrade(pattern: &str) -> Result<String, &'static str> {
    if !pattern.starts_with('/') {
        return Err("a pattern begins with `/`");
    }
    if pattern.contains(['?', '+', '[', ']', '\\', '{', '}', '(', ')', '|']) {
        return Err("only `:name` segments and a `*` at the end can be taken over");
    }
    if pattern.trim_end_matches('*').contains('*') || pattern.ends_with("**") {
        return Err("a `*` can be at the end alone");
    }
    let segments = pattern.split('/').map(segment);
    let segments: Vec<&str> = segments.collect::<Result<_, _>>()?;
    let has_names = segments.contains(&ONE);
    if has_names && pattern.ends_with('*') {
        // A star beside a question mark stops at slashes.
        return Err("a `:name` and a `*` cannot both be taken over");
    }
    Ok(segments.join("/"))
}

/// One character and any others, but for slashes.
const ONE: &str = "?*";

fn segment(segment: &str) -> Result<&str, &'static str> {
    match segment.split_once(':') {
        None => Ok(segment),
        Some(("", name)) if is_name(name) => Ok(ONE),
        Some(_) => Err("a `:name` must be a whole segment"),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::upgrade;

    #[test]
    fn patterns_match_what_they_matched() {
        for (given, upgraded) in [
            ("/", "/"),
            ("/*", "/*"),
            ("/api/*", "/api/*"),
            ("/static", "/static"),
            ("/:id", "/?*"),
            ("/users/:user_id/edit", "/users/?*/edit"),
        ] {
            assert_eq!(upgrade(given).as_deref(), Ok(upgraded), "{given}");
        }
    }

    #[test]
    fn what_no_pattern_says_is_refused() {
        for given in [
            "", "api", "*", "/a/*/b", "/a**", "/:id/*", "/:id?", "/:id+", "/v:id", "/:", "/:a-:b", "/[a]",
            "/{a}", "/a\\b", "/+",
        ] {
            assert!(upgrade(given).is_err(), "{given}");
        }
    }
}
