//! The body of the fuzz target `eskip`, here so that an ordinary test can replay its corpus.

use crate::{
    Layout, Route, Template, delete_text, from_json, parse_filters, parse_located, parse_predicates, print,
    to_json, upsert_text,
};

/// Reads any bytes as a document, as filters, as predicates, as JSON and as a template. What is read is printed in
/// every form and read back as the same.
///
/// # Panics
///
/// If it is not.
pub fn eskip(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match parse_located(text) {
        Ok(located) => {
            let mut end = 0;
            for route in &located {
                assert!(
                    end <= route.span.start && route.span.end <= text.len(),
                    "{text:?}"
                );
                end = route.span.end;
            }
            let routes: Vec<Route> = located.into_iter().map(|located| located.route).collect();
            read_back(&routes);
            rewrite(text, &routes);
        }
        Err(errors) => {
            assert!(
                errors.iter().all(|error| error.position() <= text.len()),
                "{text:?}"
            );
            assert!(!errors.to_string().is_empty());
            assert!(errors.report("fuzz").starts_with("fuzz:"));
        }
    }
    if let Ok(filters) = parse_filters(text) {
        let printed: Vec<String> = filters.iter().map(ToString::to_string).collect();
        assert_eq!(parse_filters(&printed.join(" -> ")), Ok(filters));
    }
    if let Ok(predicates) = parse_predicates(text) {
        let printed: Vec<String> = predicates.iter().map(ToString::to_string).collect();
        assert_eq!(parse_predicates(&printed.join(" && ")), Ok(predicates));
    }
    match from_json(text) {
        Ok(routes) => read_back(&routes),
        Err(error) => assert!(error.report("fuzz", text).starts_with("fuzz:")),
    }
    Template::parse(text).fill(|_| None);
}

/// Checks that routes are the same when they have been printed and read.
///
/// # Panics
///
/// If they are not.
pub fn read_back(routes: &[Route]) {
    for layout in [Layout::Plain, Layout::PRETTY, Layout::Pretty("")] {
        let printed = print(routes, layout);
        let again = super::parse(&printed).expect("what is printed is read");
        same(routes, &again, &printed);
        assert_eq!(print(&again, layout), printed);
    }
    let json = to_json(routes);
    let again = from_json(&json).expect("what is printed is read");
    same(routes, &again, &json);
    assert_eq!(to_json(&again), json);
}

/// Changes in a text are those in the list.
fn rewrite(text: &str, routes: &[Route]) {
    let ids: Vec<&str> = routes.iter().filter_map(|route| route.id.as_deref()).collect();
    for gone in [ids.get(..1).unwrap_or_default(), &ids] {
        let rewritten = delete_text(text, gone).expect("the text was read");
        let mut left = routes.to_vec();
        crate::delete(&mut left, gone.iter().copied());
        assert_eq!(
            crate::parse(&rewritten.text).as_deref(),
            Ok(left.as_slice()),
            "{text:?}"
        );
    }
    let Ok(rewritten) = upsert_text(text, routes, Layout::PRETTY) else {
        assert!(routes.iter().any(|route| route.id.is_none()), "{text:?}");
        return;
    };
    let mut unique = routes.to_vec();
    crate::upsert(&mut unique, routes.to_vec());
    same(
        &unique,
        &crate::parse(&rewritten.text).expect("the text was read"),
        text,
    );
    if unique.len() == routes.len() {
        assert_eq!(rewritten.text, text);
    }
}

fn same(routes: &[Route], again: &[Route], printed: &str) {
    assert_eq!(routes.len(), again.len(), "{printed:?}");
    let several = routes.len() > 1;
    for (left, right) in routes.iter().zip(again) {
        let (mut left, right) = (left.canonical(), right.canonical());
        // Printing gives each of several routes an id.
        if several && left.id.is_none() {
            left.id.clone_from(&right.id);
        }
        assert_eq!(left, right, "{printed:?}");
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use proptest::prelude::*;

    fn corpus() -> Vec<Vec<u8>> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/eskip");
        let files: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| fs::read(entry.unwrap().path()).unwrap())
            .collect();
        assert!(!files.is_empty());
        files
    }

    #[test]
    fn the_corpus_passes() {
        corpus().iter().for_each(|data| super::eskip(data));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

        /// A fuzzer finds more, but this much is looked at in every test run.
        #[test]
        fn damaged_files_pass(
            file in any::<prop::sample::Index>(),
            edits in prop::collection::vec((any::<prop::sample::Index>(), piece(), 0_usize..8), 1..6),
        ) {
            let files = corpus();
            let mut data = file.get(&files).clone();
            for (at, piece, removed) in edits {
                let start = at.index(data.len() + 1);
                let end = (start + removed).min(data.len());
                data.splice(start..end, piece.bytes());
            }
            super::eskip(&data);
        }

        #[test]
        fn texts_out_of_pieces_pass(pieces in prop::collection::vec(piece(), 0..40)) {
            super::eskip(pieces.join(" ").as_bytes());
            super::eskip(pieces.concat().as_bytes());
        }
    }

    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "",
            " ",
            "\n",
            "\r\n",
            "\u{a0}",
            "\u{feff}",
            "\0",
            "é",
            "#",
            "a",
            "a:",
            "r1",
            "Path",
            "Any",
            "Host(",
            "Header(",
            "(",
            ")",
            ",",
            "->",
            " -> ",
            "&&",
            "*",
            "* -> ",
            ";",
            ":",
            "<",
            ">",
            "<shunt>",
            "<forward>",
            "<\"http://a\">",
            "\"http://a?zone=b\"",
            "\"",
            "`",
            "\\",
            "/",
            "//",
            "[",
            "]",
            "\\[",
            "\\/",
            "1",
            "-1",
            ".5",
            "1.",
            "-",
            "99999999999999999999999999",
            "\"x\"",
            "/x/",
            "${a}",
            "{",
            "}",
            "[]",
            "{}",
            "\"name\":",
            "\"args\":[1e300]",
        ])
    }
}
