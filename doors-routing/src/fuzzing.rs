//! The body of the fuzz target `decide`, here so that an ordinary test can replay its corpus.

use std::sync::LazyLock;

use doors_token::TokenCipher;

use crate::{Decision, Router, UpstreamBlock, is_system_path};

/// Bytes that stand for a token: of a pod of the first server, of the second, and outside of both.
const TOKENS: [(u8, &str); 3] = [(1, "10.0.0.5"), (2, "fd00:1::5"), (3, "192.0.2.1")];

static CIPHER: LazyLock<TokenCipher> =
    LazyLock::new(|| TokenCipher::new("MDEyMzQ1Njc4OWFiY2RlZg==").expect("the secret is good"));

/// A router with one server, and one with two.
static ROUTERS: LazyLock<[Router; 2]> =
    LazyLock::new(|| [router(&["10.0.0.0/24"]), router(&["10.0.0.0/24", "fd00:1::/64"])]);

/// Decides on a request: the first line of `data` is its path, each further one a Cookie line, and the bytes 1 to 3
/// stand for tokens.
///
/// # Panics
///
/// If the router contradicts itself.
pub fn decide(data: &[u8]) {
    let data = with_tokens(data);
    let mut lines = data.split(|byte| *byte == b'\n');
    let path = String::from_utf8_lossy(lines.next().unwrap_or_default());
    for router in ROUTERS.iter() {
        let decision = router.decide(&path, lines.clone());
        check(router, &path, decision);
        for method in ["GET", "POST"] {
            assert!(
                router
                    .alternatives(decision, method)
                    .all(|server| server < router.servers().len())
            );
        }
    }
}

fn check(router: &Router, path: &str, decision: Decision) {
    let system = matches!(decision, Decision::Pod { .. } | Decision::Gone(_));
    assert_eq!(is_system_path(path), system, "{path}");
    match decision {
        Decision::Pod { addr, server } => {
            assert_eq!(router.server_of(addr.ip()), Some(server));
            assert!(router.servers()[server].pod_cidr().contains(&addr.ip()));
            assert_eq!(addr.port(), router.servers()[server].port());
        }
        Decision::Server(server) => assert!(server < router.servers().len()),
        Decision::Any => assert!(router.servers().len() > 1),
        Decision::Gone(_) => {}
    }
}

fn with_tokens(data: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in data {
        match TOKENS.iter().find(|(mark, _)| mark == byte) {
            Some((_, address)) => {
                let address = address.parse().expect("the address is good");
                text.extend(CIPHER.encode_with_nonce(address, [7; 12]).bytes());
            }
            None => text.push(*byte),
        }
    }
    text
}

fn router(cidrs: &[&str]) -> Router {
    let block = |cidr: &&str| UpstreamBlock::parse(cidr, "svc.local", "8080").expect("the block is good");
    let blocks = cidrs.iter().map(block).collect();
    Router::try_new(CIPHER.clone(), Some("up".to_owned()), blocks).expect("the configuration is good")
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    #[test]
    fn the_corpus_finds_no_contradiction() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/decide");
        let mut replayed = 0;
        for entry in fs::read_dir(corpus).unwrap() {
            super::decide(&fs::read(entry.unwrap().path()).unwrap());
            replayed += 1;
        }
        assert!(replayed > 0);
    }
}
