//! Replays what the fuzz targets begin with, and what they once found.

use std::fs;
use std::path::Path;

use crate::fuzzing::{body, client, request_head, response_head, server};

fn replay(corpus: &str, check: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(corpus);
    let mut inputs: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    for input in inputs {
        let data = fs::read(&input).unwrap();
        check(&data);
    }
}

#[test]
fn request_heads_are_read_as_others_read_them() {
    replay("fuzz/corpus/request_head", request_head::check);
}

#[test]
fn response_heads_are_read_as_others_read_them() {
    replay("fuzz/corpus/response_head", response_head::check);
}

#[test]
fn bodies_are_read_as_others_read_them() {
    replay("fuzz/corpus/body", body::check);
}

#[test]
fn a_service_sees_the_requests_that_others_see() {
    replay("fuzz/corpus/server", server::check);
}

#[test]
fn the_client_side_reads_the_answer_that_others_read() {
    replay("fuzz/corpus/client", client::check);
}
