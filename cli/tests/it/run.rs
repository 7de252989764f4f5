//! `doorway run`: serving, signals, draining.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use crate::support::{Answer, Client, Directory, PATIENCE, Running, doorway, finish, free_port, with_files};

const DRAINED: Option<i32> = Some(0);

const RUN: [&str; 3] = ["run", "--workers", "1"];

/// A proxy on a free port of 127.0.0.1 with these options and directives, ready to serve.
pub(crate) fn start(options: &str, directives: &str) -> (Running, Client, Directory) {
    start_by(|directory| doorway(directory, &RUN), options, directives)
}

/// The same, started by this command in the directory of the Caddyfile.
pub(crate) fn start_by(
    command: impl FnOnce(&Path) -> Command,
    options: &str,
    directives: &str,
) -> (Running, Client, Directory) {
    let port = free_port();
    let text = format!(
        "{{\n\tadmin off\n{options}\n}}\nhttp://127.0.0.1:{port} {{\n\tbind 127.0.0.1\n{directives}\n}}\n"
    );
    let directory = Directory::with("Caddyfile", &text);
    let running = Running::start(&mut command(directory.path()));
    running.stderr_line("listening");
    (running, Client::new(port), directory)
}

/// An upstream that takes one request and answers it when it is told to.
struct Origin {
    port: u16,
    requests: Receiver<TcpStream>,
}

// === impl Origin ===

impl Origin {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
                if head.is_empty() || sender.send(reader.into_inner()).is_err() {
                    return;
                }
            }
        });
        Self { port, requests }
    }

    /// Waits for a request and gives the connection that its answer is to be written to.
    fn request(&self) -> TcpStream {
        self.requests.recv_timeout(PATIENCE).unwrap()
    }
}

#[test]
fn it_serves_until_sigterm_and_ends_with_0() {
    let (running, client, _directory) = start("", "\trespond hello");
    let answer = client.get("/");
    assert_eq!((answer.status, answer.body.as_str()), (200, "hello"));
    running.signal("TERM");
    let (code, stderr) = running.end();
    assert_eq!(code, DRAINED, "{stderr}");
    assert!(stderr.contains("stopped, nothing was left"), "{stderr}");
}

#[test]
fn logs_are_json_lines_outside_of_a_terminal() {
    let (running, _client, _directory) = start("", "\trespond hello");
    running.signal("INT");
    let (code, stderr) = running.end();
    assert_eq!(code, DRAINED);
    for line in stderr.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(line["ts"].is_f64() && line["msg"].is_string(), "{line}");
    }
    assert!(stderr.contains("\"signal\":\"SIGINT\""), "{stderr}");
}

#[test]
fn a_request_under_way_is_finished_before_the_end() {
    let origin = Origin::start();
    let (running, client, _directory) = start("", &format!("\treverse_proxy 127.0.0.1:{}", origin.port));
    let pending = client.send("GET", "/slow");
    let mut upstream = origin.request();

    running.signal("TERM");
    running.stderr_line("stopping");
    upstream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
        .unwrap();

    let answer = Answer::read(pending);
    assert_eq!((answer.status, answer.body.as_str()), (200, "late"));
    let (code, stderr) = running.end();
    assert_eq!(code, DRAINED, "{stderr}");
    assert!(stderr.contains("nothing was left"), "{stderr}");
    TcpStream::connect((Ipv4Addr::LOCALHOST, client.port)).unwrap_err();
}

#[test]
fn what_is_left_after_the_grace_period_is_told_and_is_no_failure() {
    let origin = Origin::start();
    let directive = format!("\treverse_proxy 127.0.0.1:{}", origin.port);
    let (running, client, _directory) = start("\tgrace_period 100ms", &directive);
    let _pending = client.send("GET", "/never");
    let _upstream = origin.request();
    running.signal("TERM");
    let (code, stderr) = running.end();
    assert_eq!(code, DRAINED, "{stderr}");
    assert!(stderr.contains("\"requests_left\":1"), "{stderr}");
}

#[test]
fn a_second_signal_ends_at_once_with_2() {
    let origin = Origin::start();
    let (running, client, _directory) = start("", &format!("\treverse_proxy 127.0.0.1:{}", origin.port));
    let _pending = client.send("GET", "/never");
    let _upstream = origin.request();
    running.signal("TERM");
    running.stderr_line("stopping");
    running.signal("INT");
    let (code, stderr) = running.end();
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("ended at once by a signal (SIGINT)"), "{stderr}");
}

#[test]
fn a_sigquit_ends_at_once_with_2() {
    let origin = Origin::start();
    let (running, client, _directory) = start("", &format!("\treverse_proxy 127.0.0.1:{}", origin.port));
    let _pending = client.send("GET", "/never");
    let _upstream = origin.request();
    running.signal("QUIT");
    let (code, stderr) = running.end();
    assert_eq!(code, Some(2), "{stderr}");
}

#[test]
fn signals_that_mean_nothing_do_not_end_it() {
    let (running, client, _directory) = start("", "\trespond hello");
    for signal in ["HUP", "USR2"] {
        running.signal(signal);
        let line = running.stderr_line("the signal means nothing here");
        assert!(line.contains(&format!("SIG{signal}")), "{line}");
    }
    assert_eq!(client.get("/").body, "hello");
}

#[test]
fn an_address_that_is_taken_is_named_and_is_exit_code_1() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let text = format!("{{\n\tadmin off\n}}\nhttp://{address} {{\n\tbind 127.0.0.1\n\trespond hello\n}}\n");
    let directory = Directory::with("Caddyfile", &text);
    let failed = finish(&mut doorway(directory.path(), &["run"]));
    assert_eq!(failed.code, Some(1));
    let expected = format!("error: cannot listen on {address}: ");
    assert!(failed.stderr.starts_with(&expected), "{}", failed.stderr);
}

#[test]
fn environ_shows_the_settings_and_no_secret() {
    let directory = Directory::with("Caddyfile", "nonsense {\n");
    let mut command = doorway(directory.path(), &["run", "--environ", "--workers", "3"]);
    let failed = finish(command.env("SECRET", "s3cr3t").env("LANG", "C.UTF-8"));
    assert_eq!(failed.code, Some(1), "{}", failed.stdout);
    let data_dir = format!(
        "doorway.DataDir={}/.local/share/doorway\n",
        directory.path().display()
    );
    for part in [
        data_dir.as_str(),
        "doorway.Workers=3\n",
        "LANG=C.UTF-8\n",
        "SECRET=(not shown)\n",
    ] {
        assert!(failed.stdout.contains(part), "no {part:?} in {}", failed.stdout);
    }
    assert!(!failed.stdout.contains("s3cr3t"));
}

#[test]
fn bare_line_feeds_are_refused_unless_they_are_allowed() {
    let lax = ["run", "--workers", "1", "--lax", "bare-line-feeds"];
    for (arguments, status) in [(&RUN[..], 400), (&lax, 200)] {
        let (running, client, _directory) =
            start_by(|directory| doorway(directory, arguments), "", "\trespond hello");
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, client.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "GET / HTTP/1.1\nHost: 127.0.0.1:{}\nConnection: close\n\n",
            client.port
        );
        stream.write_all(request.as_bytes()).unwrap();
        assert_eq!(
            Answer::read(BufReader::new(stream)).status,
            status,
            "{arguments:?}"
        );
        running.signal("TERM");
        assert_eq!(running.end().0, DRAINED);
    }
}

#[test]
fn a_proxy_out_of_file_descriptors_serves_again_once_there_are_some() {
    let few = |directory: &Path| with_files(48, &doorway(directory, &RUN));
    let (running, client, _directory) = start_by(few, "", "\trespond hello");
    let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, client.port)).unwrap();
    // Those that are not accepted wait in the kernel.
    let idle: Vec<TcpStream> = (0..64).map(|_| connect()).collect();
    running.stderr_line("cannot accept connections");
    drop(idle);
    assert_eq!(client.get("/").status, 200);
    running.signal("TERM");
    let (code, log) = running.end();
    assert_eq!(code, DRAINED);
    assert!(!log.contains("cannot accept"), "said once: {log}");
}
