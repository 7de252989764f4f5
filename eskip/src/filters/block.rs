//! Bodies of requests that must not have certain texts in them.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use http_body::SizeHint;
use memchr::memmem::Finder;

use super::args::Args;
use super::body::{BodyRefused, BoxError};
use super::context::FilterContext;
use super::edited::{Edit, edited};
use super::filter::{Filter, Flow, Wants};
use super::registry::Filters;
use crate::Arg;
use crate::routing::ArgsError;

/// Refuses bodies that have one of some texts in them.
#[derive(Debug)]
struct BlockContent(Arc<Texts>);

#[derive(Debug)]
struct Texts {
    all: Vec<Finder<'static>>,
    longest: usize,
}

/// Looks through one body.
struct Search {
    texts: Arc<Texts>,
    /// The end of what came, in which a text may have begun.
    tail: Vec<u8>,
}

pub(super) fn add(all: &mut Filters) {
    all.add(
        "blockContent",
        (
            "refuses a request with 400 if one of the texts is in its body; the backend gets what came before it at most",
            r#"blockContent("<script>", "DROP TABLE")"#,
        ),
        |args| BlockContent::create(args, |text| Some(text.as_bytes().to_vec())),
    );
    all.add(
        "blockContentHex",
        (
            "refuses a request as `blockContent` does, with bytes in hexadecimal digits",
            r#"blockContentHex("deadbeef", "000a")"#,
        ),
        |args| BlockContent::create(args, from_hex),
    );
}

/// The bytes of hexadecimal digits, two each.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
        _ => None,
    };
    pairs.map(byte).collect()
}

// === impl BlockContent ===

impl BlockContent {
    fn create(args: &[Arg], read: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (mut all, mut longest) = (Vec::new(), 0);
        // At least one: a filter that blocks nothing is a mistake.
        while all.is_empty() || args.has_more() {
            let text = read(args.text("what is blocked")?).filter(|text| !text.is_empty());
            let text = text.ok_or_else(|| args.expected("what is blocked"))?;
            longest = longest.max(text.len());
            all.push(Finder::new(&text).into_owned());
        }
        Ok(Self(Arc::new(Texts { all, longest })))
    }
}

impl Filter for BlockContent {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if cx.request_body.length() != Some(0) {
            let search = Search {
                texts: Arc::clone(&self.0),
                tail: Vec::new(),
            };
            cx.request_body.watch(|body| edited(body, search));
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

// === impl Texts ===

impl Texts {
    fn are_in(&self, data: &[u8]) -> bool {
        self.all.iter().any(|text| text.find(data).is_some())
    }
}

// === impl Search ===

impl Edit for Search {
    fn push(&mut self, piece: Bytes) -> Result<Bytes, BoxError> {
        // One byte less than a text can be without the text.
        let most = self.texts.longest.saturating_sub(1);
        self.tail.extend(piece.iter().take(most));
        if self.texts.are_in(&piece) || self.texts.are_in(&self.tail) {
            return Err(BodyRefused::new(StatusCode::BAD_REQUEST).into());
        }
        // Of a long piece its begin was added, but its end may begin a text.
        if let Some(end) = piece.len().checked_sub(most) {
            self.tail.clear();
            self.tail.extend(piece.iter().skip(end));
        } else {
            let surplus = self.tail.len().saturating_sub(most);
            self.tail.drain(..surplus);
        }
        Ok(piece)
    }

    fn finish(&mut self) -> Result<Bytes, BoxError> {
        Ok(Bytes::new())
    }

    fn length(&self, before: SizeHint) -> SizeHint {
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::BodySlot;
    use crate::filters::pieces::{cuts, passed};
    use crate::filters::trial::Trial;

    /// The status that a body is refused with, if it is.
    fn refused(filter: &str, body: &[&'static str]) -> Option<u16> {
        let mut trial = Trial::get("/");
        trial.request_body = BodySlot::new(None);
        trial.request(filter);
        match passed(&mut trial.request_body, body.iter().copied()) {
            Ok(pieces) => {
                assert_eq!(pieces, body);
                None
            }
            Err(error) => Some(error.downcast::<BodyRefused>().unwrap().status().as_u16()),
        }
    }

    #[test]
    fn a_body_with_a_text_in_it_is_refused() {
        let filter = r#"blockContent("evil", "bad")"#;
        assert_eq!(refused(filter, &["all ", "is ", "well"]), None);
        assert_eq!(refused(filter, &["an evil thing"]), Some(400));
        assert_eq!(refused(filter, &["a", "bad"]), Some(400));
        assert_eq!(refused(filter, &["evi", "ba", "d"]), Some(400));
        assert_eq!(refused(filter, &["evi", "bal"]), None);
        assert_eq!(refused(r#"blockContentHex("6576")"#, &["ev"]), Some(400));
        assert_eq!(refused(r#"blockContent("x")"#, &["a", "b"]), None);
    }

    #[test]
    fn a_text_is_found_wherever_a_body_is_cut() {
        for cut in cuts("e evievil") {
            assert_eq!(refused(r#"blockContent("evil")"#, &cut), Some(400), "{cut:?}");
        }
    }

    #[test]
    fn what_is_kept_is_shorter_than_the_longest_text() {
        let texts = BlockContent::create(&[Arg::Text("abcd".to_owned())], |text| Some(text.into()));
        let mut search = Search {
            texts: texts.unwrap().0,
            tail: Vec::new(),
        };
        for piece in ["a", "a", "a", "a", "aaaaaaaa", "b"] {
            search.push(piece.into()).unwrap();
            assert!(search.tail.len() <= 3);
        }
        assert_eq!(search.tail, b"aab");
    }

    #[test]
    fn a_request_without_a_body_is_left_alone() {
        let mut trial = Trial::get("/");
        trial.request(r#"blockContent("a")"#);
        assert!(trial.request_body.take_change().is_none());
    }

    #[test]
    fn something_must_be_blocked() {
        for wrong in [
            "blockContent()",
            r#"blockContent("")"#,
            r#"blockContentHex("abc")"#,
            r#"blockContentHex("xy")"#,
            "blockContent(1)",
        ] {
            assert!(
                Trial::mistake(wrong).contains("expected what is blocked"),
                "{wrong}"
            );
        }
    }
}
