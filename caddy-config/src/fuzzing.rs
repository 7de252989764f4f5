//! The bodies of the fuzz targets, here so that an ordinary test can replay their corpora.

use crate::{
    Config,
    expression::{Facts, Operand, Program},
    from_caddyfile, from_json, regexp, text_from_bytes,
};

/// Adapts any bytes as a Caddyfile. What it adapts to is read back as itself.
///
/// # Panics
///
/// If it is not.
pub fn caddyfile(data: &[u8]) {
    let Ok(text) = text_from_bytes("fuzz", data) else {
        return;
    };
    let environment = |name: &str| (!name.starts_with('N')).then(|| format!("{name} {{\n\"{name}\" }}"));
    match from_caddyfile("fuzz", text, &environment) {
        Ok(adapted) => read_back(&adapted.config),
        Err(findings) => assert!(!findings.to_string().is_empty()),
    }
}

/// Lays out any bytes as a Caddyfile: once is enough, and nothing but white space changes.
///
/// # Panics
///
/// If it is not, or does.
pub fn format(data: &[u8]) {
    let Ok(text) = text_from_bytes("fuzz", data) else {
        return;
    };
    let formatted = crate::format(text);
    assert_eq!(crate::format(&formatted), formatted, "{text:?}");
    let visible = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(visible(&formatted), visible(text));
    let warned = crate::unformatted("fuzz", &text.replace('\r', ""));
    assert_eq!(
        warned.is_some(),
        crate::format(&text.replace('\r', "")) != text.replace('\r', "")
    );
}

/// Reads any bytes as Caddy JSON. What it reads is printed and read back as itself.
///
/// # Panics
///
/// If it is not.
pub fn json(data: &[u8]) {
    let Ok(text) = text_from_bytes("fuzz", data) else {
        return;
    };
    match from_json("fuzz", text) {
        Ok(config) => read_back(&config),
        Err(findings) => assert!(!findings.to_string().is_empty()),
    }
}

/// Reads any bytes as an expression and as a regular expression, and evaluates what it is with values of all types.
pub fn expression(data: &[u8]) {
    let Ok(text) = text_from_bytes("fuzz", data) else {
        return;
    };
    match Program::parse(text, Some("fuzz")) {
        Ok(program) => drop(program.evaluate(&OfAllTypes)),
        Err(error) => assert!(error.offset() <= text.len(), "{error}"),
    }
    drop(regexp::compile(text).map(|regex| regex.is_match("/a/b c")));
}

/// Facts whose values are of another type for each number.
struct OfAllTypes;

impl Facts for OfAllTypes {
    fn value(&self, placeholder: usize) -> Operand<'_> {
        match placeholder % 6 {
            0 => "text".into(),
            1 => Operand::Int(i64::MAX),
            2 => Operand::Double(-0.5),
            3 => Operand::Bool(true),
            4 => Operand::List(vec!["a".into(), Operand::Null]),
            _ => Operand::Null,
        }
    }

    fn matches(&self, matcher: usize) -> bool {
        matcher.is_multiple_of(2)
    }
}

fn read_back(config: &Config) {
    for json in [config.to_json(), config.to_json_pretty()] {
        assert_eq!(from_json("printed", &json).as_ref(), Ok(config), "{json}");
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use proptest::prelude::*;

    /// All files of a directory and those below it.
    fn files(directory: &Path) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                out.extend(files(&path));
            } else {
                out.push(fs::read(path).unwrap());
            }
        }
        assert!(!out.is_empty(), "{}", directory.display());
        out
    }

    fn corpus(target: &str) -> Vec<Vec<u8>> {
        files(
            &Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("fuzz/corpus")
                .join(target),
        )
    }

    #[test]
    fn the_corpora_pass() {
        corpus("caddyfile").iter().for_each(|data| super::caddyfile(data));
        corpus("caddy_json").iter().for_each(|data| super::json(data));
        corpus("expression")
            .iter()
            .for_each(|data| super::expression(data));
        corpus("format").iter().for_each(|data| super::format(data));
        for data in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adapt")) {
            super::caddyfile(&data);
            super::format(&data);
            super::json(&data);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

        /// A fuzzer finds more, but this much is looked at in every test run.
        #[test]
        fn damaged_files_pass(
            file in any::<prop::sample::Index>(),
            edits in prop::collection::vec((any::<prop::sample::Index>(), piece(), 0_usize..8), 1..6),
        ) {
            let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adapt"));
            let mut data = file.get(&files).clone();
            for (at, piece, removed) in edits {
                let start = at.index(data.len() + 1);
                let end = (start + removed).min(data.len());
                data.splice(start..end, piece.bytes());
            }
            super::caddyfile(&data);
            super::format(&data);
            super::json(&data);
        }
    }

    proptest! {
        #[test]
        fn expressions_out_of_pieces_pass(pieces in prop::collection::vec(word(), 0..40)) {
            super::expression(pieces.join(" ").as_bytes());
            super::expression(pieces.concat().as_bytes());
        }
    }

    fn word() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "true",
            "null",
            "1",
            "-1.5",
            "'a'",
            "\"b\"",
            "r'\\d'",
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            ":",
            ",",
            ".",
            "?",
            "!",
            "+",
            "-",
            "==",
            "!=",
            "<",
            ">=",
            "&&",
            "||",
            "in",
            "size",
            "matches",
            "startsWith",
            "int(",
            "string(",
            "path('/a')",
            "header({'A':'b'})",
            "{http.request.host}",
            "{http.request.port}",
            "{own}",
            "\\",
            "0x",
            "9e9",
            "\u{e9}",
            "//",
            "\n",
        ])
    }

    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "",
            " ",
            "\n",
            "{",
            "}",
            "\"",
            "`",
            "\\",
            "<<E\n",
            "E\n",
            "#",
            "*",
            "/a*",
            "@m",
            "{$A}",
            "{$N:d}",
            "{host}",
            ",",
            ":",
            "[",
            "]",
            "0",
            "-1",
            "null",
            "[]",
            "{}",
            "\"\":",
            "\u{0}",
            "\u{e9}",
            "tls internal\n",
            "http://",
            ":443",
            "handle {\n",
            "\r\n",
        ])
    }
}
