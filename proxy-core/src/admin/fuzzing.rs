//! The body of the fuzz target `edit`: a client of the admin API that edits one document again and again.
//!
//! An input is a list of edits, between which there are lines `%%`. The first line of an edit is its method (`O` POST,
//! `U` PUT, `A` PATCH, `D` DELETE) and its target as it stands in a request; the rest is the body.

use http::Uri;

use super::document::{Document, Edit, EditError, Pointer, read};
use super::routes::path::{Asked, Path};

const BASE: &str = r#"{"admin":{"listen":"localhost:2019"},"apps":{"http":{"servers":{"s":{"listen":[":80"],"routes":[
    {"@id":"a","handle":[{"handler":"static_response","body":"<"}]},{"@id":7,"match":[[1],{"x/y":{}}]}]}}}}}"#;

/// The most edits of one input.
const MOST: usize = 16;

/// Plays `data`.
///
/// # Panics
///
/// If the document is not what it should be after an edit.
pub(crate) fn edit(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let base = read::value(BASE.as_bytes()).expect("the first document is JSON");
    let mut document = Document::new(&base).expect("the ids of the first document differ");
    for edit in text.split("\n%%\n").take(MOST) {
        let (head, body) = edit.split_once('\n').unwrap_or((edit, ""));
        let Some((edit, target)) = parse(head) else { return };
        let Some(place) = place(&document, target) else {
            continue;
        };
        let before = document.text().to_owned();
        match document.edited(edit, &place, body.as_bytes()) {
            Ok(next) => {
                check(&next);
                check_edit(edit, &place, body, &next);
                document = next;
            }
            Err(error) => assert!(error.status().is_client_error()),
        }
        assert!(edit == Edit::Post || !before.is_empty());
    }
}

fn parse(head: &str) -> Option<(Edit, &str)> {
    let mut rest = head.chars();
    let edit = match rest.next()? {
        'O' => Edit::Post,
        'U' => Edit::Put,
        'A' => Edit::Patch,
        'D' => Edit::Delete,
        _ => return None,
    };
    Some((edit, rest.as_str()))
}

/// Where a request with this target edits. A target that is sent elsewhere must be understood there.
fn place(document: &Document, target: &str) -> Option<Pointer> {
    let uri: Uri = target.parse().ok()?;
    let path = match Path::of(&uri) {
        Err(Asked::Elsewhere(location)) => {
            let again = location.parse().ok().map(|uri| Path::of(&uri));
            let settled = !matches!(again, None | Some(Err(Asked::Elsewhere(_))));
            assert!(settled, "{target:?} is sent to {location:?} and on");
            return None;
        }
        path => path.ok()?,
    };
    match path {
        Path::Config(text) => Some(Pointer::parse(&text)),
        Path::Id(Some((id, rest))) => document.locate(&id, &rest),
        _ => None,
    }
}

/// What holds for every document.
fn check(document: &Document) {
    let again = read::value(document.text().as_bytes()).expect("what is printed is JSON");
    let again = Document::new(&again).expect("its ids differ");
    assert_eq!(again.text(), document.text(), "what is saved is what was loaded");
    let whole = document
        .show(&Pointer::parse("/config/"))
        .expect("there is a root");
    assert_eq!(whole.body.trim_end(), document.text());
    assert_eq!(document.check_match(&whole.etag), Ok(()));
    let _wrong = document.decode();
}

/// What can be seen of an edit.
fn check_edit(edit: Edit, place: &Pointer, body: &str, next: &Document) {
    let shown = next.show(place);
    let read = read::value(if body.is_empty() { b"null" } else { body.as_bytes() });
    let read = super::document::print::line(&read.expect("the edit was made"));
    match edit {
        Edit::Patch => assert_eq!(shown.expect("it was replaced").body.trim_end(), read),
        Edit::Put => assert_eq!(shown.expect("it was made").body.trim_end(), read),
        Edit::Post => {}
        // An element behind it takes its place.
        Edit::Delete => assert!(!matches!(shown, Err(EditError::NoPath))),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    #[test]
    fn the_corpus_makes_no_document_that_is_none() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/edit");
        let inputs: Vec<_> = fs::read_dir(corpus).unwrap().collect();
        assert!(inputs.len() >= 10);
        for input in inputs {
            let path = input.unwrap().path();
            println!("{}", path.display());
            super::edit(&fs::read(path).unwrap());
        }
    }
}
