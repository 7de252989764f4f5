//! A running proxy and the commands that drive it: `reload`, `stop` and `config`; and what a restart knows.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::Value;

use crate::support::{Client, Directory, Finished, PATIENCE, Running, doorway, finish, free_port};

/// A proxy with an admin API, and its files.
struct Proxy {
    running: Running,
    client: Client,
    directory: Directory,
}

/// A site that says `text`, administered at `admin`.
fn caddyfile(admin: &str, port: u16, text: &str) -> String {
    format!("{{\n\tadmin {admin}\n}}\nhttp://127.0.0.1:{port} {{\n\tbind 127.0.0.1\n\trespond {text}\n}}\n")
}

/// The address of a socket in a directory.
fn socket(directory: &Directory, name: &str) -> String {
    format!("unix/{}", directory.path().join(name).display())
}

fn run(directory: &Directory, arguments: &[&str]) -> Running {
    let running = Running::start(&mut doorway(
        directory.path(),
        &[&["run", "--workers", "1"], arguments].concat(),
    ));
    running.stderr_line("saved the configuration");
    running
}

/// A finished command that must have done what it was asked for.
fn done(directory: &Path, arguments: &[&str]) -> Finished {
    let finished = finish(&mut doorway(directory, arguments));
    assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
    finished
}

/// A finished command that must have failed; what it says.
fn failed(directory: &Path, arguments: &[&str]) -> String {
    let finished = finish(&mut doorway(directory, arguments));
    assert_eq!(
        (finished.code, finished.stdout.as_str()),
        (Some(1), ""),
        "{arguments:?}"
    );
    finished.stderr
}

// === impl Proxy ===

impl Proxy {
    fn start() -> Self {
        let (directory, port) = (Directory::new(), free_port());
        let text = caddyfile(&socket(&directory, "admin.sock"), port, "first");
        directory.write("Caddyfile", &text);
        Self {
            running: run(&directory, &[]),
            client: Client::new(port),
            directory,
        }
    }

    fn says(&self) -> String {
        self.client.get("/").body
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn write(&self, admin: &str, text: &str) {
        self.directory
            .write("Caddyfile", &caddyfile(admin, self.client.port, text));
    }

    /// Ends it over its socket.
    fn stop(self) -> Directory {
        done(self.path(), &["stop"]);
        let (code, log) = self.running.end();
        assert_eq!(code, Some(0), "{log}");
        assert!(log.contains("asked to stop by the admin API"), "{log}");
        self.directory
    }
}

#[test]
fn a_reload_changes_what_is_served_and_what_is_shown() {
    let proxy = Proxy::start();
    assert_eq!(proxy.says(), "first");
    let socket = socket(&proxy.directory, "admin.sock");
    proxy.write(&socket, "second");
    let reloaded = done(proxy.path(), &["reload"]);
    assert_eq!(
        (reloaded.stdout.as_str(), reloaded.stderr.as_str()),
        ("", format!("loaded by the proxy at {socket}\n").as_str())
    );
    assert_eq!(proxy.says(), "second");
    let body = "apps/http/servers/srv0/routes/0/handle/0/routes/0/handle/0/body";
    assert_eq!(done(proxy.path(), &["config", body]).stdout, "\"second\"\n");
    let whole: Value = serde_json::from_str(&done(proxy.path(), &["config"]).stdout).unwrap();
    assert_eq!(whole["admin"]["listen"], socket);
    let nowhere = failed(proxy.path(), &["config", "apps/nope/deeper"]);
    assert!(
        nowhere.contains("400: invalid traversal path at: config/apps/nope/deeper"),
        "{nowhere}"
    );
    proxy.stop();
}

#[test]
fn a_configuration_that_cannot_be_run_is_refused_where_it_is_written() {
    let proxy = Proxy::start();
    let socket = socket(&proxy.directory, "admin.sock");
    proxy.write(&socket, "second\n\trespnd third");
    let refused = failed(proxy.path(), &["reload"]);
    assert!(
        refused.starts_with("Caddyfile:7:2: unknown directive `respnd`"),
        "{refused}"
    );
    // What only the proxy can know, it says.
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    proxy
        .directory
        .write("Caddyfile", &caddyfile(&socket, port, "second"));
    let refused = failed(proxy.path(), &["reload"]);
    assert!(
        refused.contains(&format!(
            "answered 400: loading config: loading new config: cannot listen on 127.0.0.1:{port}"
        )),
        "{refused}"
    );
    assert_eq!(proxy.says(), "first");
    proxy.stop();
}

#[test]
fn a_file_that_moves_the_admin_api_finds_the_proxy_where_it_is() {
    let proxy = Proxy::start();
    let next = socket(&proxy.directory, "next.sock");
    proxy.write(&next, "second");
    let reloaded = done(proxy.path(), &["reload"]);
    assert!(reloaded.stderr.contains("admin.sock"), "{}", reloaded.stderr);
    assert_eq!(proxy.says(), "second");
    assert!(!proxy.path().join("admin.sock").exists());
    let port = free_port();
    let tcp = format!("localhost:{port}");
    proxy.write(&tcp, "third");
    done(proxy.path(), &["reload"]);
    assert!(!proxy.path().join("next.sock").exists());
    assert_eq!(
        done(proxy.path(), &["config", "admin/listen", "--address", &tcp]).stdout,
        format!("\"{tcp}\"\n")
    );
    assert_eq!(proxy.says(), "third");
    let directory = proxy.stop();
    let silent = failed(directory.path(), &["config"]);
    assert_eq!(
        silent,
        format!(
            "error: nothing listens on {tcp}\n  help: start one with `doorway run`, or say with --address where it is \
             (its option `admin`)\n"
        )
    );
}

#[test]
fn a_file_is_not_loaded_into_the_proxy_of_another_file() {
    let proxy = Proxy::start();
    let text = caddyfile(&socket(&proxy.directory, "other.sock"), free_port(), "other");
    proxy.directory.write("Other.caddyfile", &text);
    let refused = failed(proxy.path(), &["reload", "--config", "Other.caddyfile"]);
    assert!(
        refused.contains("answered 412: loading config: what runs here did not come from"),
        "{refused}"
    );
    assert_eq!(proxy.says(), "first");
    let meant = socket(&proxy.directory, "admin.sock");
    done(
        proxy.path(),
        &["reload", "--config", "Other.caddyfile", "--address", &meant],
    );
    let (code, _) = {
        done(proxy.path(), &["stop"]);
        proxy.running.end()
    };
    assert_eq!(code, Some(0));
}

#[test]
fn a_restart_resumes_with_what_was_loaded_last() {
    let proxy = Proxy::start();
    let ask = "PATCH /config/apps/http/servers/srv0/routes/0/handle/0/routes/0/handle/0/body HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
               Content-Type: application/json\r\nContent-Length: 7\r\n\r\n\"later\"";
    let mut stream = UnixStream::connect(proxy.path().join("admin.sock")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(ask.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert_eq!(proxy.says(), "later");
    let saved = proxy.path().join(".config/doorway/autosave.json");
    assert_eq!(
        std::fs::metadata(&saved).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let client = proxy.client.clone();
    let directory = proxy.stop();

    let resumed = Proxy {
        running: run(&directory, &["--resume"]),
        client: client.clone(),
        directory,
    };
    assert_eq!(resumed.says(), "later");
    let directory = resumed.stop();

    let afresh = Proxy {
        running: run(&directory, &[]),
        client,
        directory,
    };
    assert_eq!(
        afresh.says(),
        "first",
        "without --resume it is the file that counts"
    );
    let directory = afresh.stop();

    std::fs::write(&saved, "{").unwrap();
    let broken = failed(directory.path(), &["run", "--resume"]);
    assert!(broken.contains("autosave.json:1:"), "{broken}");
}

#[test]
fn resuming_from_nothing_waits_for_a_first_configuration() {
    let (directory, port) = (Directory::new(), free_port());
    let address = socket(&directory, "admin.sock");
    let mut command = doorway(directory.path(), &["run", "--workers", "1", "--resume"]);
    let running = Running::start(command.env("DOORWAY_ADMIN", &address));
    running.stderr_line("the admin API is served");
    let mode = std::fs::metadata(directory.path().join("admin.sock"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    directory.write("Caddyfile", &caddyfile(&address, port, "hello"));
    done(directory.path(), &["reload"]);
    assert_eq!(Client::new(port).get("/").body, "hello");
    done(directory.path(), &["stop"]);
    assert_eq!(running.end().0, Some(0));
    assert!(!directory.path().join("admin.sock").exists());
}

#[test]
fn an_admin_address_that_is_taken_is_named_with_a_way_out() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let admin = format!("localhost:{}", taken.local_addr().unwrap().port());
    let directory = Directory::with("Caddyfile", &caddyfile(&admin, free_port(), "hello"));
    let finished = finish(&mut doorway(directory.path(), &["run"]));
    assert_eq!(finished.code, Some(1));
    let expected = format!("error: cannot serve the admin API on {admin}: ");
    let last = finished.stderr.lines().last().unwrap();
    assert!(
        last.starts_with(&expected) && last.contains("`admin off`"),
        "{last}"
    );
}

#[test]
fn an_admin_address_that_is_none_says_what_one_is() {
    let directory = Directory::new();
    for arguments in [
        &["stop", "--address", "nonsense"][..],
        &["config", "--address", "udp/localhost:2019"],
    ] {
        let said = failed(directory.path(), arguments);
        assert!(said.starts_with("error: the admin address `"), "{said}");
    }
    let off = finish(&mut doorway(directory.path(), &["stop"]));
    assert_eq!(off.code, Some(2), "{}", off.stderr);
}

#[test]
fn a_stranger_is_not_driven_unless_the_user_names_it() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let admin = format!("localhost:{}", listener.local_addr().unwrap().port());
    let (sender, heads) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // Like Caddy, it knows of no pods.
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 2048];
            let length = stream.read(&mut head).unwrap();
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            let status = if head.starts_with("GET /doors/pods") {
                "404 Not Found"
            } else {
                "200 OK"
            };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
            if sender.send(head.lines().next().unwrap().to_owned()).is_err() {
                return;
            }
        }
    });
    let directory = Directory::with("Caddyfile", &caddyfile(&admin, 1, "hello"));
    let refused = failed(directory.path(), &["reload"]);
    assert!(
        refused.contains(&format!("what listens on {admin} is not Doorway")),
        "{refused}"
    );
    assert!(
        heads
            .recv_timeout(PATIENCE)
            .unwrap()
            .starts_with("GET /doors/pods ")
    );
    done(directory.path(), &["stop", "--address", &admin]);
    assert!(heads.recv_timeout(PATIENCE).unwrap().starts_with("POST /stop "));
}
