//! `doorway explain`.

use crate::support::{Directory, SECRET, doorway, finish};

const CADDYFILE: &str = "\
{
	auto_https off
}
http://a.example:8080 {
	@mobile header User-Agent *Mobile*
	respond @mobile small
	reverse_proxy /api/* 127.0.0.1:3000
}
http://p.example:8080 {
	doors_handler {
		secret {$SECRET}
		upstream {
			pod_cidr 10.0.0.0/24
			host app.internal
			upstream_port 3000
		}
	}
	reverse_proxy {
		dynamic doors_upstreams
	}
}
";

fn explain(arguments: &[&str]) -> (Option<i32>, String, String) {
    let directory = Directory::with("Caddyfile", CADDYFILE);
    let arguments = [&["explain"], arguments].concat();
    let ended = finish(doorway(directory.path(), &arguments).env("SECRET", SECRET));
    let files = directory.path().read_dir().unwrap().count();
    assert_eq!(files, 1, "nothing is left behind");
    (ended.code, ended.stdout, ended.stderr)
}

#[test]
fn it_tells_the_way_of_a_request() {
    let (code, said, errors) = explain(&["GET", "http://a.example:8080/api/x?y=1"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let expected = "\
GET http://a.example:8080/api/x?y=1
server srv0 at :8080
  + routes[0]: host a.example
    subroute
    - handle[0].routes[0]: refused by header {\"User-Agent\":[\"*Mobile*\"]}
    + handle[0].routes[1]: path /api/*
      reverse_proxy
forwarded to 127.0.0.1:3000 for GET /api/x?y=1 of a.example:8080 (one of those that are configured)
";
    assert_eq!(said, expected);
}

#[test]
fn fields_and_addresses_may_be_given_and_json_asked_for() {
    let (code, said, errors) = explain(&[
        "GET",
        "http://127.0.0.1:8080/",
        "-H",
        "Host: a.example",
        "-H",
        "User-Agent: A Mobile one",
        "--from",
        "2001:db8::1",
        "--json",
    ]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["server"], "srv0");
    assert_eq!(said["steps"][0]["step"], "taken");
    assert_eq!(said["outcome"]["outcome"], "answered");
    assert_eq!(said["outcome"]["length"], 5);
}

#[test]
fn neither_token_nor_secret_is_shown() {
    let (code, said, _) = explain(&["GET", "http://p.example:8080/~/abcdefgh/x"]);
    assert_eq!(code, Some(0));
    assert!(
        said.contains("/~/(token)/x") && said.contains("answered with 410"),
        "{said}"
    );
    assert!(!said.contains("abcdefgh") && !said.contains(SECRET), "{said}");
}

#[test]
fn what_cannot_be_explained_says_why() {
    let (code, _, errors) = explain(&["GET", "http://a.example/"]);
    assert_eq!(code, Some(1));
    assert!(
        errors.contains("no server listens on port 80 (but on :8080)"),
        "{errors}"
    );
    for (arguments, message) in [
        (&["GET", "/relative"][..], "not an absolute URL"),
        (&["G T", "http://a.example:8080/"], "METHOD"),
        (&["GET", "http://a.example:8080/", "-H", "none"], "NAME: VALUE"),
        (&["GET", "http://a.example:8080/", "--from", "here"], "--from"),
    ] {
        let (code, _, errors) = explain(arguments);
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains(message), "{errors}");
    }
}

#[test]
fn it_says_that_hosts_of_sources_are_not_known() {
    let text = "{\n\troute_sources {\n\t\tlisten http://:8080\n\t\tfile routes.yaml\n\t}\n}\n:8080 {\n\trespond here\n}\n";
    let directory = Directory::with("Caddyfile", text);
    let arguments = ["explain", "GET", "http://a.example:8080/"];
    let ended = finish(&mut doorway(directory.path(), &arguments));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.starts_with("warning: hosts of `route_sources`"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains("answered with 200"), "{}", ended.stdout);
}
