//! Matchers.

use std::sync::Arc;

use caddy_config as model;
use caddy_config::expression::Program;
use http::Method;
use ipnet::IpNet;

use super::compile::Compiler;
use crate::ip_set::IpSet;
use crate::routing::expression::Expression;
use crate::routing::glob::PathPattern;
use crate::routing::matcher::{
    FieldMatcher, FieldRegexp, HostMatcher, Matcher, MatcherSet, QueryMatcher, VarMatcher, VarRegexp, Wanted,
};
use crate::routing::slots::VARS;
use crate::routing::template::Template;

/// Compiles one set. A matcher with an error is left out; the error is noted.
pub(super) fn set(compiler: &mut Compiler<'_>, set: &model::MatcherSet) -> MatcherSet {
    MatcherSet {
        host: set
            .host
            .as_ref()
            .map(|hosts| HostMatcher::of(values(compiler, hosts))),
        path: set.path.as_ref().map(|paths| {
            let patterns = values(compiler, paths).into_iter().map(PathPattern::of);
            patterns.collect()
        }),
        method: set.method.as_ref().map(|methods| {
            methods
                .iter()
                .filter_map(|method| self::method(compiler, method))
                .collect()
        }),
        others: others(compiler, set),
    }
}

fn method(compiler: &mut Compiler<'_>, method: &str) -> Option<Method> {
    let parsed = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).ok();
    if parsed.is_none() {
        compiler.wrong("not a method", method);
    }
    parsed
}

/// Those that cost least come first.
fn others(compiler: &mut Compiler<'_>, set: &model::MatcherSet) -> Vec<Matcher> {
    let mut list = Vec::new();
    list.extend(
        set.protocol
            .as_ref()
            .and_then(|name| name.parse().ok())
            .map(Matcher::Protocol),
    );
    if !set.header.is_empty() {
        list.push(Matcher::Header(fields(compiler, set)));
    }
    list.extend(
        set.remote_ip
            .as_ref()
            .map(|ip| Matcher::RemoteIp(ranges(compiler, ip))),
    );
    list.extend(
        set.client_ip
            .as_ref()
            .map(|ip| Matcher::ClientIp(ranges(compiler, ip))),
    );
    list.extend(set.geo_country.as_ref().and_then(|codes| {
        let countries = codes.iter().filter_map(|code| code.as_bytes().try_into().ok());
        Some(Matcher::GeoCountry(
            countries.collect(),
            compiler.slots.countries()?,
        ))
    }));
    if !set.vars.is_empty() {
        let vars = set.vars.iter().map(|(key, wanted)| VarMatcher {
            value: subject(compiler, key),
            wanted: values(compiler, wanted),
        });
        list.push(Matcher::Vars(vars.collect()));
    }
    list.extend(set.query.as_ref().map(|query| {
        let pairs = query
            .iter()
            .map(|(name, wanted)| (compiler.value(name), values(compiler, wanted)));
        Matcher::Query(QueryMatcher(pairs.collect()))
    }));
    list.extend(
        set.path_regexp
            .as_ref()
            .and_then(|regexp| compiler.regexp(regexp))
            .map(Matcher::PathRegexp),
    );
    if !set.header_regexp.is_empty() {
        let fields = set
            .header_regexp
            .iter()
            .filter_map(|(name, regexp)| Some((compiler.field_name(name)?, compiler.regexp(regexp)?)));
        list.push(Matcher::HeaderRegexp(FieldRegexp(fields.collect())));
    }
    if !set.vars_regexp.is_empty() {
        let vars = set.vars_regexp.iter().filter_map(|(key, regexp)| {
            Some(VarRegexp {
                value: subject(compiler, key),
                regexp: compiler.regexp(regexp)?,
            })
        });
        list.push(Matcher::VarsRegexp(vars.collect()));
    }
    if !set.not.is_empty() {
        let sets = set.not.iter().map(|set| self::set(compiler, set));
        list.push(Matcher::Not(sets.collect()));
    }
    list.extend(
        set.expression
            .as_ref()
            .and_then(|one| expression(compiler, one))
            .map(|expression| Matcher::Expression(Box::new(expression))),
    );
    list
}

fn values(compiler: &mut Compiler<'_>, texts: &[String]) -> Vec<Template> {
    texts.iter().map(|text| compiler.value(text)).collect()
}

fn fields(compiler: &mut Compiler<'_>, set: &model::MatcherSet) -> FieldMatcher {
    let fields = set.header.iter().filter_map(|(name, wanted)| {
        let wanted = match wanted {
            None => Wanted::Absent,
            Some(texts) if texts.is_empty() => Wanted::Present,
            Some(texts) => Wanted::OneOf(values(compiler, texts)),
        };
        Some((compiler.field_name(name)?, wanted))
    });
    FieldMatcher(fields.collect())
}

/// A placeholder in braces, or the name of a variable.
fn subject(compiler: &mut Compiler<'_>, key: &str) -> Template {
    let is_placeholder = key.starts_with('{') && key.ends_with('}') && key.matches('{').count() == 1;
    if is_placeholder {
        compiler.value(key)
    } else {
        compiler.value(&format!("{{{VARS}{key}}}"))
    }
}

/// Addresses and networks; a zone behind an address does not matter.
fn ranges(compiler: &mut Compiler<'_>, matcher: &model::IpMatcher) -> Arc<IpSet> {
    let mut networks: Vec<IpNet> = Vec::new();
    for text in &matcher.ranges {
        let template = compiler.value(text);
        let Some(text) = template.as_static() else {
            compiler.unsupported::<()>(
                &format!("the range `{text}`, which differs from request to request"),
                "write the addresses themselves, or {$NAME} or {env.NAME}",
            );
            continue;
        };
        // One variable may hold several.
        for range in text.split([' ', ',']).filter(|range| !range.is_empty()) {
            let plain = range.split('%').next().unwrap_or_default();
            match plain.parse::<model::IpRange>() {
                Ok(range) => networks.push(range.net()),
                Err(_) => compiler.wrong("neither an IP address nor a network", range),
            }
        }
    }
    Arc::new(IpSet::new(&networks))
}

fn expression(compiler: &mut Compiler<'_>, model: &model::Expression) -> Option<Expression> {
    let program = match Program::parse(&model.expr, model.name.as_deref()) {
        Ok(program) => program,
        Err(error) => {
            return compiler.unsupported(
                &format!("the expression `{}`: {error}", model.expr),
                "correct it, or use matchers",
            );
        }
    };
    let values = program.placeholders().iter();
    let values = values
        .map(|placeholder| compiler.value(&format!("{{{placeholder}}}")))
        .collect();
    let matchers = program
        .matchers()
        .iter()
        .map(|set| self::set(compiler, set))
        .collect();
    Some(Expression {
        program,
        values,
        matchers,
    })
}
