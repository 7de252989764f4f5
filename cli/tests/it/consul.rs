//! `doorway consul`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::support::{Directory, Finished, doorway, finish};

const PASSING: &str = r#"[
    {"Node": {"Node": "n1", "Address": "10.0.0.1", "Meta": {"zone": "a"}}, "Service": {"ID": "api-1", "Port": 80}},
    {"Node": {"Node": "n2", "Address": "10.0.0.2", "Meta": {"zone": "a"}}, "Service": {"ID": "api-2", "Port": 80, "Weights": {"Passing": 5}}},
    {"Node": {"Node": "n3", "Address": "10.0.0.3", "Meta": {"zone": "b"}}, "Service": {"ID": "api-3", "Port": 80}},
    {"Node": {"Node": "n4", "Address": "10.0.0.4"}, "Service": {"ID": "api-4", "Port": 70000}}
]"#;

const ALL: &str = r#"[
    {"Node": {"Node": "n1"}, "Service": {"ID": "api-1"}}, {"Node": {"Node": "n2"}, "Service": {"ID": "api-2"}},
    {"Node": {"Node": "n3"}, "Service": {"ID": "api-3"}}, {"Node": {"Node": "n4"}, "Service": {"ID": "api-4"}},
    {"Node": {"Node": "n5"}, "Service": {"ID": "api-5"}, "Checks": [{"CheckID": "http", "Status": "critical"}]}
]"#;

/// A Consul that knows the service `api`, and the heads of its requests.
struct Consul {
    address: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Consul {
    fn start(status: &'static str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&heads);
        // Ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let head: Vec<String> = lines
                    .map(Result::unwrap)
                    .take_while(|line| !line.is_empty())
                    .collect();
                let body = match &head[0] {
                    line if !line.contains("/service/api") => "[]",
                    line if line.contains("passing=1") => PASSING,
                    _ => ALL,
                };
                seen.lock().unwrap().push(head.join("\n"));
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                );
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        Self { address, heads }
    }

    fn resolve(&self, arguments: &[&str]) -> Finished {
        let directory = Directory::new();
        let arguments = [&["consul", "resolve"], arguments].concat();
        let mut command = doorway(directory.path(), &arguments);
        finish(
            command
                .env("CONSUL_HTTP_ADDR", &self.address)
                .env("CONSUL_HTTP_TOKEN", "of-the-environment"),
        )
    }
}

#[test]
fn a_service_is_shown_as_the_proxy_would_use_it() {
    let consul = Consul::start("200 OK");
    let found = consul.resolve(&["api", "--node-meta", "zone", "--local-value", "a"]);
    assert_eq!(
        found.stdout,
        "# api: tier local, 2 of 5 registered instances\n\
         use\t10.0.0.1:80\tweight 1, node \"a\", local\n\
         use\t10.0.0.2:80\tweight 5, node \"a\", local\n\
         pass\t10.0.0.3:80\tweight 1, node \"b\"; enough others are local\n\
         skip\tn4/api-4\tport 70000 is not one from 1 to 65535\n\
         skip\tn5/api-5\tcheck \"http\" is \"critical\"\n"
    );
    assert_eq!((found.code, found.stderr.as_str()), (Some(0), ""));
    let heads = consul.heads.lock().unwrap();
    assert!(heads[0].starts_with("GET /v1/health/service/api?passing=1 HTTP/1.1"));
    assert!(
        heads
            .iter()
            .all(|head| head.contains("x-consul-token: of-the-environment"))
    );

    drop(heads);
    let all = consul.resolve(&["api", "--tag", "v1", "--stale", "--datacenter", "dc2"]);
    assert!(
        all.stdout.starts_with("# api: tier all, 3 of 5"),
        "{}",
        all.stdout
    );
    let heads = consul.heads.lock().unwrap();
    assert!(heads[2].starts_with("GET /v1/health/service/api?passing=1&dc=dc2&tag=v1&stale= HTTP/1.1"));
}

#[test]
fn nothing_to_use_is_exit_code_1_and_says_why() {
    let consul = Consul::start("200 OK");
    let unknown = consul.resolve(&["unknown"]);
    assert_eq!(unknown.code, Some(1));
    assert_eq!(
        unknown.stderr,
        "Consul knows no such service, or the token may not see it\n"
    );

    let refused = Consul::start("403 Forbidden").resolve(&["api"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .stderr
            .starts_with("error: cannot look up \"api\": Consul refuses the token")
    );
    assert!(!refused.stderr.contains("of-the-environment"));

    let nowhere = consul.resolve(&["../x"]);
    assert_eq!(nowhere.code, Some(1));
    assert!(nowhere.stderr.contains("could lead out of its path"));
}

#[test]
fn settings_of_no_use_are_exit_code_2() {
    let consul = Consul::start("200 OK");
    let scheme = consul.resolve(&["api", "--address", "ftp://a"]);
    assert_eq!(scheme.code, Some(2));
    assert_eq!(
        scheme.stderr,
        "error: address: the scheme must be http, https or unix\n"
    );
    assert_eq!(consul.resolve(&["api", "--node-meta", "zone"]).code, Some(2));
    assert!(consul.heads.lock().unwrap().is_empty());
}
