//! The routes and requests of one document. Its lines are:
//!
//! - `# ...`: a comment
//! - `@skipper FLAG ...`: flags of Skipper, split at blanks
//! - `@doorway LINE`: a line of the handler that means the same
//! - `name: ... -> ...;`: a route, in which BACKEND, DEAD and MANY are addresses of backends
//! - any other: filters, and a backend behind `>` if not BACKEND, for a route of their own, whose paths start with `/C/`
//! - a tab, then a request for what stands above: `GET /path | Field: value | Field: value || body`. Host, Connection and
//!   Content-Length are added, the last one unless there is Transfer-Encoding; `| -Host` leaves that out. CRLF in a body
//!   is a line end.

use std::net::SocketAddr;

use crate::differential::requests::Request;

/// The Host of requests that name no other.
const HOST: &str = "www.example.org";

/// One document.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// Flags of Skipper.
    pub(super) flags: Vec<String>,
    /// Lines of the handler.
    pub(super) lines: String,
    /// What is asked, in order.
    pub(super) requests: Vec<Request>,
    routes: String,
    /// The filters of the last route, and how many there were.
    chain: String,
    chains: usize,
}

// === impl Document ===

impl Document {
    pub(super) fn parse(text: &str) -> Self {
        let mut document = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            document.take(line);
        }
        document
    }

    /// The routes, with the backend at this address.
    pub(super) fn routes(&self, origin: SocketAddr) -> String {
        let backend = format!("\"http://{origin}\"");
        self.routes
            .replace("BACKEND", &backend)
            .replace("DEAD", "\"http://127.0.0.1:1\"")
            .replace("MANY", &format!("<roundRobin, {backend}, {backend}>"))
            .replace("ORIGIN", &origin.to_string())
    }

    /// The line without the numbers of routes.
    pub(super) fn named(&self, line: &str) -> String {
        let mut named = line.to_owned();
        // The greater ones first: they start with the smaller ones.
        for number in (1..=self.chains).rev() {
            named = named.replace(&format!("/c{number}/"), "/C/");
        }
        named
    }

    fn take(&mut self, line: &str) {
        if let Some(request) = line.strip_prefix('\t') {
            self.ask(request);
        } else if let Some(flags) = line.strip_prefix("@skipper ") {
            self.flags.extend(flags.split(' ').map(str::to_owned));
        } else if let Some(setting) = line.strip_prefix("@doorway ") {
            self.lines.push_str(&format!("\t\t{setting}\n"));
        } else if line.ends_with(';') {
            self.chain.clear();
            self.routes.push_str(&format!("{line}\n"));
        } else if !line.starts_with('#') {
            self.chains += 1;
            line.clone_into(&mut self.chain);
            let number = self.chains;
            let line = line.replace("/C/", &format!("/c{number}/"));
            let backend = if line.ends_with('>') { "" } else { " -> BACKEND" };
            let route = format!("c{number}: Path(\"/c{number}/*rest\") && True() -> {line}{backend};\n");
            self.routes.push_str(&route);
        }
    }

    fn ask(&mut self, text: &str) {
        let chain = match self.chain.as_str() {
            "" => String::new(),
            chain => format!("{chain}: "),
        };
        let alike = |request: &&Request| {
            let name = request.name.as_str();
            let name = name.strip_prefix(chain.as_str()).unwrap_or(name);
            name == text || name.rsplit_once(" #").is_some_and(|(name, _)| name == text)
        };
        let name = match self.requests.iter().filter(alike).count() {
            0 => format!("{chain}{text}"),
            before => format!("{chain}{text} #{}", before + 1),
        };
        let text = text.replace("/C/", &format!("/c{}/", self.chains));
        self.requests.push(Request {
            name,
            bytes: message(&text).into_bytes(),
        });
    }
}

/// The request as it is sent.
fn message(text: &str) -> String {
    let (head, body) = text.split_once(" || ").unwrap_or((text, ""));
    let body = body.replace("CRLF", "\r\n");
    let mut parts = head.split(" | ");
    let line = parts.next().unwrap_or_default();
    let version = if line.contains(" HTTP/1.") {
        ""
    } else {
        " HTTP/1.1"
    };
    let mut message = format!("{line}{version}\r\n");
    let fields: Vec<&str> = parts.collect();
    for field in fields.iter().filter(|field| !field.starts_with('-')) {
        message.push_str(&format!("{field}\r\n"));
    }
    let mut added = vec![format!("Host: {HOST}"), "Connection: close".to_owned()];
    if !body.is_empty() && !head.contains("Transfer-Encoding") {
        added.push(format!("Content-Length: {}", body.len()));
    }
    for field in added {
        let name = field.split(':').next().unwrap_or_default();
        if !fields
            .iter()
            .any(|other| other.trim_start_matches('-').split(':').next() == Some(name))
        {
            message.push_str(&format!("{field}\r\n"));
        }
    }
    message + "\r\n" + &body
}
