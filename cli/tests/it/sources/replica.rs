//! A running proxy with sources of routes, its home, and its admin API on a socket there.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;

use serde_json::Value;

use super::eventually;
use crate::support::{
    Answer, Directory, Finished, PATIENCE, Running, doorway, finish, finish_with_input, free_port,
};

/// It ends with this value.
pub(super) struct Replica {
    running: Option<Running>,
    port: u16,
    secure: u16,
    sources: String,
    // Behind the process, which writes there.
    home: Directory,
}

// === impl Replica ===

impl Replica {
    /// Starts it with these lines in the option `route_sources`. It returns when each source has said something.
    pub(super) fn start(sources: &str) -> Self {
        Self::start_in(Directory::new(), sources)
    }

    pub(super) fn start_in(home: Directory, sources: &str) -> Self {
        let mut replica = Self {
            running: None,
            port: free_port(),
            secure: free_port(),
            sources: sources.to_owned(),
            home,
        };
        replica.begin();
        replica
    }

    /// Starts the process, which has ended or was never there.
    pub(super) fn begin(&mut self) {
        let Self {
            port,
            secure,
            sources,
            home,
            ..
        } = &*self;
        let text = format!(
            "{{\n\tadmin {}\n\tgrace_period 5s\n\troute_sources {{\n\t\tlisten http://127.0.0.1:{port} https://127.0.0.1:{secure}\n\
             {sources}\t}}\n}}\n",
            self.admin()
        );
        home.write("Caddyfile", &text);
        let running = Running::start(&mut doorway(home.path(), &["run", "--workers", "1"]));
        running.stderr_line("the admin API is served");
        self.running = Some(running);
        let wanted = self.sources.lines().filter(|line| {
            ["\t\tfile", "\t\tstore"]
                .iter()
                .any(|name| line.starts_with(name))
        });
        let wanted = wanted.count();
        eventually("each source has spoken", || {
            let status = self.status();
            (status["sources"].as_array()?.len() >= wanted).then_some(())
        });
    }

    /// Ends the process in order.
    pub(super) fn end(&mut self) {
        let running = self.running.take().unwrap();
        running.signal("TERM");
        let (code, stderr) = running.end();
        assert_eq!(code, Some(0), "{stderr}");
    }

    /// Ends the process as a crash does.
    pub(super) fn kill(&mut self) {
        let running = self.running.take().unwrap();
        running.signal("KILL");
        running.end();
    }

    pub(super) fn home(&self) -> &Directory {
        &self.home
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn secure_port(&self) -> u16 {
        self.secure
    }

    /// Waits for a line of its log.
    pub(super) fn says(&self, text: &str) -> String {
        self.running.as_ref().unwrap().stderr_line(text)
    }

    /// Where its admin API is.
    pub(super) fn admin(&self) -> String {
        format!("unix/{}", self.home.path().join("admin.sock").display())
    }

    // === requests ===

    pub(super) fn get(&self, host: &str, path: &str) -> Answer {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        Answer::read(BufReader::new(stream))
    }

    pub(super) fn status_of(&self, host: &str) -> u16 {
        self.get(host, "/").status
    }

    /// Waits until a request for a host is answered with this body.
    pub(super) fn answers(&self, host: &str, body: &str) {
        eventually(&format!("{host} says {body}"), || {
            (self.get(host, "/").body == body).then_some(())
        });
    }

    // === the admin API ===

    /// Asks the admin API: the status and what it says.
    pub(super) fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let mut stream = UnixStream::connect(self.home.path().join("admin.sock")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    /// `GET /routes/status`.
    pub(super) fn status(&self) -> Value {
        self.ask("GET", "/routes/status", "").1
    }

    /// What is told of one source.
    pub(super) fn source(&self, kind: &str) -> Value {
        let status = self.status();
        let all = status["sources"].as_array().unwrap();
        let found = all.iter().find(|source| source["kind"] == kind);
        found.unwrap_or_else(|| panic!("{status:#}")).clone()
    }

    // === commands ===

    /// Runs `doorway routes` for this proxy.
    pub(super) fn routes(&self, arguments: &[&str], input: &str) -> Finished {
        let admin = self.admin();
        let all = [&["routes"], arguments, &["--address", &admin]].concat();
        let mut command = doorway(self.home.path(), &all);
        if input.is_empty() {
            return finish(&mut command);
        }
        finish_with_input(&mut command, input)
    }

    /// The same, which succeeds: standard output and standard error.
    pub(super) fn routes_done(&self, arguments: &[&str], input: &str) -> (String, String) {
        let done = self.routes(arguments, input);
        assert_eq!(done.code, Some(0), "{arguments:?} {}", done.stderr);
        (done.stdout, done.stderr)
    }
}
