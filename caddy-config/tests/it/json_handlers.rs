//! Mistakes in matchers and handlers of a JSON document.

use crate::json::{each_is_one_finding, handler, server};

/// Fields of a handler, and what is wrong with them.
const HANDLERS: [(&str, &str); 52] = [
    (
        r#""handler":"authentication""#,
        "the field `providers` is missing",
    ),
    (
        r#""handler":"authentication","providers":{"other":{}}"#,
        "providers.other: unknown or unsupported field",
    ),
    (
        r#""handler":"authentication","providers":{"http_basic":{"hash":{"algorithm":"md5"}}}"#,
        "hash.algorithm: expected `argon2id` or `bcrypt`",
    ),
    (
        r#""handler":"authentication","providers":{"http_basic":{"hash":{}}}"#,
        "the field `algorithm` is missing",
    ),
    (
        r#""handler":"authentication","providers":{"http_basic":{"accounts":[{"username":"a"}]}}"#,
        "the field `password` is missing",
    ),
    (
        r#""handler":"authentication","providers":{"http_basic":{"accounts":[{"username":"a:b","password":"{env.A}"}]}}"#,
        "this cannot be the name of a user: it is empty, or has a colon or a control character",
    ),
    (
        r#""handler":"authentication","providers":{"http_basic":{"accounts":[{"username":"a","password":"secret"}]}}"#,
        "accounts[0].password: this is not the hash of a password",
    ),
    (
        r#""handler":"authentication","providers":{"http_basic":{"accounts":[{"username":"a","password":"{env.A}"},{"username":"a","password":"{env.B}"}]}}"#,
        "a name occurs twice among the accounts",
    ),
    (
        r#""handler":"authentication","providers":{"http_basic":{"realm":"a\nb"}}"#,
        "a line break or control character in a header field",
    ),
    (
        r#""handler":"authentication","providers":{"http_basic":{"hash_cache":{"size":1}}}"#,
        "hash_cache.size: unknown or unsupported field",
    ),
    (
        r#""handler":"copy_response","status_code":"later""#,
        "this is not a final status",
    ),
    (
        r#""handler":"copy_response_headers","include":["A"],"exclude":["B"]"#,
        "give either `include` or `exclude`",
    ),
    (
        r#""handler":"copy_response_headers","include":["A B"]"#,
        "include[0]: this is not the name of a header field",
    ),
    (r#""handler":"doors_geo""#, "the field `redirects` is missing"),
    (
        r#""handler":"doors_geo","redirects":{}"#,
        "at least one domain is needed",
    ),
    (
        r#""handler":"doors_geo","redirects":{"a":[]}"#,
        "a domain without countries",
    ),
    (
        r#""handler":"doors_geo","redirects":{"a":["DE","DEU"]}"#,
        "redirects.a[1]: a country is written as two letters, such as DE",
    ),
    (
        r#""handler":"doors_geo","redirects":{"a":["DE"],"b":["FR","de"]}"#,
        "redirects.b[1]: this country is listed twice",
    ),
    (
        r#""handler":"doors_geo","redirects":{"https://a":["DE"]}"#,
        "this is not a host name, or a host name and a port",
    ),
    (
        r#""handler":"doors_geo","redirects":{"a":["DE"]},"tarball_url":"a""#,
        "this is not a URL that begins with https:// or http://",
    ),
    (
        r#""handler":"doors_geo","redirects":{"a":["DE"]},"redirect_scheme":"ws""#,
        "expected `http`, `https` or `request`",
    ),
    (
        r#""handler":"doors_geo","redirects":{"a":["DE"]},"status":303"#,
        "status: expected 302, 307 or 308",
    ),
    (
        r#""handler":"encode","encodings":{"deflate":{}}"#,
        "unknown or unsupported field",
    ),
    (
        r#""handler":"encode","encodings":{"gzip":{"level":10}}"#,
        "gzip.level: expected a whole number from 0 to 9",
    ),
    (
        r#""handler":"encode","encodings":{"zstd":{"level":3}}"#,
        "zstd.level: expected a string, found a number",
    ),
    (
        r#""handler":"encode","encodings":{"zstd":{"level":"fast"}}"#,
        "expected `fastest`, `default`, `better` or `best`",
    ),
    (
        r#""handler":"encode","encodings":{"gzip":{}},"prefer":["zstd"]"#,
        "prefer[0]: this encoding is not among `encodings`",
    ),
    (
        r#""handler":"encode","encodings":{"gzip":{}},"prefer":["gzip","gzip"]"#,
        "prefer[1]: this encoding is given twice",
    ),
    (
        r#""handler":"encode","encodings":{"gzip":{}},"prefer":["deflate"]"#,
        "expected `br`, `gzip` or `zstd`",
    ),
    (
        r#""handler":"encode","minimum_length":-1"#,
        "expected a whole number from 0 to 9223372036854775807",
    ),
    (
        r#""handler":"error","status_code":99"#,
        "this is not a final status",
    ),
    (
        r#""handler":"error","error":"{http.request.body}""#,
        "the placeholder `{http.request.body}` is not supported",
    ),
    (
        r#""handler":"map","destinations":["a"]"#,
        "a destination is one name in braces, such as `{backend}`",
    ),
    (
        r#""handler":"map","destinations":["{http.request.host}"]"#,
        "this placeholder has a meaning of its own",
    ),
    (
        r#""handler":"map","destinations":["{a}"],"mappings":[{"input":"x","outputs":[1,2]}]"#,
        "mappings[0]: 2 outputs for 1 destinations",
    ),
    (
        r#""handler":"map","destinations":["{a}"],"mappings":[{"input":"x","input_regexp":"y","outputs":[1]}]"#,
        "give either `input` or `input_regexp`",
    ),
    (
        r#""handler":"map","destinations":["{a}"],"mappings":[{"input":"x","outputs":[1]},{"input":"x","outputs":[2]}]"#,
        "mappings[1]: this input is given twice",
    ),
    (
        r#""handler":"map","destinations":["{a}"],"mappings":[{"input_regexp":"[","outputs":[1]}]"#,
        "this regular expression is wrong: unclosed character class",
    ),
    (
        r#""handler":"map","destinations":["{a}"],"mappings":[{"input":"x","outputs":[{}]}]"#,
        "expected a single value or a list of strings, found an object",
    ),
    (
        r#""handler":"map","destinations":["{a}"],"defaults":["1","2"]"#,
        "2 defaults for 1 destinations",
    ),
    (
        r#""handler":"metrics","path":"/m""#,
        "path: unknown or unsupported field",
    ),
    (
        r#""handler":"request_body","max_size":"1MB""#,
        "expected a number, found a string",
    ),
    (
        r#""handler":"rewrite","method":"A B""#,
        "this is not a method of HTTP",
    ),
    (
        r#""handler":"rewrite","uri":"{http.x}""#,
        "the placeholder `{http.x}` is not supported",
    ),
    (
        r#""handler":"rewrite","uri_substring":[{"find":"a","limit":-1}]"#,
        "expected a whole number from 0 to 4294967295",
    ),
    (
        r#""handler":"rewrite","path_regexp":[{"find":"("}]"#,
        "this regular expression is wrong: unclosed group",
    ),
    (
        r#""handler":"rewrite","query":{"replace":[{"key":"a"}]}"#,
        "give either `search` or `search_regexp`",
    ),
    (
        r#""handler":"rewrite","query":{"set":[{"key":"a","value":"b"}]}"#,
        "query.set[0].value: unknown or unsupported field",
    ),
    (
        r#""handler":"vars","a":{"b":1}"#,
        "expected a single value or a list of strings, found an object",
    ),
    (
        r#""handler":"vars","a":[1]"#,
        "a[0]: expected a string, found a number",
    ),
    (
        r#""handler":"vars","a":"{http.request.body}""#,
        "the placeholder `{http.request.body}` is not supported",
    ),
    (
        r#""handler":"vars","a":1e400"#,
        "a: this is not a number that can be kept exactly",
    ),
];

/// Fields of a matcher set, and what is wrong with them.
const MATCHERS: [(&str, &str); 25] = [
    (
        r#""client_ip":{"ranges":["a"]}"#,
        "neither an IP address nor a network such as 10.0.0.0/8",
    ),
    (
        r#""client_ip":["10.0.0.1"]"#,
        "client_ip: expected an object, found a list",
    ),
    (
        r#""remote_ip":{"range":[]}"#,
        "remote_ip.range: unknown or unsupported field",
    ),
    (
        r#""expression":"{http.request.method} = 'GET'""#,
        "a single `=`, at character 23 of the expression",
    ),
    (r#""expression":{"name":"a"}"#, "the field `expr` is missing"),
    (
        r#""expression":{"expr":"true","names":"a"}"#,
        "expression.names: unknown or unsupported field",
    ),
    (r#""expression":["true"]"#, "expected a string, found a list"),
    (
        r#""header":{"X A":["b"]}"#,
        "this is not the name of a header field",
    ),
    (
        r#""header":{"A":"b"}"#,
        "header.A: expected a list, found a string",
    ),
    (
        r#""header_regexp":{"A":{"pattern":"("}}"#,
        "header_regexp.A.pattern: this regular expression is wrong: unclosed group",
    ),
    (
        r#""header_regexp":{"A B":{"pattern":"a"}}"#,
        "this is not the name of a header field",
    ),
    (r#""host":["a","A"]"#, "host[1]: this host is repeated"),
    (r#""host":["a/b"]"#, "this is not a host name or an IP address"),
    (r#""method":["A B"]"#, "method[0]: this is not a method of HTTP"),
    (
        r#""not":{"path":["/a"]}"#,
        "not: expected a list, found an object",
    ),
    (
        r#""not":[{"pth":["/a"]}]"#,
        "not[0].pth: unknown or unsupported field",
    ),
    (
        r#""path":["/{http.x}"]"#,
        "path[0]: the placeholder `{http.x}` is not supported",
    ),
    (
        r#""path_regexp":{"pattern":"(a)\\1"}"#,
        "this regular expression is wrong: backreferences are not supported",
    ),
    (
        r#""path_regexp":"a""#,
        "path_regexp: expected an object, found a string",
    ),
    (
        r#""protocol":["http"]"#,
        "protocol: expected a string, found a list",
    ),
    (r#""query":{"a":"b"}"#, "query.a: expected a list, found a string"),
    (
        r#""vars":{"a":[1]}"#,
        "vars.a[0]: expected a string, found a number",
    ),
    (
        r#""vars_regexp":{"a":"b"}"#,
        "vars_regexp.a: expected an object, found a string",
    ),
    (
        r#""geo_country":["DE","Germany"]"#,
        "geo_country[1]: a country is written as two letters, such as DE",
    ),
    (r#""tls":{}"#, "tls: this field is not supported"),
];

#[test]
fn handlers_say_what_is_wrong() {
    each_is_one_finding(&HANDLERS.map(|(fields, message)| (handler(fields), message)));
}

#[test]
fn matchers_say_what_is_wrong() {
    let route = |fields: &str| server(&format!(r#""routes":[{{"match":[{{{fields}}}]}}]"#));
    each_is_one_finding(&MATCHERS.map(|(fields, message)| (route(fields), message)));
}
