//! Mistakes in matchers.

use crate::caddyfile::in_a_site;

const CONDITIONS: [(&str, &str); 55] = [
    ("@m", "2:2: a matcher without a condition"),
    ("@m {\n\t}", "2:2: a matcher without a condition"),
    ("@m path", "2:5: `path` needs at least one value"),
    ("@m {\n\t\tmethod\n\t}", "3:3: `method` needs at least one value"),
    ("@m method \"a b\"", "2:12: this is not a method of HTTP"),
    ("@m host", "2:5: `host` needs at least one value"),
    ("@m host a/b", "2:10: this is not a host name or an IP address"),
    ("@m host xn--ü", "2:10: this is not a host name or an IP address"),
    (
        "@m host bücher.example xn--bcher-kva.example",
        "2:25: this host is repeated",
    ),
    ("@m host a.test a.test", "2:17: this host is repeated"),
    (
        "@m header",
        "2:5: `header` needs a field and a value, or `!` and a field",
    ),
    (
        "@m header X-A",
        "2:5: `header` needs a field and a value, or `!` and a field",
    ),
    (
        "@m header X-A a b",
        "2:5: `header` needs a field and a value, or `!` and a field",
    ),
    ("@m header !X-A a", "2:17: a value of an absent field"),
    ("@m header !", "2:12: this is not the name of a header field"),
    (
        "@m header \"X A\" b",
        "2:12: this is not the name of a header field",
    ),
    (
        "@m header_regexp X-A",
        "2:5: `header_regexp` needs a key and an expression, with a name before if need be",
    ),
    (
        "@m header_regexp X-A (",
        "2:23: this regular expression is wrong: unclosed group",
    ),
    (
        "@m {\n\t\theader_regexp X-A a\n\t\theader_regexp n X-A b\n\t}",
        "4:19: a second expression for `X-A` in one matcher",
    ),
    (
        "@m path_regexp",
        "2:5: `path_regexp` needs an expression, or a name and an expression",
    ),
    (
        "@m path_regexp a b c",
        "2:5: `path_regexp` needs an expression, or a name and an expression",
    ),
    (
        "@m path_regexp [a",
        "2:17: this regular expression is wrong: unclosed character class",
    ),
    (
        "@m path_regexp (a)\\1",
        "2:17: this regular expression is wrong: backreferences are not supported",
    ),
    (
        "@m path_regexp (?!a)",
        "2:17: this regular expression is wrong: look-around, including look-ahead and look-behind, is not supported",
    ),
    (
        "@m path_regexp ((a{1000}){1000}){1000}",
        "2:17: this regular expression is too large once its repetitions are written out",
    ),
    (
        "@m {\n\t\tpath_regexp a\n\t\tpath_regexp b\n\t}",
        "4:3: a second `path_regexp` in one matcher",
    ),
    ("@m query", "2:5: `query` needs at least one value"),
    ("@m query a", "2:11: a parameter without `=`"),
    (
        "@m query a={http.x}",
        "2:13: the placeholder `{http.x}` is not supported",
    ),
    (
        "@m protocol",
        "2:5: `protocol` needs one protocol, such as `https`",
    ),
    (
        "@m protocol http https",
        "2:5: `protocol` needs one protocol, such as `https`",
    ),
    (
        "@m {\n\t\tprotocol http\n\t\tprotocol https\n\t}",
        "4:3: a second `protocol` in one matcher",
    ),
    ("@m remote_ip", "2:5: `remote_ip` needs at least one value"),
    (
        "@m remote_ip 10.0.0.0/33",
        "2:15: neither an IP address nor a network such as 10.0.0.0/8",
    ),
    (
        "@m remote_ip localhost",
        "2:15: neither an IP address nor a network such as 10.0.0.0/8",
    ),
    (
        "@m remote_ip forwarded 10.0.0.1",
        "2:15: `forwarded` is no longer an option",
    ),
    (
        "@m client_ip 1.2.3",
        "2:15: neither an IP address nor a network such as 10.0.0.0/8",
    ),
    ("@m geo_country", "2:5: `geo_country` needs at least one value"),
    (
        "@m geo_country Germany",
        "2:17: a country is written as two letters, such as DE",
    ),
    ("@m vars", "2:5: `vars` needs a variable and a value"),
    ("@m vars a", "2:5: `vars` needs a value to compare with"),
    (
        "@m vars_regexp a",
        "2:5: `vars_regexp` needs a key and an expression, with a name before if need be",
    ),
    (
        "@m vars_regexp a [",
        "2:19: this regular expression is wrong: unclosed character class",
    ),
    (
        "@m {\n\t\tvars_regexp a b\n\t\tvars_regexp a c\n\t}",
        "4:15: a second expression for `a` in one matcher",
    ),
    ("@m not", "2:5: `not` without a condition, so nothing would match"),
    (
        "@m not {\n\t}",
        "2:5: `not` without a condition, so nothing would match",
    ),
    (
        "@m not {\n\t\tfoo\n\t}",
        "3:3: unknown or unsupported matcher `foo`",
    ),
    ("@m not path", "2:9: `path` needs at least one value"),
    ("@m not not pth /a", "2:13: unknown or unsupported matcher `pth`"),
    (
        "@m path /a {\n\t\tpath /b\n\t}",
        "2:5: `path` takes no block here",
    ),
    (
        "@m {\n\t\tpath /a {\n\t\t\tpath /b\n\t\t}\n\t}",
        "3:3: `path` takes no block here",
    ),
    ("@m file", "2:5: the matcher `file` is not supported"),
    ("@m tls", "2:5: the matcher `tls` is not supported"),
    (
        "@m url_pattern /a",
        "2:5: the matcher `url_pattern` is not supported",
    ),
    ("@m phat /a", "2:5: unknown or unsupported matcher `phat`"),
];

const EXPRESSIONS: [(&str, &str); 16] = [
    ("@m expression", "2:5: `expression` needs an expression"),
    (
        "@m {\n\t\texpression true\n\t\texpression false\n\t}",
        "4:3: a second expression in one matcher",
    ),
    ("@m \"{path} ==\" ", "2:15: expected a value, found the end"),
    ("@m expression {path} = \"/a\"", "2:23: a single `=`"),
    (
        "@m `{http.request.body} == \"\"`",
        "2:6: the placeholder `{http.request.body}` is not supported",
    ),
    ("@m \"{path} ==\" ", "2:15: expected a value, found the end"),
    ("@m expression {path} = \"/a\"", "2:23: a single `=`"),
    (
        "@m `{http.request.body} == \"\"`",
        "2:6: the placeholder `{http.request.body}` is not supported",
    ),
    (
        "@m `{path} == \"/a\" && {file.x} == \"a\"`",
        "2:24: the placeholder `{http.request.uri.path.file.x}` is not supported",
    ),
    (
        "@m expression {path} == {path} && foo({path})",
        "2:36: the function `foo` is not supported",
    ),
    (
        "@m `{path}`",
        "2:6: the result may be something other than true or false",
    ),
    (
        "@m \"{path}.size() == 'a'\"",
        "2:23: `==` between a whole number and a text",
    ),
    (
        "@m `path_regexp('(')`",
        "2:18: this regular expression is wrong: unclosed group",
    ),
    (
        "@m <<CEL\n\t\t{path} == \"/a\"\n\t\t&& {method} in \"GET\"\n\t\tCEL",
        "4:18: `in` needs a list, this is a text",
    ),
    (
        "@m `{path} == \"/a\" && ({method} == \"GET\"`",
        "2:42: expected `)`, found the end",
    ),
    (
        "@m `{path} == \"{path}\"`",
        "2:17: the placeholder `{http.request.uri.path}` inside of a text",
    ),
];

#[test]
fn conditions_say_what_is_wrong() {
    in_a_site(&CONDITIONS);
}

#[test]
fn expressions_say_what_is_wrong_and_where() {
    in_a_site(&EXPRESSIONS);
}
