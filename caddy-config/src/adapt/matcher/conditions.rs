//! The conditions of one set. Several of a kind are one with all their values.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{cx::Cx, server_options::PRIVATE};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{Expression, MatcherSet, RegexpMatcher},
    source::Span,
    support::{Area, refused},
};

const KINDS: [&str; 15] = [
    "client_ip",
    "expression",
    "geo_country",
    "header",
    "header_regexp",
    "host",
    "method",
    "not",
    "path",
    "path_regexp",
    "protocol",
    "query",
    "remote_ip",
    "vars",
    "vars_regexp",
];

/// Values of `protocol` that match something.
const PROTOCOLS: [&str; 11] = [
    "grpc",
    "http",
    "http/1.0",
    "http/1.0+",
    "http/1.1",
    "http/1.1+",
    "http/2",
    "http/2+",
    "http/3",
    "http/3+",
    "https",
];

/// The most `not` that may stand in a row; each is a set within a set.
const MAX_NOTS: usize = 4;

/// A set being read.
#[derive(Debug)]
pub(super) struct Conditions<'n> {
    set: MatcherSet,
    /// The hosts so far, in lower case.
    hosts: BTreeSet<String>,
    /// The name of the matcher, which regular expressions without one of their own get.
    own_name: Option<&'n str>,
}

// === impl Conditions ===

impl<'n> Conditions<'n> {
    pub(super) fn new(own_name: Option<&'n str>) -> Self {
        Self {
            set: MatcherSet::default(),
            hosts: BTreeSet::new(),
            own_name,
        }
    }

    pub(super) fn finish(self) -> MatcherSet {
        self.set
    }

    /// One condition.
    pub(super) fn condition(
        &mut self,
        kind: &Token,
        args: &[Token],
        block: Option<&[Line]>,
        cx: &mut Cx<'_>,
    ) {
        if block.is_some() && kind.text != "not" {
            let name = cx.quote(kind);
            cx.error(kind.span, format!("`{name}` takes no block here"), None);
        }
        match kind.text.as_str() {
            "client_ip" => ranges(
                kind,
                args,
                &mut self.set.client_ip.get_or_insert_default().ranges,
                cx,
            ),
            "remote_ip" => ranges(
                kind,
                args,
                &mut self.set.remote_ip.get_or_insert_default().ranges,
                cx,
            ),
            "expression" => self.expression(kind.span, args, cx),
            "geo_country" => {
                let codes = some(kind, args, cx).iter().filter_map(|arg| country(arg, cx));
                let codes: Vec<String> = codes.collect();
                self.set.geo_country.get_or_insert_default().extend(codes);
            }
            "header" => header(kind, args, &mut self.set.header, cx),
            "header_regexp" => {
                if let Some((field, regexp)) = self.keyed_regexp(kind, args, cx) {
                    cx.check(field, check::field_name(&field.text));
                    keep(field, regexp, &mut self.set.header_regexp, cx);
                }
            }
            "host" => self.host(kind, args, cx),
            "method" => {
                let methods = some(kind, args, cx);
                for method in methods {
                    cx.check(method, check::method(&method.text));
                }
                self.set.method.get_or_insert_default().extend(texts(methods));
            }
            "not" => self.set.not.push(negated(kind, args, block, cx)),
            "path" => {
                let paths = some(kind, args, cx);
                for path in paths {
                    cx.check_value(path, check::template(&path.text));
                }
                self.set.path.get_or_insert_default().extend(texts(paths));
            }
            "path_regexp" => self.path_regexp(kind, args, cx),
            "protocol" => self.protocol(kind, args, cx),
            "query" => query(kind, args, self.set.query.get_or_insert_default(), cx),
            "vars" => vars(kind, args, &mut self.set.vars, cx),
            "vars_regexp" => {
                if let Some((key, regexp)) = self.keyed_regexp(kind, args, cx) {
                    cx.check_value(key, check::template(&key.text));
                    keep(key, regexp, &mut self.set.vars_regexp, cx);
                }
            }
            _ => unsupported(kind, cx),
        }
    }

    /// One word is the expression; several are one with blanks between, each with the quotes that it has.
    pub(super) fn expression(&mut self, place: Span, args: &[Token], cx: &mut Cx<'_>) {
        if self.set.expression.is_some() {
            let help = "join them by `&&`".to_owned();
            return cx.error(place, "a second expression in one matcher", help);
        }
        let (expr, name) = match args {
            [] => {
                let help = "such as `{method} in ['GET', 'HEAD']`".to_owned();
                return cx.error(place, "`expression` needs an expression", help);
            }
            [single] => (single.text.clone(), self.own_name.map(str::to_owned)),
            _ => {
                let words: Vec<String> = args.iter().map(|arg| cx.raw(arg)).collect();
                (words.join(" "), None)
            }
        };
        let start = args.first().map_or(place, |first| first.span);
        let end = args.last().map_or(place, |last| last.span).end;
        let expression = Expression { expr, name };
        cx.check_expression(&expression, Span::new(start.start, end).by(start.import));
        self.set.expression = Some(expression);
    }

    fn host(&mut self, kind: &Token, args: &[Token], cx: &mut Cx<'_>) {
        for arg in some(kind, args, cx) {
            cx.check_value(arg, check::template(&arg.text));
            let Some(host) = cx.check(arg, check::host_pattern(&arg.text)) else {
                continue;
            };
            if !self.hosts.insert(host.to_ascii_lowercase()) {
                cx.error(arg.span, "this host is repeated", "remove it".to_owned());
            }
            self.set.host.get_or_insert_default().push(host);
        }
    }

    fn path_regexp(&mut self, kind: &Token, args: &[Token], cx: &mut Cx<'_>) {
        let (name, pattern) = match args {
            [pattern] => (None, pattern),
            [name, pattern] => (Some(name), pattern),
            _ => {
                return cx.error(
                    kind.span,
                    "`path_regexp` needs an expression, or a name and an expression",
                    None,
                );
            }
        };
        if self.set.path_regexp.is_some() {
            let help = "join them by `|`, or put each into a matcher of its own".to_owned();
            return cx.error(kind.span, "a second `path_regexp` in one matcher", help);
        }
        self.set.path_regexp = Some(self.regexp(name, pattern, cx));
    }

    fn protocol(&mut self, kind: &Token, args: &[Token], cx: &mut Cx<'_>) {
        let [protocol] = args else {
            return cx.error(kind.span, "`protocol` needs one protocol, such as `https`", None);
        };
        if self.set.protocol.is_some() {
            return cx.error(kind.span, "a second `protocol` in one matcher", None);
        }
        if !PROTOCOLS.contains(&protocol.text.as_str()) {
            let text = cx.quote(protocol);
            let help = format!("write one of {}", PROTOCOLS.join(", "));
            cx.warn(
                protocol.span,
                format!("`{text}` is no protocol, so no request matches"),
                help,
            );
        }
        self.set.protocol = Some(protocol.text.clone());
    }

    /// `[NAME] KEY EXPRESSION`.
    fn keyed_regexp<'a>(
        &self,
        kind: &Token,
        args: &'a [Token],
        cx: &mut Cx<'_>,
    ) -> Option<(&'a Token, RegexpMatcher)> {
        match args {
            [key, pattern] => Some((key, self.regexp(None, pattern, cx))),
            [name, key, pattern] => Some((key, self.regexp(Some(name), pattern, cx))),
            _ => {
                let name = cx.quote(kind);
                let message =
                    format!("`{name}` needs a key and an expression, with a name before if need be");
                cx.error(kind.span, message, None);
                None
            }
        }
    }

    fn regexp(&self, name: Option<&Token>, pattern: &Token, cx: &mut Cx<'_>) -> RegexpMatcher {
        cx.check_regex(pattern, &pattern.text);
        let name = name
            .map(|name| name.text.as_str())
            .filter(|name| !name.is_empty());
        RegexpMatcher {
            name: name.or(self.own_name).map(str::to_owned),
            pattern: pattern.text.clone(),
        }
    }
}

/// `not CONDITION`, or a block of conditions that must not all hold.
fn negated(kind: &Token, args: &[Token], block: Option<&[Line]>, cx: &mut Cx<'_>) -> MatcherSet {
    let mut inner = Conditions::new(None);
    let again = args.iter().take_while(|arg| arg.text == "not").count();
    if again >= MAX_NOTS {
        let help = "two of them in a row mean nothing";
        cx.error(
            kind.span,
            format!("more than {MAX_NOTS} times `not` in a row"),
            help.to_owned(),
        );
    } else if let Some((kind, args)) = args.split_first() {
        inner.condition(kind, args, block, cx);
    } else {
        let lines = block.unwrap_or_default();
        if lines.is_empty() {
            cx.error(
                kind.span,
                "`not` without a condition, so nothing would match",
                None,
            );
        }
        for line in lines {
            inner.condition(&line.name, &line.args, line.block.as_deref(), cx);
        }
    }
    inner.finish()
}

fn texts(tokens: &[Token]) -> impl Iterator<Item = String> {
    tokens.iter().map(|token| token.text.clone())
}

/// The values of a condition, at least one.
fn some<'a>(kind: &Token, args: &'a [Token], cx: &mut Cx<'_>) -> &'a [Token] {
    if args.is_empty() {
        let name = cx.quote(kind);
        cx.error(kind.span, format!("`{name}` needs at least one value"), None);
    }
    args
}

fn country(arg: &Token, cx: &mut Cx<'_>) -> Option<String> {
    let code = cx.check(arg, check::country(&arg.text))?;
    if !check::is_assigned(&code) {
        let help = "no address lies in it unless the archive has it too".to_owned();
        cx.warn(arg.span, format!("`{code}` is not the code of a country"), help);
    }
    Some(code)
}

fn ranges(kind: &Token, args: &[Token], ranges: &mut Vec<String>, cx: &mut Cx<'_>) {
    for arg in some(kind, args, cx) {
        match arg.text.as_str() {
            "private_ranges" => ranges.extend(PRIVATE.map(str::to_owned)),
            "forwarded" => {
                let help = "write `client_ip` instead, and `trusted_proxies` in the global option `servers`";
                cx.error(arg.span, "`forwarded` is no longer an option", help.to_owned());
            }
            text => {
                cx.check(arg, check::ip_range(text));
                ranges.push(text.to_owned());
            }
        }
    }
}

/// `FIELD VALUE`, or `!FIELD` for one that is absent.
fn header(kind: &Token, args: &[Token], fields: &mut BTreeMap<String, Option<Vec<String>>>, cx: &mut Cx<'_>) {
    match args {
        [field] if field.text.starts_with('!') => {
            let name = field.text.strip_prefix('!').unwrap_or_default();
            cx.check(field, check::field_name(name));
            fields.insert(name.to_owned(), None);
        }
        [field, value] => {
            if field.text.starts_with('!') {
                let help =
                    "the field is absent with `!`, so it has no value; without, it has this one".to_owned();
                return cx.error(value.span, "a value of an absent field", help);
            }
            cx.check(field, check::field_name(&field.text));
            cx.check_value(value, check::template(&value.text));
            let values = fields.entry(check::canonical_field(&field.text)).or_default();
            values.get_or_insert_default().push(value.text.clone());
        }
        _ => {
            let name = cx.quote(kind);
            let help = "for several values of a field, write one line for each".to_owned();
            cx.error(
                kind.span,
                format!("`{name}` needs a field and a value, or `!` and a field"),
                help,
            );
        }
    }
}

/// `KEY=VALUE...`; an empty one asks for an empty query if it is alone.
fn query(kind: &Token, args: &[Token], keys: &mut BTreeMap<String, Vec<String>>, cx: &mut Cx<'_>) {
    for arg in some(kind, args, cx).iter().filter(|arg| !arg.text.is_empty()) {
        let Some((key, value)) = arg.text.split_once('=') else {
            let text = cx.quote(arg);
            let help = format!("write `{text}=*` for any value");
            cx.error(arg.span, "a parameter without `=`", help);
            continue;
        };
        cx.check_value(arg, check::template(&arg.text));
        keys.entry(key.to_owned()).or_default().push(value.to_owned());
    }
}

/// `KEY VALUE...`.
fn vars(kind: &Token, args: &[Token], keys: &mut BTreeMap<String, Vec<String>>, cx: &mut Cx<'_>) {
    let [key, values @ ..] = args else {
        return cx.error(kind.span, "`vars` needs a variable and a value", None);
    };
    if values.is_empty() {
        cx.error(kind.span, "`vars` needs a value to compare with", None);
    }
    for arg in args {
        cx.check_value(arg, check::template(&arg.text));
    }
    keys.entry(key.text.clone()).or_default().extend(texts(values));
}

/// An expression replaces none that the same key has.
fn keep(key: &Token, regexp: RegexpMatcher, keys: &mut BTreeMap<String, RegexpMatcher>, cx: &mut Cx<'_>) {
    if keys.insert(key.text.clone(), regexp).is_some() {
        let text = cx.quote(key);
        let help = "join the expressions by `|`, or put each into a matcher of its own".to_owned();
        cx.error(
            key.span,
            format!("a second expression for `{text}` in one matcher"),
            help,
        );
    }
}

fn unsupported(kind: &Token, cx: &mut Cx<'_>) {
    match refused(Area::Matcher, &kind.text) {
        Some(help) => {
            let message = format!("the matcher `{}` is not supported", kind.text);
            cx.error(kind.span, message, help.to_owned());
        }
        None => cx.unknown(kind, "matcher", &KINDS),
    }
}
