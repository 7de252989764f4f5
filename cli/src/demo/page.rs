//! The demo's page: one HTML file with its places filled in, and the events that keep it up to date.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::cluster::{Cluster, Event, Phase, Pod, Session};
use super::ids::Id;

const TEMPLATE: &str = include_str!("page.html");

/// The two rooms of the demo's app, so that there is a link to follow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Room {
    Hall,
    Garden,
}

/// What one page is made of.
#[derive(Debug)]
pub(super) struct Page<'a> {
    /// Allows the page's own script and style, and no others.
    pub(super) nonce: Id,
    pub(super) pod: Ipv4Addr,
    pub(super) phase: Phase,
    pub(super) token: &'a str,
    pub(super) session: Id,
    pub(super) number: u64,
    pub(super) room: Room,
    pub(super) caddyfile: &'a str,
}

// === impl Room ===

impl Room {
    /// The room at `path`.
    pub(super) fn at(path: &str) -> Option<Self> {
        [Self::Hall, Self::Garden]
            .into_iter()
            .find(|room| room.path() == path)
    }

    /// The room called `name`.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Hall, Self::Garden]
            .into_iter()
            .find(|room| room.name() == name)
    }

    fn path(self) -> &'static str {
        match self {
            Self::Hall => "/",
            Self::Garden => "/garden",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Hall => "hall",
            Self::Garden => "garden",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Hall => Self::Garden,
            Self::Garden => Self::Hall,
        }
    }
}

// === impl Page ===

impl Page<'_> {
    /// The whole document.
    pub(super) fn html(&self) -> String {
        let mut html = TEMPLATE.to_owned();
        for (place, value) in [
            ("nonce", self.nonce.to_string()),
            ("base", format!("/~/{}", self.token)),
            ("session", self.session.to_string()),
            ("number", self.number.to_string()),
            ("pod", self.pod.to_string()),
            ("phase", self.phase.name().to_owned()),
            ("short_token", shortened(self.token)),
            ("room", self.room.name().to_owned()),
            ("other_room", self.room.other().name().to_owned()),
            ("other_path", self.room.other().path().to_owned()),
            ("caddyfile", self.caddyfile.trim_end().to_owned()),
        ] {
            html = html.replace(&format!("{{{{{place}}}}}"), &escaped(&value));
        }
        html
    }

    /// What the browser may do with the page: run its own script and style, and talk to where it came from.
    pub(super) fn content_security_policy(&self) -> String {
        let nonce = self.nonce;
        format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
    }
}

/// The state of everything, as the page of one session is told it: one line of JSON.
pub(super) fn event(cluster: &Cluster, pod: Ipv4Addr, session: &Session) -> String {
    let pods: Vec<Value> = cluster
        .pods()
        .map(|(address, pod)| pod_json(address, pod))
        .collect();
    let history: Vec<Value> = cluster.history().map(history_json).collect();
    let event = json!({
        "session": { "number": session.number, "ticks": session.ticks, "clicks": session.clicks },
        "pod": pod.to_string(),
        "phase": cluster.pod(pod).map(|pod| pod.phase.name()),
        "fresh": cluster.fresh().to_string(),
        "rolling": cluster.rolling(),
        "pods": pods,
        "history": history,
    });
    format!("{event}\n")
}

/// The last line of a stream, with the reason why it ends.
pub(super) fn end_event(reason: &str) -> String {
    format!("{}\n", json!({ "end": reason }))
}

fn pod_json(address: Ipv4Addr, pod: &Pod) -> Value {
    let mut sessions: Vec<&Session> = pod.sessions.values().collect();
    sessions.sort_unstable_by_key(|session| session.number);
    let session = |session: &&Session| json!({ "number": session.number, "ticks": session.ticks, "hidden": session.is_hidden() });
    json!({
        "address": address.to_string(),
        "phase": pod.phase.name(),
        "token": shortened(&pod.token),
        "sessions": sessions.iter().map(session).collect::<Vec<_>>(),
    })
}

fn history_json(event: &Event) -> Value {
    json!({ "after": event.after.as_secs_f64(), "text": event.text })
}

/// Enough of a token to tell two apart.
fn shortened(token: &str) -> String {
    let characters: Vec<char> = token.chars().collect();
    let (Some(head), Some(tail)) = (characters.first_chunk::<6>(), characters.last_chunk::<4>()) else {
        return token.to_owned();
    };
    head.iter().chain(&['…']).chain(tail).collect()
}

/// `text` as HTML text or attribute value.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::demo::cluster::FIRST_POD;

    fn page(token: &str, caddyfile: &str) -> String {
        let id = Id::random().unwrap();
        let (pod, phase, room) = (FIRST_POD, Phase::Fresh, Room::Hall);
        Page {
            nonce: id,
            pod,
            phase,
            token,
            session: id,
            number: 7,
            room,
            caddyfile,
        }
        .html()
    }

    #[test]
    fn every_place_of_the_page_is_filled_in() {
        let html = page("token", "a {\n}\n");
        assert!(!html.contains("{{") && !html.contains("}}"), "a place is left");
        assert!(html.contains("data-base=\"/~/token\""));
        assert!(html.contains("This page: session 7"));
    }

    #[test]
    fn nothing_that_is_filled_in_becomes_markup() {
        let html = page(
            "\"><script>alert(1)</script>",
            "</code><img src=x onerror='alert(1)'>",
        );
        assert!(!html.contains("<script>alert") && !html.contains("<img"));
        assert!(html.contains("&lt;img src=x onerror=&#39;alert(1)&#39;&gt;"));
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let html = page("token", "");
        let addresses = html.matches("http").count();
        assert_eq!(
            addresses,
            html.matches("http://www.w3.org/2000/svg").count(),
            "only the icon's name space"
        );
    }

    #[test]
    fn an_event_is_one_line_that_shows_no_token_and_no_session_id() {
        let (now, id, owner) = (Instant::now(), Id::random().unwrap(), Id::random().unwrap());
        let mut cluster = Cluster::new("abcdefghijklmnopqrstuvwxyz".to_owned(), now);
        cluster.open(FIRST_POD, id, owner, now).unwrap();
        let line = event(
            &cluster,
            FIRST_POD,
            &cluster.pod(FIRST_POD).unwrap().sessions[&id],
        );

        assert_eq!(line.find('\n'), Some(line.len() - 1));
        let event: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(event["pods"][0]["token"], "abcdef…wxyz");
        assert_eq!(event["pods"][0]["sessions"][0]["number"], 1);
        for secret in [
            id.to_string(),
            owner.to_string(),
            "abcdefghijklmnopqrstuvwxyz".to_owned(),
        ] {
            assert!(!line.contains(&secret));
        }
    }
}
