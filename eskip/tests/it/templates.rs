//! Placeholders in the arguments of filters.

use eskip::{Placeholder, Template};

#[test]
fn placeholders_are_known_by_their_names() {
    let template = Template::parse(
        "${request.method}${request.host}${request.path}${request.rawQuery}${request.source}${request.sourceFromLast}\
         ${request.clientIP}${request.header.X-A}${request.query.q}${request.cookie.c.d}${response.header.X-B}${id}\
         ${request.header}${request.other}${ request.path }",
    );
    let found: Vec<Placeholder> = template.placeholders().cloned().collect();
    assert_eq!(
        found,
        [
            Placeholder::Method,
            Placeholder::Host,
            Placeholder::Path,
            Placeholder::RawQuery,
            Placeholder::Source,
            Placeholder::SourceFromLast,
            Placeholder::ClientIp,
            Placeholder::RequestHeader("X-A".into()),
            Placeholder::Query("q".into()),
            Placeholder::Cookie("c.d".into()),
            Placeholder::ResponseHeader("X-B".into()),
            Placeholder::PathParameter("id".into()),
            Placeholder::PathParameter("request.header".into()),
            Placeholder::PathParameter("request.other".into()),
            Placeholder::PathParameter(" request.path ".into()),
        ]
    );
}

#[test]
fn values_are_filled_in() {
    let own = |placeholder: &Placeholder| match placeholder {
        Placeholder::PathParameter(name) if name == "missing" => None,
        Placeholder::PathParameter(name) if name == "empty" => Some("".into()),
        Placeholder::PathParameter(name) => Some(name.clone().into()),
        _ => None,
    };
    for (template, text, complete) in [
        ("", "", true),
        ("template", "template", true),
        ("/path/${param1}/", "/path/param1/", true),
        ("/${param2}/${param1}/", "/param2/param1/", true),
        ("${a}${a}", "aa", true),
        ("/${missing}", "/", false),
        ("/${missing}/${a}", "//a", false),
        ("/${empty}", "/", false),
        // No placeholders.
        ("$", "$", true),
        ("${", "${", true),
        ("${}", "${}", true),
        ("${a", "${a", true),
        ("$a}", "$a}", true),
        ("${a{b}}", "${a{b}}", true),
        ("${a${b}", "${ab", true),
        ("$${a}", "$a", true),
        ("${a}}", "a}", true),
        ("{$a} {a}", "{$a} {a}", true),
    ] {
        let filled = Template::parse(template).fill(own);
        assert_eq!(
            (filled.text.as_str(), filled.complete),
            (text, complete),
            "{template}"
        );
    }
}

#[test]
fn values_are_not_templates() {
    let filled = Template::parse("${a}-${b}").fill(|_| Some("${b}".into()));
    assert_eq!(filled.text, "${b}-${b}");
}

#[test]
fn what_needs_no_values_is_known() {
    assert_eq!(Template::parse("a ${} b").as_literal(), Some("a ${} b"));
    assert_eq!(Template::parse("").as_literal(), Some(""));
    assert_eq!(Template::parse("${a}").as_literal(), None);
}
