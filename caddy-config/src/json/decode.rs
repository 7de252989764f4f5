//! What every part of the document is decoded with: the path, the findings, and objects that know which of their
//! fields were asked for, so that the rest is an error.

use std::collections::{BTreeMap, BTreeSet};

use super::reader::{Member, Node, Value};
use crate::{
    check::ValueError,
    model::{HttpApp, Route},
    named_routes, regexp,
    source::{Report, Span, short},
    suggest::did_you_mean,
    template,
};

/// The findings, and where in the document decoding stands.
#[derive(Debug)]
pub(super) struct Cx<'n, 'r> {
    report: &'r mut Report,
    path: Vec<Step<'n>>,
    doors: DoorsUse,
    invocations: Vec<Invocation<'n>>,
    /// The servers that serve the hosts of route sources.
    source_servers: Vec<(Span, String)>,
    /// The work that regular expressions may still make.
    pub(super) regexps: regexp::Budget,
}

#[derive(Clone, Copy, Debug)]
enum Step<'n> {
    Key(&'n str),
    Index(usize),
}

/// Whether a server's reverse proxies have a `doors_handler` to take their upstreams from.
#[derive(Debug, Default)]
struct DoorsUse {
    handlers: bool,
    sources: Vec<(Span, String)>,
}

/// A named route being invoked.
#[derive(Debug)]
struct Invocation<'n> {
    name: String,
    /// The named route that it stands in.
    inside: Option<&'n str>,
    span: Span,
    path: String,
}

/// An object being decoded.
#[derive(Debug)]
pub(super) struct Object<'n> {
    span: Span,
    members: &'n [Member],
    asked: BTreeSet<&'static str>,
    /// Reported already.
    refused: BTreeSet<&'static str>,
}

// === impl Cx ===

impl<'n, 'r> Cx<'n, 'r> {
    pub(super) fn new(report: &'r mut Report) -> Self {
        Self {
            report,
            path: Vec::new(),
            doors: DoorsUse::default(),
            invocations: Vec::new(),
            source_servers: Vec::new(),
            regexps: regexp::Budget::default(),
        }
    }

    /// Reports `message` at `span`, with the path to it.
    pub(super) fn error(&mut self, span: Span, message: impl Into<String>, help: impl Into<Option<String>>) {
        let path = self.path();
        self.report.error_at(span, path, message.into(), help.into());
    }

    /// Reports the error of a check, if it is one; the value otherwise.
    pub(super) fn check<T>(&mut self, node: &Node, result: Result<T, impl Into<String>>) -> Option<T> {
        result
            .map_err(|message| self.error(node.span, message, None))
            .ok()
    }

    /// [`Cx::check`] of a regular expression.
    pub(super) fn check_regex(&mut self, node: &Node, pattern: &str) -> Option<()> {
        let result = self.regexps.take(pattern).map_err(|error| error.to_string());
        self.check(node, result)
    }

    /// [`Cx::check`] of a value that may hold placeholders.
    pub(super) fn check_value(&mut self, node: &Node, result: Result<(), ValueError>) -> Option<()> {
        result
            .map_err(|error| {
                let is_name = matches!(error, ValueError::Placeholder(_));
                let help = is_name.then(|| template::SUPPORTED.to_owned());
                self.error(node.span, error.to_string(), help);
            })
            .ok()
    }

    /// A list; items that are wrong are left out, and reported.
    pub(super) fn list<T>(
        &mut self,
        node: &'n Node,
        mut decode: impl FnMut(&'n Node, &mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Value::Array(items) = &node.value else {
            return self.wrong_type(node, "a list");
        };
        let mut out = Vec::new();
        for (index, item) in items.iter().enumerate() {
            out.extend(self.within(Step::Index(index), |cx| decode(item, cx)));
        }
        Some(out)
    }

    /// An object whose keys are names; entries that are wrong are left out, and reported.
    pub(super) fn map<T>(
        &mut self,
        node: &'n Node,
        mut decode: impl FnMut(&'n Node, &mut Self) -> Option<T>,
    ) -> Option<BTreeMap<String, T>> {
        let Value::Object(members) = &node.value else {
            return self.wrong_type(node, "an object");
        };
        let mut out = BTreeMap::new();
        for Member { key, node, .. } in members.iter().filter(|member| member.key != "@id") {
            out.extend(
                self.within(Step::Key(key), |cx| decode(node, cx))
                    .map(|value| (key.clone(), value)),
            );
        }
        Some(out)
    }

    pub(super) fn string(&mut self, node: &'n Node) -> Option<String> {
        match &node.value {
            Value::String(text) => Some(text.clone()),
            _ => self.wrong_type(node, "a string"),
        }
    }

    pub(super) fn boolean(&mut self, node: &'n Node) -> Option<bool> {
        match node.value {
            Value::Bool(value) => Some(value),
            _ => self.wrong_type(node, "true or false"),
        }
    }

    /// A whole number from zero to `max`.
    pub(super) fn number(&mut self, node: &'n Node, max: u64) -> Option<u64> {
        let Value::Number(text) = &node.value else {
            return self.wrong_type(node, "a number");
        };
        let number = text.parse().ok().filter(|number| *number <= max);
        if number.is_none() {
            self.error(
                node.span,
                format!("expected a whole number from 0 to {max}"),
                None,
            );
        }
        number
    }

    pub(super) fn wrong_type<T>(&mut self, node: &Node, expected: &str) -> Option<T> {
        let found = match node.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.error(node.span, format!("expected {expected}, found {found}"), None);
        None
    }

    /// A `doors_handler` was decoded.
    pub(super) const fn note_doors_handler(&mut self) {
        self.doors.handlers = true;
    }

    /// A reverse proxy takes its upstreams from a `doors_handler`.
    pub(super) fn note_doors_source(&mut self, span: Span) {
        let path = self.path();
        self.doors.sources.push((span, path));
    }

    /// A server ends: what was noted must fit together.
    pub(super) fn close_doors(&mut self) {
        let DoorsUse { handlers, sources } = std::mem::take(&mut self.doors);
        if handlers {
            return;
        }
        for (span, path) in sources {
            let message =
                "no `doors_handler` in this server chooses upstreams for `doors_upstreams`".to_owned();
            let help = "put a handler `doors_handler` before this one".to_owned();
            self.report.error_at(span, path, message, Some(help));
        }
    }

    /// A server serves the hosts of route sources.
    pub(super) fn note_sources_server(&mut self, span: Span) {
        let path = self.path();
        self.source_servers.push((span, path));
    }

    /// The HTTP app ends, with its route sources at `node`: there are sources if some server serves their hosts, and the
    /// other way round.
    pub(super) fn close_route_sources(&mut self, node: Option<&Node>, app: &HttpApp) {
        let servers = std::mem::take(&mut self.source_servers);
        match node {
            None => {
                for (span, path) in servers {
                    let message =
                        "this server serves the hosts of route sources, but there are none".to_owned();
                    let help = "add `route_sources` beside `servers`, or remove this".to_owned();
                    self.report.error_at(span, path, message, Some(help));
                }
            }
            Some(node) if servers.is_empty() && app.route_sources.is_some() => {
                let span = Span::new(node.span.start, node.span.start.saturating_add(1));
                let help = "write \"route_sources\": true into each server that is to".to_owned();
                self.within(Step::Key("route_sources"), |cx| {
                    cx.error(span, "no server serves the hosts of these sources", help);
                });
            }
            Some(_) => {}
        }
    }

    /// A named route is invoked.
    pub(super) fn note_invocation(&mut self, name: &str, span: Span) {
        let path = self.path();
        self.invocations.push(Invocation {
            name: name.to_owned(),
            inside: self.named_route(),
            span,
            path,
        });
    }

    /// A server ends: every name that it invokes must be one of its own, and none may lead back to itself.
    pub(super) fn close_invocations(&mut self, named: &BTreeMap<String, Route>) {
        let invocations = std::mem::take(&mut self.invocations);
        let circles = named_routes::circles(named);
        for Invocation {
            name,
            inside,
            span,
            path,
        } in invocations
        {
            let circle = inside.is_some_and(|inside| circles.contains(&(inside, &name)));
            if !named.contains_key(&name) {
                let help = "define it in `named_routes` of the same server".to_owned();
                let message = "there is no named route of this name".to_owned();
                self.report.error_at(span, path, message, Some(help));
            } else if circle {
                let help =
                    "a request might never leave this circle; remove one of its `invoke` handlers".to_owned();
                let message = "this named route leads back to itself".to_owned();
                self.report.error_at(span, path, message, Some(help));
            }
        }
    }

    /// The named route that is being decoded.
    fn named_route(&self) -> Option<&'n str> {
        let mut steps = self.path.iter();
        steps.find(|step| matches!(step, Step::Key("named_routes")))?;
        match steps.next() {
            Some(Step::Key(name)) => Some(name),
            _ => None,
        }
    }

    fn within<T>(&mut self, step: Step<'n>, decode: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let value = decode(self);
        self.path.pop();
        value
    }

    fn path(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            let point = if text.is_empty() { "" } else { "." };
            match step {
                Step::Index(index) => text.push_str(&format!("[{index}]")),
                Step::Key(key) => text.push_str(&format!("{point}{}", short(key))),
            }
        }
        text
    }
}

// === impl Object ===

impl<'n> Object<'n> {
    /// The object at `node`, or a finding.
    pub(super) fn open(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Self> {
        match &node.value {
            Value::Object(members) => Some(Self {
                span: node.span,
                members,
                asked: BTreeSet::new(),
                refused: BTreeSet::new(),
            }),
            _ => cx.wrong_type(node, "an object"),
        }
    }

    pub(super) const fn span(&self) -> Span {
        self.span
    }

    /// The field as it stands, `null` being none.
    pub(super) fn node(&mut self, name: &'static str) -> Option<&'n Node> {
        self.asked.insert(name);
        let member = self.members.iter().find(|member| member.key == name)?;
        Some(&member.node).filter(|node| !matches!(node.value, Value::Null))
    }

    /// The decoded field; `None` if it is absent, `null`, or wrong (then it is reported).
    pub(super) fn get<T>(
        &mut self,
        name: &'static str,
        cx: &mut Cx<'n, '_>,
        decode: impl FnOnce(&'n Node, &mut Cx<'n, '_>) -> Option<T>,
    ) -> Option<T> {
        let node = self.node(name)?;
        cx.within(Step::Key(name), |cx| decode(node, cx))
    }

    /// [`Object::get`] of a field that must be there.
    pub(super) fn require<T>(
        &mut self,
        name: &'static str,
        cx: &mut Cx<'n, '_>,
        decode: impl FnOnce(&'n Node, &mut Cx<'n, '_>) -> Option<T>,
    ) -> Option<T> {
        if self.node(name).is_none() {
            let start = Span::new(self.span.start, self.span.start.saturating_add(1));
            cx.error(start, format!("the field `{name}` is missing"), None);
        }
        self.get(name, cx, decode)
    }

    /// [`Object::get`] of a list of values; absent is empty.
    pub(super) fn list<T>(
        &mut self,
        name: &'static str,
        cx: &mut Cx<'n, '_>,
        decode: impl FnMut(&'n Node, &mut Cx<'n, '_>) -> Option<T>,
    ) -> Vec<T> {
        self.get(name, cx, |node, cx| cx.list(node, decode))
            .unwrap_or_default()
    }

    /// [`Object::get`] of a list of strings; absent is empty.
    pub(super) fn strings(&mut self, name: &'static str, cx: &mut Cx<'n, '_>) -> Vec<String> {
        self.list(name, cx, |node, cx| cx.string(node))
    }

    /// [`Object::get`] of a switch; absent is off.
    pub(super) fn flag(&mut self, name: &'static str, cx: &mut Cx<'n, '_>) -> bool {
        self.get(name, cx, |node, cx| cx.boolean(node))
            .unwrap_or_default()
    }

    /// The fields that were not asked for, by name; those that are wrong are left out, and reported.
    pub(super) fn rest<T>(
        self,
        cx: &mut Cx<'n, '_>,
        mut decode: impl FnMut(&'n Node, &mut Cx<'n, '_>) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let rest = self
            .members
            .iter()
            .filter(|member| member.key != "@id" && !self.asked.contains(member.key.as_str()));
        let mut out = BTreeMap::new();
        for Member { key, node, .. } in rest {
            let value = cx.within(Step::Key(key), |cx| decode(node, cx));
            out.extend(value.map(|value| (key.clone(), value)));
        }
        out
    }

    /// Reports the field `name`, if it is there, as one that is known and not supported.
    pub(super) fn refuse(&mut self, name: &'static str, help: &str, cx: &mut Cx<'n, '_>) {
        let Some(member) = self.members.iter().find(|member| member.key == name) else {
            return;
        };
        self.refused.insert(name);
        cx.within(Step::Key(name), |cx| {
            cx.error(member.key_span, "this field is not supported", help.to_owned());
        });
    }

    /// Reports every field that was not asked for. `@id` names an object for the admin API and means nothing else.
    pub(super) fn finish(self, cx: &mut Cx<'n, '_>) {
        for Member { key, key_span, .. } in self.members {
            let known = self.asked.contains(key.as_str()) || self.refused.contains(key.as_str());
            if key == "@id" || known {
                continue;
            }
            let help = did_you_mean(key, self.asked.iter().copied()).unwrap_or_else(|| self.fields());
            cx.within(Step::Key(key), |cx| {
                cx.error(*key_span, "unknown or unsupported field", help)
            });
        }
    }

    fn fields(&self) -> String {
        let names: Vec<&str> = self.asked.iter().copied().collect();
        format!("supported here: {}", names.join(", "))
    }
}
