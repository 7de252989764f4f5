//! Bodies that are made up, to try things, and texts around those of answers.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header;
use http::{Response, StatusCode};
use http_body::{Frame, SizeHint};

use super::args::Args;
use super::block::from_hex;
use super::body::{Body, BoxError};
use super::context::FilterContext;
use super::edited::{Edit, edited};
use super::filter::{Filter, Flow, Wants};
use super::registry::Filters;
use crate::Arg;
use crate::routing::ArgsError;

/// Long bodies come in pieces of at most this many bytes, or of one text if it is longer.
const PIECE: usize = 8 << 10;

/// What random bodies are made of. There are 64, so that each takes six bits.
const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

/// Answers with random characters.
#[derive(Debug)]
struct RandomContent(u64);

/// Answers with a text again and again.
#[derive(Debug)]
struct RepeatContent {
    /// The text as often as it fits into a piece.
    block: Bytes,
    length: u64,
}

/// Puts texts around the body of the answer.
#[derive(Debug)]
struct WrapContent {
    before: Bytes,
    behind: Bytes,
}

pub(super) fn add(all: &mut Filters) {
    all.add(
        "randomContent",
        ("answers with so many random characters", "randomContent(2048)"),
        RandomContent::create,
    );
    all.add(
        "repeatContent",
        (
            "answers with a text again and again, up to so many bytes",
            r#"repeatContent("I will not throw paper airplanes in class. ", 1000)"#,
        ),
        |args| RepeatContent::create(args, as_bytes),
    );
    all.add(
        "repeatContentHex",
        (
            "answers as `repeatContent` does, with bytes in hexadecimal digits",
            r#"repeatContentHex("00ff", 1000)"#,
        ),
        |args| RepeatContent::create(args, from_hex),
    );
    all.add(
        "wrapContent",
        (
            "puts texts before and behind the body of the answer",
            r#"wrapContent("<pre>", "</pre>")"#,
        ),
        |args| WrapContent::create(args, as_bytes),
    );
    all.add(
        "wrapContentHex",
        (
            "puts bytes around the body as `wrapContent` does, in hexadecimal digits",
            r#"wrapContentHex("68657861", "6d616c")"#,
        ),
        |args| WrapContent::create(args, from_hex),
    );
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "digits may be none, and texts are read as they are"
)]
fn as_bytes(text: &str) -> Option<Vec<u8>> {
    Some(text.as_bytes().to_vec())
}

/// A whole answer with a body that is so long.
fn serve(body: Body, length: u64) -> Flow {
    let mut answer = Response::new(body);
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_LENGTH, length.into());
    Flow::serve(answer)
}

// === impl RandomContent ===

impl RandomContent {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let length = args.whole("how many bytes")?;
        args.end()?;
        Ok(Self(length))
    }
}

impl Filter for RandomContent {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let mut state = cx.env.random();
        let made = Made {
            left: self.0,
            piece: PIECE,
            make: move |length| random(&mut state, length),
        };
        serve(Body::Stream(Box::pin(made)), self.0)
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

/// Characters by SplitMix64: fast and even, and no secret.
fn random(state: &mut u64, count: usize) -> Bytes {
    let mut characters = Vec::with_capacity(count.next_multiple_of(10));
    while characters.len() < count {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = *state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        for _ in 0..10 {
            let index = usize::try_from(bits & 63).unwrap_or_default();
            characters.extend(CHARACTERS.get(index));
            bits >>= 6;
        }
    }
    characters.truncate(count);
    characters.into()
}

// === impl RepeatContent ===

impl RepeatContent {
    fn create(args: &[Arg], read: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let text = read(args.text("what is repeated")?).filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| args.expected("what is repeated"))?;
        let length = args.whole("how many bytes")?;
        args.end()?;
        let times = PIECE.checked_div(text.len()).unwrap_or_default().max(1);
        Ok(Self {
            block: text.repeat(times).into(),
            length,
        })
    }
}

impl Filter for RepeatContent {
    fn request(&self, _cx: &mut FilterContext<'_>) -> Flow {
        let block = self.block.clone();
        let body = match usize::try_from(self.length) {
            Ok(length) if length <= block.len() => Body::from(block.slice(..length)),
            _ => Body::Stream(Box::pin(Made {
                left: self.length,
                piece: block.len(),
                make: move |length| block.slice(..length),
            })),
        };
        serve(body, self.length)
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

/// A body that is made while it is sent.
struct Made<F> {
    left: u64,
    /// How long a piece is, but for the last one.
    piece: usize,
    /// Makes a piece of so many bytes.
    make: F,
}

impl<F: FnMut(usize) -> Bytes + Unpin> http_body::Body for Made<F> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let length = usize::try_from(self.left).map_or(self.piece, |left| left.min(self.piece));
        self.left = self.left.saturating_sub(length as u64);
        let piece = (self.make)(length);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

// === impl WrapContent ===

impl WrapContent {
    fn create(args: &[Arg], read: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let before = read(args.text("what stands before the body")?);
        let before = before.ok_or_else(|| args.expected("what stands before the body"))?;
        let behind = read(args.text("what stands behind the body")?);
        let behind = behind.ok_or_else(|| args.expected("what stands behind the body"))?;
        args.end()?;
        Ok(Self {
            before: before.into(),
            behind: behind.into(),
        })
    }
}

impl Filter for WrapContent {
    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        if let Some(answer) = &mut cx.response {
            // Those have no body that could be wrapped.
            let bodiless = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED];
            if !answer.status.is_informational() && !bodiless.contains(answer.status) {
                let around = Around {
                    before: self.before.clone(),
                    behind: self.behind.clone(),
                };
                answer.body.wrap(|body| edited(body, around));
            }
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::RESPONSE
    }
}

/// What is still to be put around a body.
struct Around {
    before: Bytes,
    behind: Bytes,
}

impl Edit for Around {
    fn push(&mut self, piece: Bytes) -> Result<Bytes, BoxError> {
        if self.before.is_empty() {
            return Ok(piece);
        }
        let before = std::mem::take(&mut self.before);
        Ok([before, piece].concat().into())
    }

    fn finish(&mut self) -> Result<Bytes, BoxError> {
        let behind = std::mem::take(&mut self.behind);
        self.push(behind)
    }

    fn length(&self, before: SizeHint) -> SizeHint {
        let around = (self.before.len() as u64).saturating_add(self.behind.len() as u64);
        match before.exact() {
            Some(length) => SizeHint::with_exact(length.saturating_add(around)),
            None => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::pieces::{passed, pieces};
    use crate::filters::trial::Trial;

    /// The body that a filter answers with, in pieces.
    fn served(filter: &str) -> Vec<Bytes> {
        let mut trial = Trial::get("/");
        let Flow::Serve(answer) = trial.request(filter).0 else {
            panic!("{filter} answers");
        };
        let length = answer.headers()["content-length"].to_str().unwrap().to_owned();
        let body = answer.into_body();
        assert_eq!(body.length().unwrap().to_string(), length);
        let pieces = match body {
            Body::Empty => Vec::new(),
            Body::Full(data) => vec![data],
            Body::Stream(mut body) => pieces(body.as_mut()).unwrap(),
        };
        assert_eq!(pieces.iter().map(Bytes::len).sum::<usize>().to_string(), length);
        pieces
    }

    #[test]
    fn random_characters_come_in_pieces() {
        let pieces = served("randomContent(20000)");
        assert_eq!(pieces.len(), 3);
        assert!(pieces.iter().flatten().all(|byte| CHARACTERS.contains(byte)));
        assert_ne!(pieces[0], pieces[1]);
        for character in CHARACTERS {
            assert!(pieces[0].contains(character), "{character}");
        }
        assert!(served("randomContent(0)").is_empty());
    }

    #[test]
    fn a_text_is_repeated_up_to_a_length() {
        assert_eq!(served(r#"repeatContent("abc", 7)"#), ["abcabca"]);
        assert_eq!(served(r#"repeatContentHex("6162", 3)"#), ["aba"]);
        assert!(served(r#"repeatContent("abc", 0)"#).is_empty());
        let pieces = served(r#"repeatContent("abc", 20000)"#);
        assert!(pieces.len() > 2 && pieces.iter().all(|piece| piece.len() <= PIECE));
        assert!(
            pieces
                .concat()
                .iter()
                .zip(b"abc".iter().cycle())
                .all(|(l, r)| l == r)
        );
    }

    #[test]
    fn a_text_longer_than_a_piece_is_repeated_as_a_whole() {
        let text = "0123456789".repeat(PIECE / 10 + 1);
        let pieces = served(&format!(r#"repeatContent("{text}", {})"#, 3 * PIECE));
        let expected = text.bytes().cycle().take(3 * PIECE).collect::<Vec<_>>();
        assert_eq!(pieces.concat(), expected);
    }

    #[test]
    fn a_length_that_no_memory_holds_is_only_made_as_it_is_sent() {
        let mut trial = Trial::get("/");
        for filter in [
            "randomContent(9007199254740992)",
            r#"repeatContent("a", 9007199254740992)"#,
        ] {
            let Flow::Serve(answer) = trial.request(filter).0 else {
                panic!("{filter} answers");
            };
            assert_eq!(answer.body().length(), Some(1 << 53));
        }
    }

    #[test]
    fn texts_are_put_around_the_body_of_the_answer() {
        let wrapped = |filter: &str, body: &[&'static str]| {
            let mut trial = Trial::get("/");
            trial.run(filter);
            let pieces = passed(&mut trial.body, body.iter().copied()).unwrap();
            String::from_utf8(pieces.concat()).unwrap()
        };
        assert_eq!(wrapped(r#"wrapContent("<", ">")"#, &["a", "b"]), "<ab>");
        assert_eq!(wrapped(r#"wrapContent("<", ">")"#, &[]), "<>");
        assert_eq!(wrapped(r#"wrapContent("", "")"#, &["a"]), "a");
        assert_eq!(
            wrapped(r#"wrapContentHex("68657861", "6d616c")"#, &["deci"]),
            "hexadecimal"
        );
        assert_eq!(
            wrapped(r#"wrapContent("<", ">") -> inlineContent("a")"#, &[]),
            "<a>"
        );
        assert_eq!(
            wrapped(r#"wrapContent("<", ">") -> inlineContent("")"#, &[]),
            "<>"
        );
        assert_eq!(wrapped(r#"wrapContent("<", ">") -> status(204)"#, &[]), "");
    }

    #[test]
    fn what_is_not_hexadecimal_is_a_mistake() {
        for wrong in [
            r#"repeatContentHex("abc", 1)"#,
            r#"repeatContent("", 1)"#,
            r#"repeatContent("a", -1)"#,
            r#"wrapContentHex("", "x")"#,
            r#"wrapContent("a")"#,
            "randomContent(-1)",
        ] {
            assert!(
                Trial::mistake(wrong).starts_with("invalid_filter_params"),
                "{wrong}"
            );
        }
    }
}
