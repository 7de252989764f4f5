//! What adapting carries along: the findings, and the counters of the whole file.

use std::collections::BTreeMap;

use super::{named_routes::Invocation, order::Order, shorthand};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check::ValueError,
    expression::{ExpressionError, Program},
    model::{Expression, MatcherSet},
    regexp,
    source::{Report, Sources, Span},
    suggest::did_you_mean,
    support::{self, Area, Support, SupportState, support_of},
};

/// Each use of a named matcher is a copy of it. More values than these are refused: what refers to one large matcher
/// again and again would be larger than memory.
const MAX_COPIES: usize = 2_000_000;

/// Findings and counters.
#[derive(Debug)]
pub(super) struct Cx<'a> {
    report: &'a mut Report,
    sources: &'a Sources<'a>,
    groups: usize,
    logs: usize,
    /// Certificate files that a `tls` directive named, with the tag and key file of each.
    pub(super) certificates: BTreeMap<String, (String, String)>,
    /// For the site being read.
    doors: DoorsUse,
    /// Whether some named route has a `doors_handler`.
    named_doors: bool,
    /// Every `invoke`, in the order of the file.
    invocations: Vec<Invocation>,
    /// The named route being read.
    named_route: Option<String>,
    /// Which directive runs before which.
    pub(super) order: Order,
    regexps: regexp::Budget,
    /// How many values of named matchers may still be copied.
    copies: usize,
    /// Whether the site being read has braces.
    braced: bool,
}

/// Whether a site's reverse proxies have a `doors_handler` to take their upstreams from.
#[derive(Debug, Default)]
struct DoorsUse {
    handlers: bool,
    sources: Vec<Span>,
}

// === impl Cx ===

impl<'a> Cx<'a> {
    pub(super) fn new(sources: &'a Sources<'a>, report: &'a mut Report) -> Self {
        Self {
            report,
            sources,
            groups: 0,
            logs: 0,
            certificates: BTreeMap::new(),
            doors: DoorsUse::default(),
            named_doors: false,
            invocations: Vec::new(),
            named_route: None,
            order: Order::default(),
            regexps: regexp::Budget::default(),
            copies: MAX_COPIES,
            braced: true,
        }
    }

    pub(super) const fn has_errors(&self) -> bool {
        self.report.has_errors()
    }

    /// Counts an error whose words are not worth choosing, since too many were found already.
    pub(super) fn count_only(&mut self, span: Span) -> bool {
        let full = self.report.is_full();
        if full {
            self.report.error(span, String::new(), None);
        }
        full
    }

    pub(super) fn error(&mut self, span: Span, message: impl Into<String>, help: impl Into<Option<String>>) {
        self.report.error(span, message, help);
    }

    pub(super) fn warn(&mut self, span: Span, message: impl Into<String>, help: impl Into<Option<String>>) {
        self.report.warn(span, message, help);
    }

    /// Reports the error of a check, if it is one; the value otherwise.
    pub(super) fn check<T>(&mut self, token: &Token, result: Result<T, impl Into<String>>) -> Option<T> {
        result
            .map_err(|message| self.error(token.span, message, None))
            .ok()
    }

    /// Takes a copy of a matcher that `name` refers to, or reports that there are too many.
    pub(super) fn copy(&mut self, name: &Token, set: &MatcherSet) -> Option<MatcherSet> {
        match self.copies.checked_sub(set.weight()) {
            Some(left) => {
                self.copies = left;
                Some(set.clone())
            }
            None => {
                let help = "use it less often: put what it is for into one `handle`".to_owned();
                self.error(name.span, "this matcher is too large for all of its uses", help);
                None
            }
        }
    }

    /// Reports what is wrong with a regular expression that `token` has.
    pub(super) fn check_regex(&mut self, token: &Token, pattern: &str) {
        let result = self.regexps.take(pattern).map_err(|error| error.to_string());
        self.check(token, result);
    }

    /// Reports what is wrong with an expression that is written in `span`.
    pub(super) fn check_expression(&mut self, expression: &Expression, span: Span) {
        let Expression { expr, name } = expression;
        match Program::parse(expr, name.as_deref()) {
            Ok(program) => {
                if let Err(error) = self.regexps.take_states(program.regexp_states()) {
                    self.error(span, error.to_string(), None);
                }
            }
            Err(error) => self.expression_error(expr, span, &error),
        }
    }

    /// Reports what is wrong with a value; a placeholder by the name it is written with, at its own place.
    pub(super) fn check_value(&mut self, token: &Token, result: Result<(), ValueError>) {
        let error = match result {
            Ok(()) => return,
            Err(ValueError::Placeholder(error)) => error,
            Err(error) => return self.error(token.span, error.to_string(), None),
        };
        let written = |name: &str| self.sources.find(&format!("{{{name}}}"), token.span);
        let short = shorthand::short(error.name());
        let (span, message) = match (written(error.name()), short) {
            (Some(span), _) => (span, error.to_string()),
            (None, Some(short)) => (
                written(&short).unwrap_or(token.span),
                format!("the placeholder `{{{short}}}` is not supported"),
            ),
            (None, None) => (token.span, error.to_string()),
        };
        self.error(span, message, shorthand::SUPPORTED.to_owned());
    }

    /// Reports an error at its own place if that is found: short placeholders are written out before an expression is
    /// read.
    fn expression_error(&mut self, expr: &str, span: Span, error: &ExpressionError) {
        let help = error.way_out().map(str::to_owned);
        match self.place_in(expr, error.offset(), span) {
            Some(place) => self.error(place, error.message(), help),
            None => self.error(span, error.to_string(), help),
        }
    }

    fn place_in(&self, expr: &str, offset: usize, span: Span) -> Option<Span> {
        let (before, rest) = expr.split_at_checked(offset)?;
        if rest.is_empty() {
            return Some(Span::new(span.end.saturating_sub(1), span.end).by(span.import));
        }
        let placeholder = rest
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'))
            .map(|(name, _)| name);
        let word = || {
            rest.split([' ', '\t', '\n', '{', '('])
                .next()
                .filter(|word| !word.is_empty())
        };
        let needle = match placeholder {
            Some(name) => format!(
                "{{{}}}",
                shorthand::short(name).unwrap_or_else(|| name.to_owned())
            ),
            None => word().or_else(|| rest.get(..1))?.to_owned(),
        };
        let long = placeholder.map_or_else(|| needle.clone(), |name| format!("{{{name}}}"));
        let count = before.matches(&long).count();
        self.sources.find_behind(&needle, count, span)
    }

    /// Hides a token in every finding.
    pub(super) fn mask(&mut self, token: &Token) {
        self.report.mask(token.span);
    }

    /// Hides all that is written about a provider but its name, the first argument.
    pub(super) fn mask_provider(&mut self, line: &Line) {
        line.args.iter().skip(1).for_each(|arg| self.mask(arg));
        let mut lines: Vec<&Line> = line.block.iter().flatten().collect();
        while let Some(line) = lines.pop() {
            line.args.iter().for_each(|arg| self.mask(arg));
            lines.extend(line.block.iter().flatten());
        }
    }

    /// The token as it is written, for a message.
    pub(super) fn quote(&self, token: &Token) -> String {
        self.sources.quote(token.span)
    }

    /// The token's text in the quotes that it is written in.
    pub(super) fn raw(&self, token: &Token) -> String {
        let quote = match self.sources.first_byte(token.span) {
            _ if !token.quoted => return token.text.clone(),
            Some(b'`') => '`',
            // A heredoc.
            Some(b'<') => return token.text.clone(),
            _ => '"',
        };
        format!("{quote}{}{quote}", token.text)
    }

    /// Where a `{$NAME}` is written on the same line behind `span`.
    pub(super) fn variable_behind(&self, span: Span) -> Option<Span> {
        self.sources.variable_behind(span)
    }

    /// The line that something stands on, with its file unless that is the first, for a message.
    pub(super) fn line_of(&self, span: Span) -> String {
        self.sources.line_of(span)
    }

    /// The next name of a group of routes.
    pub(super) fn next_group(&mut self) -> String {
        let name = format!("group{}", self.groups);
        self.groups = self.groups.saturating_add(1);
        name
    }

    /// The next name of an access log.
    pub(super) fn next_log(&mut self) -> String {
        let name = format!("log{}", self.logs);
        self.logs = self.logs.saturating_add(1);
        name
    }

    /// The only argument of a line without a block.
    pub(super) fn one<'l>(&mut self, line: &'l Line, what: &str) -> Option<&'l Token> {
        self.no_block(line);
        self.expect(line, what, 1)?.first()
    }

    /// The arguments of a line without a block; at least one.
    pub(super) fn some<'l>(&mut self, line: &'l Line, what: &str) -> Option<&'l [Token]> {
        self.no_block(line);
        self.expect(line, what, usize::MAX)
    }

    /// A line that is only a name.
    pub(super) fn nothing(&mut self, line: &Line) {
        self.no_block(line);
        self.surplus(&line.args);
    }

    pub(super) fn no_block(&mut self, line: &Line) {
        if line.block.is_some() {
            let name = self.quote(&line.name);
            self.error(line.name.span, format!("`{name}` takes no block here"), None);
        }
    }

    /// Reports arguments that nothing asked for.
    pub(super) fn surplus(&mut self, args: &[Token]) {
        for arg in args {
            let text = self.quote(arg);
            self.error(arg.span, format!("unexpected argument `{text}`"), None);
        }
    }

    /// Reports a word that is none of `known`.
    pub(super) fn unknown(&mut self, token: &Token, what: &str, known: &[&'static str]) {
        if self.count_only(token.span) {
            return;
        }
        let text = self.quote(token);
        let help = did_you_mean(&token.text, known.iter().copied())
            .unwrap_or_else(|| format!("supported here: {}", known.join(", ")));
        self.error(
            token.span,
            format!("unknown or unsupported {what} `{text}`"),
            help,
        );
    }

    /// Whether a name may stand in `area`; otherwise it is reported, with what the table of supported names says.
    pub(super) fn is_supported(&mut self, area: Area, name: &Token) -> bool {
        let row = support_of(area, &name.text);
        if row.is_some_and(|row| row.state != SupportState::Refused) {
            return true;
        }
        if !self.count_only(name.span) {
            let named = area.named(&self.quote(name));
            match row {
                Some(row) => self.refuse(name, &named, row),
                None => {
                    let help = did_you_mean(&name.text, support::readable(area)).unwrap_or_else(|| {
                        let known: Vec<&str> = support::readable(area).collect();
                        format!("supported here: {}", known.join(", "))
                    });
                    self.error(name.span, format!("unknown {named}"), help);
                }
            }
        }
        false
    }

    /// Whether `NAME CHOICE`, such as `output net`, is refused by the table of supported names; then it is reported.
    pub(super) fn is_refused(&mut self, area: Area, name: &Token, choice: &Token) -> bool {
        let row = support_of(area, &format!("{} {}", name.text, choice.text));
        let Some(row) = row.filter(|row| row.state == SupportState::Refused) else {
            return false;
        };
        let named = format!("{} `{}`", name.text, self.quote(choice));
        self.refuse(choice, &named, row);
        true
    }

    fn refuse(&mut self, token: &Token, named: &str, row: &Support) {
        self.error(
            token.span,
            format!("the {named} is not supported"),
            row.note.to_owned(),
        );
    }

    /// Reports a setting that occurs twice; `seen` is where it occurred first.
    pub(super) fn twice(&mut self, token: &Token, seen: Span) {
        let (text, line) = (self.quote(token), self.line_of(seen));
        self.error(
            token.span,
            format!("`{text}` is given twice, first on line {line}"),
            None,
        );
    }

    pub(super) const fn note_doors_handler(&mut self) {
        self.doors.handlers = true;
    }

    pub(super) fn note_doors_source(&mut self, span: Span) {
        self.doors.sources.push(span);
    }

    pub(super) fn note_invocation(&mut self, name: &Token) {
        let (name, inside) = (name.clone(), self.named_route.clone());
        self.invocations.push(Invocation { name, inside });
    }

    pub(super) fn take_invocations(&mut self) -> Vec<Invocation> {
        std::mem::take(&mut self.invocations)
    }

    /// A named route begins.
    pub(super) fn begin_named_route(&mut self, name: &str) {
        self.named_route = Some(name.to_owned());
        self.braced = true;
    }

    /// A named route ends. Who chooses upstreams for whom is only known where it is invoked.
    pub(super) fn end_named_route(&mut self) {
        self.named_route = None;
        self.named_doors |= std::mem::take(&mut self.doors).handlers;
    }

    /// All named routes are read. The groups of sites are counted from the beginning.
    pub(super) const fn end_named_routes(&mut self) {
        self.groups = 0;
    }

    /// A site begins.
    pub(super) const fn begin_site(&mut self, braced: bool) {
        self.braced = braced;
    }

    /// Whether the site being read has braces.
    pub(super) const fn in_braces(&self) -> bool {
        self.braced
    }

    /// A site ends: what was noted must fit together.
    pub(super) fn end_site(&mut self) {
        let DoorsUse { handlers, sources } = std::mem::take(&mut self.doors);
        let help = "add a `doors_handler { ... }` to this site";
        let handlers = handlers || self.named_doors;
        for span in sources.into_iter().filter(|_| !handlers) {
            let message = "no `doors_handler` in this site chooses upstreams for `doors_upstreams`";
            self.error(span, message, help.to_owned());
        }
    }

    fn expect<'l>(&mut self, line: &'l Line, what: &str, max: usize) -> Option<&'l [Token]> {
        if line.args.is_empty() {
            let name = self.quote(&line.name);
            self.error(line.name.span, format!("`{name}` needs {what}"), None);
            return None;
        }
        let (wanted, surplus) = line.args.split_at_checked(max).unwrap_or((&line.args, &[]));
        self.surplus(surplus);
        Some(wanted)
    }
}
