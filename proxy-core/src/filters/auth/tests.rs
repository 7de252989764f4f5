//! Tests of `basicAuth` and of secrets in files.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tempfile::TempDir;

use super::*;
use crate::filters::trial::{Chain, Trial, all, chain};

/// `ab`, as htpasswd writes it, with little cost.
const BCRYPT: &str = "$2y$04$OK7Nx6b3.7meq22/AFN4AucXeykb7.2JkE6Xn9G.z4YkFnlcjBkli";

/// `secret`.
const ARGON2: &str =
    "$argon2id$v=19$m=64,t=1,p=1$WIFHs8r0YeXji3IOEXWOFw$b9QuGeqxYjIGDrnCCgFZRnbgvfB8CvAcyxCG/lTmpCs";

/// A file with this content.
struct Written(TempDir);

impl Written {
    fn new(content: &str) -> Self {
        let written = Self(tempfile::tempdir().unwrap());
        written.write(content);
        written
    }

    fn write(&self, content: &str) {
        std::fs::write(self.path(), content).unwrap();
    }

    fn path(&self) -> String {
        self.0.path().join("file").to_str().unwrap().to_owned()
    }
}

/// The status of a request of a user; 200 if it passes.
async fn status(chain: &Chain, user: &str, password: &str) -> u16 {
    let credentials = STANDARD.encode(format!("{user}:{password}"));
    let mut trial = Trial::get("/").with("authorization", &format!("Basic {credentials}"));
    trial.run(chain).await;
    let is_known = trial.exchange.bag.get("auth-user") == Some(user);
    assert_eq!(is_known, trial.status == 200, "filters behind know who it is");
    trial.status.as_u16()
}

#[tokio::test]
async fn users_of_the_file_pass_with_their_passwords() {
    let file = Written::new(&format!("# users\n\nann:{BCRYPT}\nbob:{ARGON2}\n"));
    let chain = chain(&all(), &format!("basicAuth({:?})", file.path()));
    assert_eq!(status(&chain, "ann", "ab").await, 200);
    assert_eq!(status(&chain, "bob", "secret").await, 200);
    for (user, password) in [("ann", "secret"), ("bob", "ab"), ("eve", "ab"), ("", "")] {
        assert_eq!(status(&chain, user, password).await, 401, "{user}");
    }
}

#[tokio::test]
async fn others_are_asked_for_a_password() {
    let file = Written::new(&format!("ann:{BCRYPT}"));
    for (args, expected) in [
        (format!("{:?}", file.path()), r#"Basic realm="Basic Realm""#),
        (format!("{:?}, \"Here\"", file.path()), r#"Basic realm="Here""#),
    ] {
        let mut trial = Trial::get("/");
        assert!(trial.run(&chain(&all(), &format!("basicAuth({args})"))).await);
        assert_eq!(trial.status, StatusCode::UNAUTHORIZED);
        assert_eq!(trial.answer_field("www-authenticate"), [expected]);
    }
}

#[tokio::test]
async fn a_file_that_changes_changes_who_may_pass() {
    let file = Written::new(&format!("ann:{BCRYPT}"));
    let chain = chain(&all(), &format!("basicAuth({:?})", file.path()));
    assert_eq!(status(&chain, "ann", "ab").await, 200);
    file.write(&format!("robert:{BCRYPT}"));
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    tokio::time::resume();
    assert_eq!(status(&chain, "ann", "ab").await, 401);
    assert_eq!(status(&chain, "robert", "ab").await, 200);
}

#[test]
fn files_that_say_nothing_are_refused_without_being_shown() {
    for (content, expected) in [
        ("ann", "line 1: expected a name, a colon and a hash"),
        (
            "# x\nann:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=",
            "line 2: neither a hash",
        ),
        ("ann:$apr1$abcdefgh$0123456789", "line 1: not a bcrypt hash"),
    ] {
        let error = users(content.as_bytes()).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
        assert!(
            !error.contains("qUqP") && !error.contains("0123456789"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn secrets_come_from_files_and_change_with_them() {
    let file = Written::new(" one\n");
    let path = file.path();
    let text = format!(
        r#"setRequestHeaderFromSecret("X-A", {path:?}) -> setRequestHeaderFromSecret("X-B", {path:?}, "b-") ->
        setRequestHeaderFromSecret("X-C", {path:?}, "b-", "-c") -> bearerinjector({path:?})"#
    );
    let chain = chain(&all(), &text);
    for content in ["one", "three"] {
        let mut trial = Trial::get("/").with("x-a", "mine").with("authorization", "mine");
        trial.run(&chain).await;
        assert_eq!(trial.field("x-a"), [content]);
        assert_eq!(trial.field("x-b"), [format!("b-{content}")]);
        assert_eq!(trial.field("x-c"), [format!("b-{content}-c")]);
        assert_eq!(trial.field("authorization"), [format!("Bearer {content}")]);
        assert!(trial.parts.headers["x-a"].is_sensitive());
        file.write("three\n");
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        tokio::time::resume();
    }
    assert!(!format!("{chain:?}").contains("three"));
}

#[test]
fn secrets_that_are_not_there_or_no_value_are_refused_without_being_shown() {
    let file = Written::new("a\nb");
    let path = file.path();
    for text in [
        format!("bearerinjector({path:?})"),
        format!(r#"setRequestHeaderFromSecret("Content-Length", {path:?})"#),
        r#"bearerinjector("/nowhere/at/all")"#.to_owned(),
        r#"basicAuth("/nowhere/at/all")"#.to_owned(),
        "basicAuth()".to_owned(),
    ] {
        let error = crate::filters::trial::mistake(&text);
        assert!(error.starts_with("invalid_filter_params"), "{error}");
        assert!(!error.contains("a\nb"), "{error}");
    }
}
