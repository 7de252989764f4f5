//! The body of the fuzz target `document`, here so that an ordinary test can replay its corpus.

use crate::document::{self, HostDocument, Raw};

/// Reads any bytes as a document. What is read is written and read back as the same, and written in the same bytes again.
///
/// # Panics
///
/// If it is not.
pub fn document(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match document::read(text) {
        Ok(document) => read_back(&document),
        Err(error) => assert!(!error.to_string().is_empty(), "{text:?}"),
    }
}

/// Checks that a document is the same when it has been written and read, as text and as parts.
///
/// # Panics
///
/// If it is not.
pub fn read_back(document: &HostDocument) {
    let json = document.to_json();
    let again = document::read(&json).expect("what is written is read");
    assert_eq!(&again, document, "{json}");
    assert_eq!(again.to_json(), json);
    let checked = HostDocument::check(document.raw().clone()).expect("what was checked stays so");
    assert_eq!(&checked, document, "{json}");
    let raw: Raw = serde_json::from_str(&json).expect("what is written is read");
    assert_eq!(&raw, document.raw());
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use proptest::prelude::*;

    fn corpus() -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/document");
        let files: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| fs::read(entry.unwrap().path()).unwrap())
            .collect();
        assert!(!files.is_empty());
        files
    }

    #[test]
    fn the_corpus_passes() {
        corpus().iter().for_each(|data| super::document(data));
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
            super::document(&data);
        }
    }

    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "",
            " ",
            "\n",
            "\0",
            "é",
            "\u{feff}",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\\",
            "\\u0000",
            "null",
            "true",
            "0",
            "1",
            "2",
            "3",
            "-1",
            "1e400",
            "0.5",
            "65536",
            "\"host\":",
            "\"a.test\"",
            "\"upstreams\":[]",
            "\"schema_version\":1,",
            "\"route\":",
            "\"paths\":[{}]",
            "\"*\"",
            "/:id",
            "::1",
            "[::1]:80",
            "*.",
            "\"handler\":\"x\"",
            "\"weight\":0",
        ])
    }
}
