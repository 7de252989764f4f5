//! Basic authentication.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream::{FuturesUnordered, StreamExt as _};

use crate::support::logs::AccessLog;
use crate::support::rig::{HOST, Rig};

/// `secret`, hashed with little cost.
const BCRYPT: &str = "$2a$04$/OyUswKiLLW7ysFYMkdEEuJcwssczm3wGFQ5uKIPFr.o0B.Eur6Pq";
const ARGON2ID: &str =
    "$argon2id$v=19$m=64,t=1,p=1$dMXkdfyOHpP2G7Nng8GOrQ$FaFU4wNaNyTc5IA8ipsKjahi8sLMrV4X+E54Jr37aU4";

fn get(path: &str, user: &str, password: &str) -> String {
    let pair = STANDARD.encode(format!("{user}:{password}"));
    format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Basic {pair}\r\n\r\n")
}

#[tokio::test]
async fn known_users_pass_and_are_named() {
    let log = AccessLog::new();
    let wrapped = STANDARD.encode(BCRYPT);
    let rig = Rig::site(&format!(
        "{}
	basic_auth /a/* {{
		ann {BCRYPT}
		bob {wrapped}
	}}
	basic_auth /b/* argon2id \"my \\\"place\\\"\" {{
		ann {ARGON2ID}
	}}
	respond \"hello {{http.auth.user.id}}\"",
        log.directive()
    ));
    let mut wire = rig.wire().await;
    for _ in 0..2 {
        for (path, user, password, status, body) in [
            ("/a/", "ann", "secret", 200, "hello ann"),
            ("/a/", "bob", "secret", 200, "hello bob"),
            ("/a/", "ann", "wrong", 401, ""),
            ("/a/", "eve", "secret", 401, ""),
            ("/b/", "ann", "secret", 200, "hello ann"),
            ("/b/", "bob", "secret", 401, ""),
        ] {
            let answer = wire.ask(get(path, user, password)).await;
            assert_eq!(
                (answer.head.status(), answer.text().as_str()),
                (status, body),
                "{path} {user}"
            );
            let challenge = answer.head.field("www-authenticate").unwrap_or_default();
            let realm = if path == "/a/" {
                "restricted"
            } else {
                "my \\\"place\\\""
            };
            let expected = if status == 401 {
                format!("Basic realm=\"{realm}\"")
            } else {
                String::new()
            };
            assert_eq!(challenge, expected);
        }
    }
    let lines = log.until_lines(12).await;
    assert_eq!(
        (&lines[0]["user_id"], &lines[2]["user_id"]),
        (&"ann".into(), &"".into())
    );
    assert!(!log.text().contains("secret"), "{}", log.text());
}

#[tokio::test]
async fn who_says_nothing_is_asked_and_error_routes_may_say_more() {
    let rig = Rig::site(&format!(
        "\tbasic_auth {{\n\t\tann {BCRYPT}\n\t}}\n\trespond in\n\thandle_errors 401 {{\n\t\trespond \"log in\"\n\t}}"
    ));
    let answer = rig.get("/").await;
    assert_eq!((answer.head.status(), answer.text().as_str()), (401, "log in"));
    assert_eq!(
        answer.head.field("www-authenticate").as_deref(),
        Some("Basic realm=\"restricted\"")
    );
}

#[tokio::test]
async fn hashes_that_are_none_are_refused_without_being_shown() {
    let rig = Rig::site("\trespond hi");
    for hash in ["plainpassword", "$2a$99$x", ARGON2ID] {
        let text = format!(
            "{{\n\tadmin off\n}}\nhttp://{HOST}:0 {{\n\tbasic_auth {{\n\t\tann {hash}\n\t}}\n\trespond hi\n}}\n"
        );
        let error = rig.load(&text).await.unwrap_err();
        assert!(error.contains("ann") && !error.contains(hash), "{error}");
    }
}

#[tokio::test]
async fn who_asks_to_compare_many_passwords_at_once_is_told_to_come_back() {
    // As hard to compare as real ones, so that those that come meanwhile find others waiting.
    let costly = BCRYPT.replace("$04$", "$11$");
    let rig = Rig::site(&format!("\tbasic_auth {{\n\t\tann {costly}\n\t}}\n\trespond in"));
    let mut answers: FuturesUnordered<_> = (0..16)
        .map(|number| {
            let rig = &rig;
            async move {
                let mut wire = rig.wire().await;
                wire.ask(get("/", "ann", &number.to_string())).await
            }
        })
        .collect();
    while let Some(answer) = answers.next().await {
        if answer.head.status() == 503 {
            assert_eq!(answer.head.field("retry-after").as_deref(), Some("5"));
            return;
        }
        assert_eq!(answer.head.status(), 401);
    }
    panic!("all of them wait");
}
