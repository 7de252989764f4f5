//! Edges between the modules of the proxy: which of them know nothing of each other.

use super::Finding;
use super::source::Source;
use super::tree::Tree;

/// The crate whose modules are ordered.
const SOURCES: &str = "proxy-core/src/";

/// The storeys of the proxy, and which of the others each may name. Routing, upstreams and HTTP know nothing of each
/// other; forwarding joins the three; listeners feed it; configuration builds them; control and admin stand beside;
/// the proxy alone knows all. Modules that are not here are furniture: everybody may use them.
const STOREYS: [(&str, &[&str]); 12] = [
    ("http", &[]),
    ("routing", &[]),
    ("upstream", &[]),
    ("tls", &[]),
    ("metrics", &[]),
    ("forward", &["http", "routing", "upstream", "tls", "metrics"]),
    ("listener", &["http", "forward", "tls", "metrics"]),
    (
        "config",
        &["http", "routing", "upstream", "tls", "forward", "metrics"],
    ),
    (
        "control",
        &[
            "config", "http", "routing", "upstream", "forward", "listener", "metrics",
        ],
    ),
    ("admin", &["control", "metrics"]),
    ("explain", &["config", "http", "routing", "forward"]),
    (
        "proxy",
        &[
            "http", "routing", "upstream", "tls", "metrics", "forward", "listener", "config", "control",
            "admin", "explain",
        ],
    ),
];

/// Checks every file of a storey.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let Some((storey, known)) = STOREYS.iter().find(|(storey, _)| is_in(&file.path, storey)) else {
            continue;
        };
        for name in siblings(&Source::new(&file.text).code()) {
            let elsewhere = name != *storey && STOREYS.iter().any(|(other, _)| *other == name);
            if elsewhere && !known.contains(&name.as_str()) {
                findings.push(Finding::new(
                    &file.path,
                    format!("`{storey}` must know nothing of `{name}`"),
                ));
            }
        }
    }
    findings
}

fn is_in(path: &str, storey: &str) -> bool {
    let rest = path
        .strip_prefix(SOURCES)
        .and_then(|inside| inside.strip_prefix(storey));
    rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// The first segment behind each `crate::`, groups such as `crate::{a::B, c}` taken apart.
fn siblings(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => names.extend(heads(group)),
            None => names.push(word(rest)),
        }
    }
    names.retain(|name| !name.is_empty());
    names.sort();
    names.dedup();
    names
}

/// The first word of each item of a brace group.
fn heads(group: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut items = vec![String::new()];
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => items.push(String::new()),
            other => items
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|item| item.push(other)),
        }
    }
    items.iter().map(|item| word(item.trim_start())).collect()
}

fn word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let tree = Tree {
            files: vec![File {
                path: path.to_owned(),
                text: text.to_owned(),
            }],
        };
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn plain_paths_and_groups_are_taken_apart() {
        let code = "use crate::routing::Table;\nuse crate::{\n    body::{Body, http},\n    upstream,\n};\ncrate::error::fail()";
        assert_eq!(siblings(code), ["body", "error", "routing", "upstream"]);
    }

    #[test]
    fn a_forbidden_edge_is_found_in_a_module_and_below_it() {
        let wrong = "use crate::upstream::Pool;\n";
        let message = "`routing` must know nothing of `upstream`";
        for path in [
            "proxy-core/src/routing.rs",
            "proxy-core/src/routing/filter/set.rs",
        ] {
            assert_eq!(findings(path, wrong), [format!("{path}: {message}")]);
        }
    }

    #[test]
    fn comments_other_modules_and_other_crates_are_free() {
        assert!(findings("proxy-core/src/routing.rs", "//! See [`crate::upstream`].\n").is_empty());
        assert!(findings("proxy-core/src/forward.rs", "use crate::upstream::Pool;\n").is_empty());
        assert!(findings("proxy-core/src/routing_table.rs", "use crate::upstream::Pool;\n").is_empty());
        assert!(findings("cli/src/routing.rs", "use crate::upstream::Pool;\n").is_empty());
    }
}
