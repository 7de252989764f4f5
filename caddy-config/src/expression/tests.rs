//! Expressions over one request; the results are those of Caddy 2.11.7.

use super::{EvaluationError, Facts, Operand, Program};

/// `GET http://sub.example.com:8080/a/b.txt?x=1&y=2` with `X-A: v1`, and some variables.
struct Request<'p>(&'p Program);

impl Facts for Request<'_> {
    fn value(&self, placeholder: usize) -> Operand<'_> {
        match self.0.placeholders()[placeholder].to_string().as_str() {
            "http.request.method" => "GET".into(),
            "http.request.host" => "sub.example.com".into(),
            "http.request.port" => Operand::Int(8080),
            "http.request.uri.path" => "/a/b.txt".into(),
            "http.request.uri.query.x" => "1".into(),
            "http.request.uri.query.y" => "2".into(),
            "http.request.header.X-A" => "v1".into(),
            "http.request.header.X-None" => "".into(),
            "http.vars.num" => Operand::Double(3.0),
            "http.vars.flt" => Operand::Double(1.5),
            "http.vars.t" => Operand::Bool(true),
            "http.vars.s" => "str".to_owned().into(),
            "http.vars.lst" => Operand::List(vec!["a".into(), "b".into()]),
            _ => Operand::Null,
        }
    }

    /// Those for paths match.
    fn matches(&self, matcher: usize) -> bool {
        self.0.matchers()[matcher].path.is_some()
    }
}

fn result(text: &str) -> Result<bool, EvaluationError> {
    let program = Program::parse(text, None).unwrap_or_else(|error| panic!("{text}: {error}"));
    program.evaluate(&Request(&program))
}

fn error(text: &str) -> String {
    Program::parse(text, None).map(drop).expect_err(text).to_string()
}

#[test]
fn values_of_one_type_are_compared() {
    for text in [
        r#"{http.request.method} == "GET""#,
        "{http.request.method} != 'POST'",
        "{http.request.port} == 8080",
        "{http.request.port} < 9000 && {http.request.port} >= 8080",
        "{http.request.port} == 0x1F90",
        "-1 < {http.request.port} && {http.request.port} > -1.5",
        "{http.vars.num} == 3",
        "{http.vars.num} == 3.0 && {http.vars.num} <= 3",
        "{http.vars.flt} > 1",
        "{http.vars.flt} == .15e1",
        "{http.vars.t} == true",
        "!!{http.vars.t}",
        "true > false",
        r#"{http.request.header.X-A} > "a""#,
        "{http.request.uri.query.x} < {http.request.uri.query.y}",
        "{http.vars.none} == null",
        "{unknown} == null",
        "null == null",
        "{http.vars.lst} == ['a', 'b']",
        "[] == [] && ['a'] != ['b']",
        "['a'] == ['a',]",
        "({http.request.method}) == ('GET') // a comment",
    ] {
        assert_eq!(result(text), Ok(true), "{text}");
    }
    for text in [
        r#"{http.request.port} == "8080""#,
        "{http.request.host} == 1",
        "{http.request.header.X-None} == null",
        "{http.vars.none} == ''",
        "{unknown} == 'x'",
        "!{http.vars.t}",
    ] {
        assert_eq!(result(text), Ok(false), "{text}");
    }
}

#[test]
fn in_looks_through_lists() {
    for text in [
        "{http.request.method} in ['GET', 'HEAD']",
        "'v1' in [{http.request.header.X-A}, {http.request.header.X-None}]",
        "{http.request.port} in [80, 8080]",
        "{http.request.port} in [8080.0]",
        "'a' in ['a', 1]",
        "'a' in {http.vars.lst}",
        "!({http.request.method} in [])",
        "!({http.request.port} in ['8080'])",
        "size({http.vars.lst}) == 2 && size([1, 2]) == 2",
    ] {
        assert_eq!(result(text), Ok(true), "{text}");
    }
    assert_eq!(
        result("'v1' in {http.request.header.X-A}"),
        Err(EvaluationError::Type("`in`"))
    );
}

#[test]
fn texts_have_methods_and_values_convert() {
    for text in [
        "{http.request.uri.path}.startsWith('/a') && 'ab'.endsWith('b') && 'ab'.contains('b')",
        "{http.request.uri.path}.matches('b.t')",
        "matches({http.request.uri.path}, '^/a')",
        r"{http.request.uri.path}.matches('^\{http\\.')||{http.request.uri.path}.matches(r'\.txt$')",
        "{http.request.uri.path}.size() == 8 && size('\u{e9}') == 1",
        "'Ab'.lowerAscii() == 'ab' && 'Ab'.upperAscii() == 'AB'",
        "int({http.request.port}) == 8080 && int({http.request.uri.query.x}) == 1 && int(1.9) == 1",
        "int('-5') == -5 && int('+5') == 5",
        "string({http.request.port}) == '8080' && string(1.5) == '1.5' && string(true) == 'true'",
        "string(1.0) == '1' && double({http.request.uri.query.x}) == 1.0 && double('1e3') == 1000.0",
        "{http.request.uri.query.x} + {http.request.uri.query.y} == '12'",
        "1 + 2 == 3 && 1.5 + 1.5 == {http.vars.num}",
        "{http.request.uri.query.x} == '1' ? true : false",
        "({http.vars.t} ? 'a' : 'b') == 'a'",
    ] {
        assert_eq!(result(text), Ok(true), "{text}");
    }
    let wrong = [
        ("{http.request.port}.size() == 4", EvaluationError::Type("`size`")),
        (
            "{http.request.port}.startsWith('8')",
            EvaluationError::Type("`startsWith`"),
        ),
        ("int({http.request.host}) == 1", EvaluationError::Number),
        ("{http.vars.num} + 1 == 4", EvaluationError::Type("`+`")),
        (
            "9223372036854775807 + {http.request.port} == 1",
            EvaluationError::Overflow,
        ),
        (
            "{http.vars.none} < 3",
            EvaluationError::Type("a comparison by size"),
        ),
        (
            "{http.request.header.X-A} > 3",
            EvaluationError::Type("a comparison by size"),
        ),
        ("!{http.vars.s}", EvaluationError::Type("a logical operator")),
        (
            "{http.vars.s} ? true : false",
            EvaluationError::Type("a logical operator"),
        ),
    ];
    for (text, error) in wrong {
        assert_eq!(result(text), Err(error), "{text}");
    }
}

#[test]
fn what_has_no_value_does_not_matter_where_the_rest_decides() {
    let missing = "{http.vars.s}";
    assert_eq!(result(&format!("true || {missing}")), Ok(true));
    assert_eq!(result(&format!("{missing} || true")), Ok(true));
    assert_eq!(result(&format!("false && {missing}")), Ok(false));
    assert_eq!(result(&format!("{missing} && false")), Ok(false));
    assert!(result(&format!("{missing} && true")).is_err());
    assert!(result(&format!("false || {missing} || false")).is_err());
}

#[test]
fn texts_are_written_with_escapes_raw_or_over_lines() {
    let cases = [
        (r#""a\x62\u0063\U00000064\"\'\n\101""#, "abcd\"'\nA"),
        (r"r'\d\n'", r"\d\n"),
        (r#"R"\"""#, r#"\""#),
        ("'''it's\n'''", "it's\n"),
        ("\"\"\"a\"b\"\"\"", "a\"b"),
        (r"'\{http.request.method}'", "{http.request.method}"),
        (r"r'\{2}'", "{2}"),
        ("'{\"json\": {a}}'", "{\"json\": {a}}"),
    ];
    for (written, text) in cases {
        let program = Program::parse(&format!("{{unknown}} == {written}"), None).unwrap();
        let super::Expr::Compare(_, pair) = program.root() else {
            panic!("{program:?}");
        };
        let super::Expr::Literal(super::Literal::String(found)) = &pair[1] else {
            panic!("{program:?}");
        };
        assert_eq!(found, text);
    }
}

/// Matchers as functions, and as they stand in JSON.
const MATCHERS: [(&str, &str); 15] = [
    ("path('/a*', '/b')", r#"{"path":["/a*","/b"]}"#),
    (
        "path({http.vars.p} + '/' + 'x')",
        r#"{"path":["{http.vars.p}/x"]}"#,
    ),
    (
        "path_regexp('^/a')",
        r#"{"path_regexp":{"name":"own","pattern":"^/a"}}"#,
    ),
    (
        "path_regexp('n', '^/a')",
        r#"{"path_regexp":{"name":"n","pattern":"^/a"}}"#,
    ),
    ("host('a.test')", r#"{"host":["a.test"]}"#),
    ("method('GET')", r#"{"method":["GET"]}"#),
    ("protocol('https')", r#"{"protocol":"https"}"#),
    (
        "remote_ip('10.0.0.0/8', '::1')",
        r#"{"remote_ip":{"ranges":["10.0.0.0/8","::1"]}}"#,
    ),
    (
        "client_ip('10.0.0.1')",
        r#"{"client_ip":{"ranges":["10.0.0.1"]}}"#,
    ),
    ("query({'a': ['1', '*']})", r#"{"query":{"a":["1","*"]}}"#),
    (
        r"vars({'\{http.request.method}': 'GET'})",
        r#"{"vars":{"{http.request.method}":["GET"]}}"#,
    ),
    (
        "vars_regexp('v', '^1')",
        r#"{"vars_regexp":{"v":{"name":"own","pattern":"^1"}}}"#,
    ),
    ("geo_country('de', 'AT')", r#"{"geo_country":["DE","AT"]}"#),
    ("header({'X-A': 'v*'})", r#"{"header":{"X-A":["v*"]}}"#),
    (
        "header_regexp('n', 'X-A', '^v')",
        r#"{"header_regexp":{"X-A":{"name":"n","pattern":"^v"}}}"#,
    ),
];

#[test]
fn matchers_are_functions() {
    for (text, json) in MATCHERS {
        let program = Program::parse(text, Some("own")).unwrap_or_else(|error| panic!("{text}: {error}"));
        let [set] = program.matchers() else {
            panic!("{text}: {program:?}");
        };
        assert_eq!(serde_json::to_string(set).unwrap(), json, "{text}");
    }
    assert_eq!(result("path('/a*') && !host('b') || method('GET')"), Ok(true));
    assert_eq!(result("path('/a*') == true"), Ok(true));
}

#[test]
fn placeholders_are_numbered_once() {
    let program = Program::parse("{env.A} == {env.B} || {env.A} == '1'", None).unwrap();
    let names: Vec<String> = program.placeholders().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["env.A", "env.B"]);
}

/// Texts, what is wrong with them, and where, in characters.
const WRONG: [(&str, &str, usize); 44] = [
    ("", "expected a value, found the end", 1),
    ("{http.request.method} = 'GET'", "a single `=`", 23),
    ("{env.A} == '1' and true", "`and` is not an operator", 16),
    ("(true", "expected `)`, found the end", 6),
    ("true true", "expected an operator, found `true`", 6),
    ("'a' == 1", "`==` between a text and a whole number", 8),
    (
        "1 < 2.0",
        "`<` between a whole number and a number with a fraction",
        5,
    ),
    ("'a' == null", "`==` between a text and null", 8),
    ("[1] < [2]", "`<` between a list and a list", 7),
    ("1 in ['a']", "a whole number is in no such list", 6),
    ("'a' in 'abc'", "`in` needs a list, this is a text", 8),
    (
        "{http.vars.t}",
        "the result may be something other than true or false",
        1,
    ),
    ("'a'", "the result is a text instead of true or false", 1),
    (
        "true ? false : {http.vars.t}",
        "the result may be something other than true or false",
        1,
    ),
    ("!'a'", "expected true or false, found a text", 2),
    ("'a' && true", "expected true or false, found a text", 1),
    (
        "{http.request.body} == ''",
        "the placeholder `{http.request.body}` is not supported",
        1,
    ),
    (
        "'{http.request.method}' == 'GET'",
        "the placeholder `{http.request.method}` inside of a text",
        2,
    ),
    ("foo('a')", "the function `foo` is not supported", 1),
    ("'a'.foo()", "the method `foo` is not supported", 4),
    ("'a'.size", "fields are not supported", 4),
    ("['a'][0] == 'a'", "indices are not supported", 6),
    ("3 - 1 == 2", "the operator `-` is not supported", 3),
    ("GET == 'GET'", "the name `GET` has no meaning here", 1),
    (
        "{'a': 'b'} == 1",
        "a map stands only in `header`, `query` and `vars`",
        1,
    ),
    (
        "true ? 1 : 'a'",
        "a whole number or a text: both must be of one type",
        12,
    ),
    ("'a' + 1 == 'a1'", "a whole number cannot be added here", 7),
    ("int(true) == 1", "true or false cannot be converted", 5),
    ("int('a') == 1", "this text is no number", 5),
    ("size(1) == 1", "a whole number has no size", 6),
    ("path()", "a matcher needs at least one argument", 1),
    ("path(1)", "arguments of a matcher are texts", 6),
    (
        "header('a')",
        "this matcher takes a map, such as `{'Key': 'value'}`",
        1,
    ),
    ("method({http.vars.a})", "placeholders are not supported here", 8),
    (
        "remote_ip('private_ranges')",
        "neither an IP address nor a network such as 10.0.0.0/8",
        11,
    ),
    (
        "path_regexp('(')",
        "this regular expression is wrong: unclosed group",
        13,
    ),
    (
        "{env.A}.matches({env.B})",
        "a regular expression that is not a fixed text",
        17,
    ),
    ("'\u{e9}' == 'a", "a text without its closing quote", 8),
    (
        "'a\nb' == 'a'",
        "a text without its closing quote on the same line",
        1,
    ),
    (r"'\d' == 'a'", "an unknown escape in a text", 2),
    ("1u == 1", "numbers with a `u` are not supported", 1),
    ("99999999999999999999 == 1", "the number is too large", 1),
    ("b'a' == 'a'", "bytes are not supported", 1),
    ("{env.A} == # 1", "`#` has no meaning here", 12),
];

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, message, character) in WRONG {
        let full = format!("{message}, at character {character} of the expression");
        assert_eq!(error(text), full);
    }
}

#[test]
fn what_is_nested_or_long_beyond_sense_is_refused() {
    for text in [
        format!("{}true{}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("{}true", "!".repeat(10_000)),
        format!("{}1{} == []", "[".repeat(10_000), "]".repeat(10_000)),
        format!("'a'{} == 'a'", ".lowerAscii()".repeat(1_000)),
        format!("{}true", "true ? true : ".repeat(1_000)),
        format!("true{}", " || true".repeat(10_000)),
    ] {
        Program::parse(&text, None).expect_err("it is refused");
    }
    let long = format!("false{}", " || false".repeat(1_500));
    assert_eq!(result(&long), Ok(false));
    let sum = format!("''{} == ''", " + ''".repeat(2_000));
    assert_eq!(result(&sum), Ok(true));
}
