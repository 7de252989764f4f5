//! Tests of `static`.

use std::time::{Duration, UNIX_EPOCH};

use tempfile::TempDir;

use crate::filters::trial::{Trial, all, chain, mistake, pieces, read};

/// A directory with some files, of a minute after 1970, beside a file that is not in it.
struct Site(TempDir);

impl Site {
    fn new() -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        let root = site.0.path();
        std::fs::create_dir_all(root.join("www/sub")).unwrap();
        for (name, content) in [
            ("secret", "secret"),
            ("www/a.txt", "0123456789"),
            ("www/a b.css", "x"),
            ("www/empty.js", ""),
            ("www/sub/index.html", "index"),
        ] {
            let path = root.join(name);
            std::fs::write(&path, content).unwrap();
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(60)).unwrap();
        }
        std::fs::create_dir(root.join("www/none")).unwrap();
        std::os::unix::fs::symlink(root.join("secret"), root.join("www/out")).unwrap();
        std::os::unix::fs::symlink(root.join("www/a.txt"), root.join("www/in.txt")).unwrap();
        site
    }

    /// The answer to a request, and its body.
    async fn ask(&self, mut trial: Trial) -> (Trial, String) {
        let text = format!(
            "static(\"/x/\", {:?})",
            self.0.path().join("www").to_str().unwrap()
        );
        assert!(trial.run(&chain(&all(), &text)).await);
        let body = trial.answer(pieces(&[]));
        let data = read(body).await.unwrap().concat();
        (trial, String::from_utf8(data).unwrap())
    }

    async fn get(&self, path: &str) -> (Trial, String) {
        self.ask(Trial::get(path)).await
    }
}

#[tokio::test]
async fn files_of_the_directory_are_given() {
    let site = Site::new();
    for (path, kind, content) in [
        ("/x/a.txt?v=1", "text/plain; charset=utf-8", "0123456789"),
        ("/x/a%20b.css", "text/css; charset=utf-8", "x"),
        ("/x/empty.js", "text/javascript; charset=utf-8", ""),
        ("/x//./a.txt", "text/plain; charset=utf-8", "0123456789"),
        ("/x/in.txt", "text/plain; charset=utf-8", "0123456789"),
        ("/x/sub/", "text/html; charset=utf-8", "index"),
    ] {
        let (trial, body) = site.get(path).await;
        assert_eq!((trial.status.as_u16(), body.as_str()), (200, content), "{path}");
        assert_eq!(trial.answer_field("content-type"), [kind], "{path}");
        assert_eq!(
            trial.answer_field("content-length"),
            [content.len().to_string()],
            "{path}"
        );
        assert_eq!(
            trial.answer_field("last-modified"),
            ["Thu, 01 Jan 1970 00:01:00 GMT"]
        );
        assert_eq!(trial.answer_field("accept-ranges"), ["bytes"]);
    }
}

#[tokio::test]
async fn nothing_else_is_given() {
    let site = Site::new();
    for path in [
        "/x/../secret",
        "/x/%2e%2e/secret",
        "/x/..%2fsecret",
        "/x/sub/../../secret",
        "/x/%2e%2e%5csecret",
        "/x/a.txt%00",
        "/x/%ff",
        "/x/out",
        "/x/missing",
        "/x/a.txt/more",
        "/x/none/",
        "/x/",
        "/other/a.txt",
        "/x",
    ] {
        let (trial, body) = site.get(path).await;
        assert_eq!((trial.status.as_u16(), body.as_str()), (404, ""), "{path}");
    }
    let long = format!("/x/{}", "a".repeat(5000));
    assert_eq!(site.get(&long).await.0.status.as_u16(), 404);
}

#[tokio::test]
async fn a_directory_without_its_slash_is_moved_there() {
    let (trial, _) = Site::new().get("/x/sub").await;
    assert_eq!(trial.status.as_u16(), 301);
    assert_eq!(trial.answer_field("location"), ["./sub/"]);
}

#[tokio::test]
async fn only_get_and_head_are_answered() {
    let site = Site::new();
    let mut head = Trial::get("/x/a.txt");
    head.parts.method = http::Method::HEAD;
    let (head, body) = site.ask(head).await;
    assert_eq!((head.status.as_u16(), body.as_str()), (200, ""));
    assert_eq!(head.answer_field("content-length"), ["10"]);
    let (post, _) = site.ask(Trial::post("/x/a.txt")).await;
    assert_eq!(post.status.as_u16(), 405);
    assert_eq!(post.answer_field("allow"), ["GET, HEAD"]);
}

#[tokio::test]
async fn who_has_a_file_does_not_get_it_again() {
    let site = Site::new();
    let (first, _) = site.get("/x/a.txt").await;
    let tag = first.answer_field("etag")[0].to_owned();
    let (minute, before) = ("Thu, 01 Jan 1970 00:01:00 GMT", "Thu, 01 Jan 1970 00:00:59 GMT");
    for (name, value, expected) in [
        ("if-none-match", tag.as_str(), 304),
        ("if-none-match", &format!("\"x\", W/{tag}"), 304),
        ("if-none-match", "*", 304),
        ("if-none-match", "\"x\"", 200),
        ("if-modified-since", minute, 304),
        ("if-modified-since", before, 200),
        ("if-modified-since", "nonsense", 200),
        ("if-match", &tag, 200),
        ("if-match", "\"x\"", 412),
        ("if-match", &format!("W/{tag}"), 412),
        ("if-unmodified-since", minute, 200),
        ("if-unmodified-since", before, 412),
    ] {
        let (trial, body) = site.ask(Trial::get("/x/a.txt").with(name, value)).await;
        assert_eq!(trial.status.as_u16(), expected, "{name}: {value}");
        assert_eq!(body.is_empty(), expected != 200, "{name}: {value}");
        assert_eq!(trial.answer_field("etag"), [&tag]);
    }
}

#[tokio::test]
async fn parts_of_files_are_given() {
    let site = Site::new();
    let (first, _) = site.get("/x/a.txt").await;
    let tag = first.answer_field("etag")[0].to_owned();
    let asking = |range: &str| Trial::get("/x/a.txt").with("range", range);
    for (trial, status, range, content) in [
        (asking("bytes=2-4"), 206, Some("bytes 2-4/10"), "234"),
        (asking("bytes=-3"), 206, Some("bytes 7-9/10"), "789"),
        (asking("bytes=10-"), 416, Some("bytes */10"), ""),
        (asking("bytes=0-1,3-4"), 200, None, "0123456789"),
        (
            asking("bytes=0-1").with("if-range", &tag),
            206,
            Some("bytes 0-1/10"),
            "01",
        ),
        (
            asking("bytes=0-1").with("if-range", "\"x\""),
            200,
            None,
            "0123456789",
        ),
    ] {
        let (trial, body) = site.ask(trial).await;
        assert_eq!((trial.status.as_u16(), body.as_str()), (status, content));
        assert_eq!(
            trial.answer_field("content-range"),
            range.into_iter().collect::<Vec<_>>()
        );
    }
}

#[tokio::test]
async fn large_files_come_in_pieces_and_shorter_ones_are_cut() {
    let site = Site::new();
    let path = site.0.path().join("www/large");
    std::fs::write(&path, vec![b'x'; 200_000]).unwrap();
    let text = format!(
        "static(\"/x/\", {:?})",
        site.0.path().join("www").to_str().unwrap()
    );
    let mut trial = Trial::get("/x/large");
    trial.run(&chain(&all(), &text)).await;
    let pieces_read = read(trial.answer(pieces(&[]))).await.unwrap();
    assert!(pieces_read.len() > 1);
    assert_eq!(pieces_read.concat().len(), 200_000);

    let mut trial = Trial::get("/x/large");
    trial.run(&chain(&all(), &text)).await;
    std::fs::write(&path, "short").unwrap();
    assert!(read(trial.answer(pieces(&[]))).await.is_err());
}

#[test]
fn arguments_that_say_nothing_are_refused() {
    for text in [
        "static()",
        r#"static("/x/")"#,
        r#"static("/x/", "")"#,
        r#"static("/x/", "/srv", 1)"#,
    ] {
        assert!(mistake(text).starts_with("invalid_filter_params"), "{text}");
    }
}
