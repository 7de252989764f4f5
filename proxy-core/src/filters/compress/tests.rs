//! Tests of `compress` and `decompress`.

use std::io::Write as _;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};

use super::*;
use crate::filters::trial::{Trial, all, chain, mistake, pieces, read};

const TEXT: &str = "text text text text text text text text text text text text text text text";

/// An answer of `compress` to who accepts something: its coding, and its body.
async fn compressed(filter: &str, accepts: &str, mut trial: Trial) -> (Trial, Vec<u8>) {
    trial = trial.with("accept-encoding", accepts);
    trial.run(&chain(&all(), filter)).await;
    let body = trial.answer(pieces(&[TEXT, TEXT]));
    let data = read(body).await.unwrap().concat();
    (trial, data)
}

fn text() -> Trial {
    Trial::get("/")
        .answered_with("content-type", "text/plain; charset=utf-8")
        .answered_with("content-length", "150")
}

/// What `decompress` makes of an answer.
async fn plain(coding: &str, data: Bytes) -> Result<Vec<u8>, eskip::filters::BoxError> {
    let mut trial = Trial::get("/")
        .answered_with("content-encoding", coding)
        .answered_with("content-length", "9");
    trial.run(&chain(&all(), "decompress()")).await;
    assert!(trial.headers.is_empty(), "{:?}", trial.headers);
    let body = trial.answer(Box::pin(Full::new(data).map_err(|never| match never {})));
    Ok(read(body).await?.concat())
}

#[tokio::test]
async fn answers_are_compressed_as_the_client_likes_it() {
    for (accepts, coding) in [
        ("gzip, br", "br"),
        ("gzip", "gzip"),
        ("br;q=0.5, gzip", "gzip"),
        ("br;q=0, gzip;q=0.1", "gzip"),
    ] {
        for filter in [
            "compress()",
            "compress(9)",
            "compress(11)",
            r#"compress("...")"#,
            r#"compress("text/plain")"#,
        ] {
            let (trial, data) = compressed(filter, accepts, text()).await;
            assert_eq!(
                trial.answer_field("content-encoding"),
                [coding],
                "{filter} {accepts}"
            );
            assert_eq!(trial.answer_field("vary"), ["Accept-Encoding"]);
            assert!(trial.answer_field("content-length").is_empty());
            assert!(data.len() < TEXT.len());
            assert_eq!(
                plain(coding, data.into()).await.unwrap(),
                TEXT.repeat(2).as_bytes()
            );
        }
    }
}

#[tokio::test]
async fn what_must_stay_as_it_is_stays() {
    let typed = |kind: &str| Trial::get("/").answered_with("content-type", kind);
    for (why, filter, accepts, trial) in [
        ("refused", "compress()", "gzip;q=0, br;q=0", text()),
        ("not asked for", "compress()", "identity", text()),
        (
            "compressed",
            "compress()",
            "gzip",
            text().answered_with("content-encoding", "zstd"),
        ),
        (
            "forbidden",
            "compress()",
            "gzip",
            text().answered_with("cache-control", "public, no-transform"),
        ),
        ("another type", "compress()", "gzip", typed("image/png")),
        ("only these types", r#"compress("text/csv")"#, "gzip", text()),
        ("no type", "compress()", "gzip", Trial::get("/")),
    ] {
        let before = trial.headers.get(CONTENT_ENCODING).cloned();
        let (trial, data) = compressed(filter, accepts, trial).await;
        assert_eq!(data, TEXT.repeat(2).as_bytes(), "{why}");
        assert_eq!(trial.headers.get(CONTENT_ENCODING), before.as_ref(), "{why}");
    }
}

#[tokio::test]
async fn lists_of_types_extend_or_replace_the_usual_ones() {
    for (filter, kind, expected) in [
        (r#"compress("...", "Text/CSV")"#, "text/csv", true),
        (r#"compress("...", "text/csv")"#, "application/json", true),
        (r#"compress(1, "text/csv")"#, "text/csv; header=present", true),
        (r#"compress("text/csv")"#, "application/json", false),
    ] {
        let trial = Trial::get("/").answered_with("content-type", kind);
        let (trial, _) = compressed(filter, "gzip", trial).await;
        assert_eq!(
            !trial.answer_field("content-encoding").is_empty(),
            expected,
            "{filter} {kind}"
        );
    }
}

#[tokio::test]
async fn identity_is_no_coding() {
    let (trial, _) = compressed(
        "compress()",
        "gzip",
        text().answered_with("content-encoding", "identity"),
    )
    .await;
    assert_eq!(trial.answer_field("content-encoding"), ["gzip"]);
    let (trial, _) = compressed(
        "compress()",
        "x",
        text().answered_with("content-encoding", "identity"),
    )
    .await;
    assert_eq!(trial.answer_field("content-encoding"), ["identity"]);
}

#[tokio::test]
async fn tags_of_compressed_answers_are_their_own() {
    let tagged = || text().answered_with("etag", "\"a\"");
    let (trial, _) = compressed("compress()", "gzip", tagged()).await;
    assert_eq!(trial.answer_field("etag"), ["\"a-gzip\""]);
    let mut again = tagged().with("if-none-match", "\"a-gzip\"");
    again.status = http::StatusCode::NOT_MODIFIED;
    let (trial, _) = compressed("compress()", "gzip", again).await;
    assert_eq!(trial.field("if-none-match"), ["\"a\""]);
    assert_eq!(trial.answer_field("etag"), ["\"a-gzip\""]);
    assert!(trial.answer_field("content-encoding").is_empty());
}

#[tokio::test]
async fn what_backends_compress_is_undone() {
    let large = TEXT.repeat(10_000);
    let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    deflate.write_all(large.as_bytes()).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(large.as_bytes()).unwrap();
    let mut br = Vec::new();
    brotli::BrotliCompress(
        &mut large.as_bytes(),
        &mut br,
        &brotli::enc::BrotliEncoderParams::default(),
    )
    .unwrap();
    let zstd = zstd::encode_all(large.as_bytes(), 3).unwrap();
    for (coding, data) in [
        ("deflate", deflate.finish().unwrap()),
        ("GZIP", gzip.finish().unwrap()),
        ("br", br),
        ("zstd", zstd),
    ] {
        let found = plain(coding, data.clone().into()).await.unwrap();
        assert!(found == large.as_bytes(), "{coding}");
        let cut = plain(coding, data[..data.len() - 5].to_vec().into()).await;
        assert!(cut.is_err(), "{coding}");
        assert!(
            plain(coding, Bytes::from_static(b"\0nonsense")).await.is_err(),
            "{coding}"
        );
        assert!(plain(coding, Bytes::new()).await.unwrap().is_empty(), "{coding}");
    }
}

#[tokio::test]
async fn what_was_compressed_in_parts_is_undone_in_parts() {
    let gzip = |text: &str| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap()
    };
    let both = [gzip("one "), gzip("two")].concat();
    assert_eq!(plain("gzip", both.clone().into()).await.unwrap(), b"one two");
    assert!(plain("gzip", [&both[..], b"more"].concat().into()).await.is_err());
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
    let both = [zstd("one "), zstd("two")].concat();
    assert_eq!(plain("zstd", both.into()).await.unwrap(), b"one two");
}

#[tokio::test]
async fn what_is_large_comes_in_small_pieces() {
    let zeros = zstd::encode_all(&vec![0; 1 << 22][..], 3).unwrap();
    let mut trial = Trial::get("/").answered_with("content-encoding", "zstd");
    trial.run(&chain(&all(), "decompress()")).await;
    let body = trial.answer(Box::pin(
        Full::new(Bytes::from(zeros)).map_err(|never| match never {}),
    ));
    let found = read(body).await.unwrap();
    assert!(found.iter().all(|piece| piece.len() <= 16 * 1024));
    assert_eq!(found.iter().map(Bytes::len).sum::<usize>(), 1 << 22);
}

#[tokio::test]
async fn level_0_compresses_nothing() {
    let (trial, data) = compressed("compress(0)", "gzip, br", text()).await;
    assert!(trial.answer_field("content-encoding").is_empty());
    assert_eq!(data, TEXT.repeat(2).as_bytes());
}

#[tokio::test]
async fn codings_that_are_not_known_stay() {
    for coding in ["compress", "gzip, br", "identity"] {
        let mut trial = Trial::get("/").answered_with("content-encoding", coding);
        trial.run(&chain(&all(), "decompress()")).await;
        assert_eq!(trial.answer_field("content-encoding"), [coding]);
        assert!(trial.body.take_change().is_none());
    }
}

#[test]
fn arguments_that_say_nothing_are_refused() {
    for text in [
        "compress(-1)",
        "compress(12)",
        "compress(1.5)",
        r#"compress("a", 1)"#,
        "decompress(1)",
    ] {
        assert!(mistake(text).starts_with("invalid_filter_params"), "{text}");
    }
}
