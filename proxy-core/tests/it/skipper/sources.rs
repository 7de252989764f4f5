//! Where routes come from: files and texts, and what is done to all of them.

use std::net::Ipv4Addr;

use crate::support::logs;
use crate::support::origin::Recorder;
use crate::support::rig::Rig;
use crate::support::wait::eventually;

use super::{RoutesFile, backend, filters, reload, rig, rig_with, site, told, until_told};

/// Routes of which each path is answered with its text.
fn saying(pairs: &[(&str, &str)]) -> String {
    let route =
        |(id, text): &(&str, &str)| format!("{id}: Path(\"/{id}\") -> serve(200, \"{text}\") -> <shunt>;\n");
    pairs.iter().map(route).collect()
}

#[tokio::test]
async fn a_file_that_changes_changes_the_routes() {
    let file = RoutesFile::new(&saying(&[("a", "1"), ("b", "1")]));
    let rig = file.rig();
    assert_eq!(told(&rig.get("/a").await), (200, "1".to_owned()));
    file.write(&saying(&[("a", "2"), ("c", "2")]));
    until_told(&rig, "/a", 200, "2").await;
    assert_eq!(told(&rig.get("/c").await), (200, "2".to_owned()));
    assert_eq!(rig.get("/b").await.head.status(), 404);
    // An empty file is a list of no routes.
    file.write("// nothing\n");
    until_told(&rig, "/a", 404, "Not Found\n").await;
}

/// Waits until `count` lines say that this file is wrong.
async fn until_wrong(file: &RoutesFile, count: usize) {
    let path = file.path().display().to_string();
    eventually("the file is found to be wrong", async || {
        let lines = logs::lines_with(&["routes cannot be read", &path]);
        (lines.len() >= count).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_file_that_is_half_written_or_gone_leaves_the_routes_as_they_were() {
    logs::capture();
    let file = RoutesFile::new(&saying(&[("a", "1")]));
    let rig = file.rig();
    for (count, half) in [
        "a: Path(\"/a\") -> serve(200, \"2",
        "a: Path(\"/a\"",
        "b: * -> <shunt",
        "\u{0}",
    ]
    .iter()
    .enumerate()
    {
        file.write(half);
        until_wrong(&file, count + 1).await;
        assert_eq!(told(&rig.get("/a").await), (200, "1".to_owned()), "{half}");
    }
    file.remove();
    until_wrong(&file, 5).await;
    assert_eq!(told(&rig.get("/a").await), (200, "1".to_owned()));
    file.write(&saying(&[("a", "3")]));
    until_told(&rig, "/a", 200, "3").await;
}

#[tokio::test]
async fn a_mistake_in_one_file_does_not_keep_another_from_changing() {
    let (one, other) = (
        RoutesFile::new(&saying(&[("a", "1")])),
        RoutesFile::new(&saying(&[("b", "1")])),
    );
    let lines = format!(
        "\teskip {{\n{}\n\t\tfile {}\n\t\tinline `{}`\n\t}}",
        one.lines(),
        other.path().display(),
        saying(&[("c", "1")])
    );
    let rig = site(&filters::options(), &lines);
    for path in ["/a", "/b", "/c"] {
        assert_eq!(told(&rig.get(path).await), (200, "1".to_owned()), "{path}");
    }
    one.write("a: * ->");
    other.write(&saying(&[("b", "2")]));
    until_told(&rig, "/b", 200, "2").await;
    for path in ["/a", "/c"] {
        assert_eq!(told(&rig.get(path).await), (200, "1".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn of_routes_with_one_id_the_later_one_counts() {
    let rig = rig(&format!(
        "{}{}",
        saying(&[("a", "1"), ("b", "1")]),
        "a: Path(\"/other\") -> serve(200, \"2\") -> <shunt>;"
    ));
    assert_eq!(rig.get("/a").await.head.status(), 404);
    assert_eq!(told(&rig.get("/other").await), (200, "2".to_owned()));
    assert_eq!(told(&rig.get("/b").await), (200, "1".to_owned()));
}

#[tokio::test]
async fn of_sources_with_one_id_the_later_one_counts_every_time() {
    let file = RoutesFile::new(&saying(&[("a", "file")]));
    let lines = format!(
        "\teskip {{\n{}\n\t\tinline `{}`\n\t}}",
        file.lines(),
        saying(&[("a", "inline"), ("now", "0")])
    );
    let rig = site(&filters::options(), &lines);
    assert_eq!(told(&rig.get("/a").await), (200, "inline".to_owned()));
    for number in 1..=5 {
        file.write(&saying(&[("a", "file"), ("seen", &number.to_string())]));
        until_told(&rig, "/seen", 200, &number.to_string()).await;
        assert_eq!(told(&rig.get("/a").await), (200, "inline".to_owned()));
    }
}

#[tokio::test]
async fn a_route_that_is_invalid_leaves_the_others() {
    let invalid = [
        "x: Path(\"/x\") -> noSuchFilter() -> <shunt>;",
        "x: Path(\"/x\") && NoSuchPredicate() -> <shunt>;",
        "x: Path(\"/x\") -> setResponseHeader(1) -> <shunt>;",
        "x: Path(\"/x\") && QueryParam() -> <shunt>;",
        "x: Path(\"/x\") -> True() -> <shunt>;",
        "x: Path(\"/x\") -> \"invalid-url\";",
        "x: Path(\"/x\") -> \"ftp://a.test\";",
        "x: Path(\"/x\") -> <forward>;",
        "x: Path(\"/x\") && PathSubtree(\"/x\") -> <shunt>;",
        "x: Path(\"/a*b\") -> <shunt>;",
        "x: Path(\"/x\") && Host(/(/) -> <shunt>;",
        "x: Path(\"/x\") -> backendTimeout(\"soon\") -> <shunt>;",
        "x: Path(\"/x\") -> lua(\"x\") -> <shunt>;",
    ];
    for route in invalid {
        let rig = rig(&format!("{route}{}", saying(&[("a", "1")])));
        assert_eq!(rig.get("/x").await.head.status(), 404, "{route}");
        assert_eq!(told(&rig.get("/a").await), (200, "1".to_owned()), "{route}");
    }
}

#[tokio::test]
async fn a_route_that_becomes_invalid_goes_and_comes_back_when_it_is_right() {
    let file = RoutesFile::new(&saying(&[("a", "1"), ("b", "1")]));
    let rig = file.rig();
    file.write(&format!(
        "{}b: Path(\"/b\") -> wrong() -> <shunt>;",
        saying(&[("a", "2")])
    ));
    until_told(&rig, "/a", 200, "2").await;
    assert_eq!(rig.get("/b").await.head.status(), 404);
    file.write(&saying(&[("a", "3"), ("b", "3")]));
    until_told(&rig, "/b", 200, "3").await;
}

#[tokio::test]
async fn a_text_that_is_no_list_of_routes_refuses_the_configuration() {
    let rig = rig(&saying(&[("a", "1")]));
    let port = rig.addr().port();
    let wrong = super::caddyfile(port, "\teskip {\n\t\tinline `a: * -> <shunt>; b: #`\n\t}");
    let error = rig.load(&wrong).await.expect_err("it is wrong");
    assert!(error.contains("inline:1:"), "{error}");
    assert_eq!(told(&rig.get("/a").await), (200, "1".to_owned()));
}

#[tokio::test]
async fn filters_for_all_routes_stand_around_their_own() {
    let lines = "\t\tdefault_filters_prepend `mark(\"first\") -> mark(\"second\")`
        default_filters_append `mark(\"last\")`
        default_filters_append `mark(\"very last\")`";
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = rig_with(
        lines,
        &format!("a: * -> mark(\"own\") -> {};", backend(origin.addr())),
    );
    let answer = rig.get("/").await;
    let order = ["first", "second", "own", "last", "very last"];
    assert_eq!(origin.only_request().head.all("x-order"), order);
    let mut reverse = order;
    reverse.reverse();
    assert_eq!(answer.head.all("x-order"), reverse);
}

#[tokio::test]
async fn routes_are_edited_and_cloned_by_their_texts() {
    let routes = "a: Path(\"/a\") && Header(\"X-Old\", \"1\") -> serve(200, \"a\") -> <shunt>;
                  b: Path(\"/b\") -> serve(200, \"b\") -> <shunt>;";
    let asks = async |rig: &Rig, path: &str, field: &str| {
        let request = super::get_with(path, &format!("{field}: 1\r\n"));
        rig.wire().await.ask(request).await.head.status()
    };
    let edited = rig_with("\t\tedit_route /X-Old/X-New/", routes);
    let cloned = rig_with("\t\tclone_route /X-Old/X-New/", routes);
    assert_eq!(asks(&edited, "/a", "X-New").await, 200);
    assert_eq!(asks(&edited, "/a", "X-Old").await, 404);
    for field in ["X-New", "X-Old"] {
        assert_eq!(asks(&cloned, "/a", field).await, 200, "{field}");
    }
    for rig in [&edited, &cloned] {
        assert_eq!(asks(rig, "/b", "X-Any").await, 200, "what does not match stays");
    }
}

#[tokio::test]
async fn an_edit_that_makes_no_route_leaves_the_route_as_it_is_and_the_others_edited() {
    let routes =
        "a: Path(\"/a\") -> serve(200, \"xx\") -> <shunt>; b: Path(\"/b\") -> serve(200, \"x)\") -> <shunt>;";
    let rig = rig_with("\t\tedit_route |x(\\\\)?\"|y\"$1|", routes);
    assert_eq!(told(&rig.get("/a").await), (200, "xy".to_owned()));
}

#[tokio::test]
async fn filters_that_are_disabled_make_their_routes_invalid() {
    let rig = rig_with(
        "\t\tdisabled_filters mark setRequestHeader",
        &format!(
            "x: Path(\"/x\") -> mark(\"a\") -> <shunt>; {}",
            saying(&[("a", "1")])
        ),
    );
    assert_eq!(rig.get("/x").await.body, b"Not Found\n");
    assert_eq!(told(&rig.get("/a").await), (200, "1".to_owned()));
}

#[tokio::test]
async fn where_forward_leads_is_what_the_handler_says() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "forwarded").await;
    let rig = rig_with(
        &format!("\t\tforward_backend http://{}", origin.addr()),
        "a: * -> <forward>;",
    );
    assert_eq!(told(&rig.get("/").await), (200, "forwarded".to_owned()));
}

#[tokio::test]
async fn handlers_that_say_the_same_share_what_they_read_and_others_do_not() {
    let file = RoutesFile::new(&saying(&[("a", "1")]));
    let rig = file.rig();
    // Another configuration with the same routes goes on with them, and follows the file as before.
    reload(&rig, &format!("\trespond /new new\n{}", file.directives())).await;
    assert_eq!(told(&rig.get("/a").await), (200, "1".to_owned()));
    file.write(&saying(&[("a", "2")]));
    until_told(&rig, "/a", 200, "2").await;
    // So does one with other settings, even if the file is not there at that moment.
    file.remove();
    reload(
        &rig,
        &file.directives().replace("poll", "default_status 410\n\t\tpoll"),
    )
    .await;
    assert_eq!(told(&rig.get("/a").await), (200, "2".to_owned()));
    assert_eq!(rig.get("/none").await.head.status(), 410);
    file.write(&saying(&[("a", "3")]));
    until_told(&rig, "/a", 200, "3").await;
    // What nobody uses any more is not followed, and begins anew.
    reload(&rig, "\trespond none").await;
    assert_eq!(rig.get("/a").await.body, b"none");
    file.write(&saying(&[("a", "4")]));
    reload(&rig, &file.directives()).await;
    until_told(&rig, "/a", 200, "4").await;
}

#[tokio::test]
async fn a_slash_at_the_end_means_nothing_if_the_handler_says_so() {
    let routes = saying(&[("a", "1")]);
    let strict = rig(&routes);
    assert_eq!(strict.get("/a/").await.head.status(), 404);
    let lenient = rig_with("\t\tignore_trailing_slash", &routes);
    assert_eq!(lenient.get("/a/").await.head.status(), 200);
}

#[tokio::test]
async fn of_two_routes_with_one_id_the_earlier_does_not_run_if_nothing_can_be_made_of_the_later() {
    let later = "a: Path(\"/a\") -> noSuchFilter() -> <shunt>;";
    let lines = format!("\t\tinline `{}`", saying(&[("a", "1"), ("b", "1")]));
    let rig = rig_with(&lines, later);
    assert_eq!(rig.get("/a").await.head.status(), 404);
    assert_eq!(told(&rig.get("/b").await), (200, "1".to_owned()));
}

#[tokio::test]
async fn a_directory_and_a_pipe_are_no_files_and_keep_nobody_waiting() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    for path in [folder.path(), pipe.as_path()] {
        let rig = rig_with(&format!("\t\tfile {}", path.display()), "* -> <shunt>");
        assert_eq!(rig.get("/").await.head.status(), 503);
    }
}
