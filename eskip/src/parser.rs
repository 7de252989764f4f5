//! Words -> routes.
//!
//! The language nests nowhere, so nothing here calls itself. Behind a mistake, reading goes on with the next route.

mod fragments;
mod names;
mod wanted;

use std::ops::Range;

use self::{names::Names, wanted::Wanted};
use crate::{
    ast::{Arg, Backend, Balanced, Call, Endpoint, Name, Route},
    check::{Problem, predicate_problems},
    error::{Collector, Draft, ErrorKind, ParseErrors},
    lexer::Lexer,
    token::{Kind, Token},
};

/// A route, and where it stands in its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// The route.
    pub route: Route,
    /// From its id, or its first predicate, to its backend, in bytes.
    pub span: Range<usize>,
}

/// Reads a document: one route without an id, or any number of `id: route` with `;` between them.
///
/// ```
/// let routes = eskip::parse("api: Path(\"/api\") -> <shunt>; rest: * -> \"http://app\"")?;
/// assert_eq!(routes.len(), 2);
/// # Ok::<(), eskip::ParseErrors>(())
/// ```
///
/// # Errors
///
/// All that is wrong. One bad route fails the whole document.
pub fn parse(text: &str) -> Result<Vec<Route>, ParseErrors> {
    let located = parse_located(text)?;
    Ok(located.into_iter().map(|located| located.route).collect())
}

/// As [`parse`], and says where each route stands.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_located(text: &str) -> Result<Vec<Located>, ParseErrors> {
    let mut parser = Parser::new(text);
    let routes = parser.document();
    parser.errors.finish(text, routes)
}

/// Reads filters alone, as settings and annotations have them: `a() -> b()`. No text is no filters.
///
/// ```
/// assert_eq!(eskip::parse_filters(" setPath(\"/\") -> status(418) // tea")?.len(), 2);
/// # Ok::<(), eskip::ParseErrors>(())
/// ```
///
/// # Errors
///
/// All that is wrong.
pub fn parse_filters(text: &str) -> Result<Vec<Call>, ParseErrors> {
    let mut parser = Parser::new(text);
    let filters = parser.lone_filters().unwrap_or_default();
    parser.errors.finish(text, filters)
}

/// Reads predicates alone: `A() && B()`. `*` is dropped. No text is no predicates. Their arguments are not checked.
///
/// ```
/// assert_eq!(eskip::parse_predicates("* && Path(\"/\")")?.len(), 1);
/// # Ok::<(), eskip::ParseErrors>(())
/// ```
///
/// # Errors
///
/// All that is wrong.
pub fn parse_predicates(text: &str) -> Result<Vec<Call>, ParseErrors> {
    let mut parser = Parser::new(text);
    let predicates = parser.lone_predicates().unwrap_or_default();
    parser.errors.finish(text, predicates)
}

struct Parser<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    /// The word to be looked at next.
    token: Token<'t>,
    /// The word before.
    previous: Range<usize>,
    route: Option<&'t str>,
    names: Names,
    /// What the current route has so far; it gets lists of just their size.
    predicates: Vec<Call>,
    filters: Vec<Call>,
    args: Vec<Arg>,
    /// Where the predicates of the current route stand.
    places: Vec<Range<usize>>,
    rereads: usize,
    errors: Collector,
}

/// What is never closed is read to the end of the text each time, so this is a few passes.
const MOST_REREADS: usize = 8;

/// A mistake that was reported.
struct Failed;

// === impl Parser ===

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        let mut lexer = Lexer::new(text);
        let token = lexer.next();
        Self {
            text,
            lexer,
            token,
            previous: 0..0,
            route: None,
            names: Names::new(),
            predicates: Vec::new(),
            filters: Vec::new(),
            args: Vec::new(),
            places: Vec::new(),
            rereads: 0,
            errors: Collector::default(),
        }
    }

    fn document(&mut self) -> Vec<Located> {
        let mut routes = Vec::new();
        let mut alone = true;
        while !matches!(self.token.kind, Kind::End) {
            if matches!(self.token.kind, Kind::Semicolon) {
                self.advance();
            } else if let Ok(located) = self.definition(alone) {
                routes.push(located);
            } else {
                self.recover();
            }
            alone = false;
        }
        routes
    }

    /// One route and what must stand behind it.
    fn definition(&mut self, alone: bool) -> Result<Located, Failed> {
        let start = self.token.span.start;
        self.places.clear();
        self.predicates.clear();
        let mut id = None;
        match self.token.kind {
            Kind::Symbol(name) => {
                let place = self.advance();
                match self.token.kind {
                    Kind::Colon => {
                        self.advance();
                        id = Some(name);
                        self.route = id;
                        self.predicate()?;
                    }
                    Kind::OpenParen if alone => self.called(name, place.start)?,
                    _ => {
                        return self.fail(if alone {
                            Wanted::ColonOrParen
                        } else {
                            Wanted::Colon
                        });
                    }
                }
            }
            Kind::Any if alone => self.predicate()?,
            _ => {
                return self.fail(if alone {
                    Wanted::FirstRoute
                } else {
                    Wanted::LaterRoute
                });
            }
        }
        while matches!(self.token.kind, Kind::And) {
            self.advance();
            self.predicate()?;
        }
        if !matches!(self.token.kind, Kind::Arrow) {
            return self.fail(Wanted::Arrow);
        }
        let backend = self.way()?;
        let span = start..self.previous.end;
        self.check();
        match self.token.kind {
            Kind::End => {}
            Kind::Semicolon if id.is_some() => {}
            _ => {
                return self.fail(if id.is_some() {
                    Wanted::Semicolon
                } else {
                    Wanted::End
                });
            }
        }
        let route = Route {
            id: id.map(Name::of_symbol),
            predicates: self.predicates.drain(..).collect(),
            filters: self.filters.drain(..).collect(),
            backend,
        };
        Ok(Located { route, span })
    }

    /// `*` or a call. What matches everything is not kept.
    fn predicate(&mut self) -> Result<(), Failed> {
        match self.token.kind {
            Kind::Any => {
                self.advance();
                Ok(())
            }
            Kind::Symbol(name) => {
                let place = self.advance();
                self.called(name, place.start)
            }
            _ => self.fail(Wanted::Predicate),
        }
    }

    fn called(&mut self, name: &'t str, start: usize) -> Result<(), Failed> {
        let call = self.call(name)?;
        if name != "Any" {
            self.predicates.push(call);
            self.places.push(start..self.previous.end);
        }
        Ok(())
    }

    /// Filters and the backend, each behind its arrow.
    fn way(&mut self) -> Result<Backend, Failed> {
        self.filters.clear();
        loop {
            // The arrow.
            self.advance();
            let Kind::Symbol(name) = self.token.kind else {
                return self.backend();
            };
            self.advance();
            let filter = self.call(name)?;
            self.filters.push(filter);
            if !matches!(self.token.kind, Kind::Arrow) {
                return self.fail(Wanted::ArrowBehindFilter);
            }
        }
    }

    /// The arguments behind a name that was passed.
    fn call(&mut self, name: &'t str) -> Result<Call, Failed> {
        self.arguments()?;
        Ok(Call {
            name: self.names.get(name),
            args: self.args.drain(..).collect(),
        })
    }

    fn arguments(&mut self) -> Result<(), Failed> {
        self.args.clear();
        if !matches!(self.token.kind, Kind::OpenParen) {
            return self.fail(Wanted::Paren);
        }
        self.advance();
        if matches!(self.token.kind, Kind::CloseParen) {
            self.advance();
            return Ok(());
        }
        loop {
            self.args.push(match &mut self.token.kind {
                Kind::Number(number) => Arg::Number(*number),
                Kind::Regexp(text) | Kind::Text(text) => Arg::Text(std::mem::take(text).into_owned()),
                _ => return self.fail(Wanted::Argument),
            });
            self.advance();
            match self.token.kind {
                Kind::Comma => self.advance(),
                Kind::CloseParen => {
                    self.advance();
                    return Ok(());
                }
                _ => return self.fail(Wanted::CommaOrParen),
            };
        }
    }

    fn backend(&mut self) -> Result<Backend, Failed> {
        let backend = match &mut self.token.kind {
            Kind::Text(text) => Backend::Network(std::mem::take(text).into_owned()),
            Kind::Shunt => Backend::Shunt,
            Kind::Loopback => Backend::Loopback,
            Kind::Dynamic => Backend::Dynamic,
            Kind::Forward => Backend::Forward,
            Kind::OpenAngle => return self.balanced().map(Backend::Balanced),
            _ => return self.fail(Wanted::Backend),
        };
        self.advance();
        Ok(backend)
    }

    fn balanced(&mut self) -> Result<Balanced, Failed> {
        self.advance();
        let mut algorithm = None;
        if let Kind::Symbol(name) = self.token.kind {
            algorithm = Some(self.names.get(name));
            self.advance();
            if !matches!(self.token.kind, Kind::Comma) {
                return self.fail(Wanted::Comma);
            }
            self.advance();
        }
        let mut endpoints: Vec<Endpoint> = Vec::new();
        loop {
            let Kind::Text(text) = &mut self.token.kind else {
                return self.fail(if algorithm.is_some() {
                    Wanted::Endpoint
                } else {
                    Wanted::Balanced
                });
            };
            let parsed = std::mem::take(text).parse::<Endpoint>();
            match parsed {
                Ok(endpoint) if endpoints.first().is_some_and(|first| !first.speaks_as(&endpoint)) => {
                    self.problem(Problem::MixedProtocols, self.token.span.clone());
                }
                Ok(endpoint) => endpoints.push(endpoint),
                Err(error) => self.problem(Problem::Endpoint(error), self.token.span.clone()),
            }
            self.advance();
            match self.token.kind {
                Kind::Comma => self.advance(),
                Kind::CloseAngle => {
                    self.advance();
                    return Ok(Balanced { algorithm, endpoints });
                }
                _ => return self.fail(Wanted::CommaOrAngle),
            };
        }
    }

    /// Passes the current word and says where it stood.
    fn advance(&mut self) -> Range<usize> {
        let next = self.lexer.next();
        let passed = std::mem::replace(&mut self.token, next).span;
        self.previous = passed.clone();
        passed
    }

    /// Passes what is left of a route.
    fn recover(&mut self) {
        while !matches!(self.token.kind, Kind::Semicolon | Kind::End) {
            self.reread();
            self.advance();
        }
    }

    /// A slash or a quote too many makes words of the routes behind it. A regular expression over several lines is
    /// hardly meant, and neither is what never ends: reading goes on behind their first character.
    fn reread(&mut self) {
        let over_lines = |span: &Range<usize>| {
            let text = self.text.get(span.clone()).unwrap_or_default();
            text.contains('\n')
        };
        let mistaken = match &self.token.kind {
            Kind::Regexp(_) => true,
            Kind::Bad(bad) => bad.kind == ErrorKind::IncompleteToken,
            _ => false,
        };
        if mistaken && self.rereads < MOST_REREADS && over_lines(&self.token.span) {
            self.rereads = self.rereads.saturating_add(1);
            self.lexer.go_back(self.token.span.start.saturating_add(1));
        }
    }

    fn check(&mut self) {
        for (index, problem) in predicate_problems(&self.predicates) {
            let place = self.places.get(index).cloned().unwrap_or_default();
            self.problem(problem, place);
        }
    }

    /// Reports a route that means nothing. Reading goes on.
    fn problem(&mut self, problem: Problem, span: Range<usize>) {
        let route = self.route;
        self.errors.push(|| Draft {
            message: problem.to_string(),
            kind: ErrorKind::Route(problem),
            token: String::new(),
            route: route.map(Name::of_symbol),
            position: span.end,
            span,
            help: None,
        });
    }

    /// Reports that the current word is wrong.
    fn fail<T>(&mut self, wanted: Wanted) -> Result<T, Failed> {
        let (text, token, previous, route) = (self.text, &self.token, &self.previous, self.route);
        self.errors.push(|| {
            let written = text.get(previous.clone()).unwrap_or_default();
            let before = || Lexer::new(written).next();
            let (kind, last, message, help) = match &token.kind {
                Kind::Bad(bad) => {
                    let kind = match bad.kind {
                        // As it stands for a word, another one was needed, unless none was.
                        ErrorKind::UnexpectedToken if !wanted.may_end() => ErrorKind::Syntax,
                        ref other => other.clone(),
                    };
                    (kind, before(), bad.message.to_owned(), Some(bad.help))
                }
                kind => {
                    let message = format!("expected {}, found {}", wanted.what(), token.described());
                    let last = if matches!(kind, Kind::End) {
                        before()
                    } else {
                        token.clone()
                    };
                    (
                        ErrorKind::Syntax,
                        last,
                        message,
                        wanted.help(kind, &before().kind),
                    )
                }
            };
            // A quote that is missing in one line makes a string of that line's rest and the next.
            let long = written.starts_with(['"', '`', '/']) && written.contains('\n');
            let help = if long { Some(wanted::OVER_LINES) } else { help };
            Draft {
                kind,
                token: last.shown(text),
                route: route.map(Name::of_symbol),
                position: token.position(),
                span: token.span.clone(),
                message,
                help,
            }
        });
        Err(Failed)
    }
}
