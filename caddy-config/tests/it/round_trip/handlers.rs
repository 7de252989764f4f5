//! Handlers other than those that proxy.

use caddy_config::{
    Account, Authentication, AuthenticationProviders, Brotli, CopyResponse, CopyResponseHeaders, DoorsGeo,
    Encode, Encoding, Encodings, ErrorResponse, Gzip, Handler, HashAlgorithm, HttpBasic, KeyAndValue, Map,
    Mapping, Metrics, QueryOps, QueryReplacement, RedirectScheme, RegexpReplacement, RequestBody, Rewrite,
    Status, SubstringReplacement, Value, Vars, Zstd, ZstdLevel,
};
use proptest::{
    collection::{btree_map, btree_set, vec},
    option,
    prelude::*,
    sample::select,
};

use super::{
    duration,
    eskip::eskip,
    matcher::{pattern, template, template_word},
    name, response_matcher, value,
};

pub(super) fn handler() -> impl Strategy<Value = Handler> {
    prop_oneof![
        answer().boxed(),
        authentication().prop_map(Handler::Authentication).boxed(),
        encode().prop_map(Handler::Encode).boxed(),
        eskip().prop_map(|eskip| Handler::Eskip(Box::new(eskip))).boxed(),
        geo().prop_map(Handler::DoorsGeo).boxed(),
        map().prop_map(Handler::Map).boxed(),
        request_body().prop_map(Handler::RequestBody).boxed(),
        rewrite().prop_map(Handler::Rewrite).boxed(),
        vars().prop_map(Handler::Vars).boxed(),
    ]
}

pub(super) fn status() -> impl Strategy<Value = Status> {
    prop_oneof![
        (200_u16..=999).prop_map(Status::Code),
        Just(Status::Text("{http.error.status_code}".to_owned())),
    ]
}

fn answer() -> impl Strategy<Value = Handler> {
    let error = (template(), option::of(status()))
        .prop_map(|(error, status_code)| Handler::Error(ErrorResponse { error, status_code }));
    let copy =
        option::of(status()).prop_map(|status_code| Handler::CopyResponse(CopyResponse { status_code }));
    let fields = (vec(name(), 0..3), any::<bool>()).prop_map(|(names, included)| {
        let mut handler = CopyResponseHeaders::default();
        let list = if included {
            &mut handler.include
        } else {
            &mut handler.exclude
        };
        *list = names;
        Handler::CopyResponseHeaders(handler)
    });
    let metrics =
        any::<bool>().prop_map(|disable_openmetrics| Handler::Metrics(Metrics { disable_openmetrics }));
    prop_oneof![error, copy, fields, metrics]
}

fn authentication() -> impl Strategy<Value = Authentication> {
    let digest = "[./A-Za-z0-9]{53}";
    let bcrypt = (4_u8..=31, digest).prop_map(|(cost, digest)| format!("$2a${cost:02}${digest}"));
    let argon2id = "[+/A-Za-z0-9]{22}".prop_map(|salt| format!("$argon2id$v=19$m=8,t=1,p=1${salt}${salt}"));
    let of = |algorithm, hash: BoxedStrategy<String>| {
        let accounts = btree_map("[a-z ]{1,5}", hash, 0..3).prop_map(|accounts| {
            let account = |(username, hash): (String, String)| Account {
                username,
                password: hash.into(),
            };
            accounts.into_iter().map(account).collect::<Vec<_>>()
        });
        (Just(algorithm), accounts)
    };
    let hashes = prop_oneof![
        of(None, bcrypt.clone().boxed()),
        of(Some(HashAlgorithm::Bcrypt), bcrypt.boxed()),
        of(Some(HashAlgorithm::Argon2id), argon2id.boxed()),
    ];
    let realm = option::of("[ -~]{1,8}");
    option::of((hashes, realm, any::<bool>())).prop_map(|basic| Authentication {
        providers: AuthenticationProviders {
            http_basic: basic.map(|((hash, accounts), realm, hash_cache)| HttpBasic {
                hash,
                accounts,
                realm,
                hash_cache,
            }),
        },
    })
}

fn encode() -> impl Strategy<Value = Encode> {
    let level = prop_oneof![
        Just(ZstdLevel::Fastest),
        Just(ZstdLevel::Default),
        Just(ZstdLevel::Better),
        Just(ZstdLevel::Best),
    ];
    let encodings = (
        option::of(option::of(0_u8..=11).prop_map(|level| Brotli { level })),
        option::of(option::of(1_u8..=9).prop_map(|level| Gzip { level })),
        option::of(option::of(level).prop_map(|level| Zstd { level })),
    )
        .prop_map(|(br, gzip, zstd)| Encodings { br, gzip, zstd });
    let length = option::of(1..=i64::MAX.unsigned_abs());
    (encodings, length, option::of(response_matcher()), any::<bool>()).prop_map(
        |(encodings, minimum_length, matcher, preferred)| Encode {
            encodings,
            prefer: [Encoding::Zstd, Encoding::Br, Encoding::Gzip]
                .into_iter()
                .filter(|encoding| preferred && encodings.has(*encoding))
                .collect(),
            minimum_length,
            matcher,
        },
    )
}

fn geo() -> impl Strategy<Value = DoorsGeo> {
    let scheme = prop_oneof![
        Just(RedirectScheme::Http),
        Just(RedirectScheme::Https),
        Just(RedirectScheme::Request),
    ];
    // A country of each domain's own.
    let redirects = btree_set("[a-z]{1,5}", 1..4).prop_map(|domains| {
        let domains = domains.into_iter().zip([["DE"], ["FR"], ["IT"]]);
        domains
            .map(|(domain, codes)| (domain, codes.map(str::to_owned).to_vec()))
            .collect()
    });
    let url = option::of("https://[a-z]{1,5}/[a-z.]{0,5}");
    (
        url,
        duration(),
        duration(),
        redirects,
        option::of(scheme),
        option::of(select(vec![302, 307, 308])),
    )
        .prop_map(
            |(tarball_url, update_interval, download_timeout, redirects, redirect_scheme, status)| DoorsGeo {
                tarball_url,
                update_interval,
                download_timeout,
                redirects,
                redirect_scheme,
                status,
            },
        )
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|number| Value::Number(number.into())),
        any::<i16>().prop_map(|number| {
            let quarter = f64::from(number) + 0.25;
            Value::Number(serde_json::Number::from_f64(quarter).unwrap())
        }),
        template().prop_map(Value::String),
    ]
}

fn map() -> impl Strategy<Value = Map> {
    (btree_set("[a-z]{1,5}", 0..4), any::<bool>()).prop_flat_map(|(names, defaulted)| {
        let count = names.len();
        let outputs = || vec(scalar(), count);
        let texts = btree_map(value(), outputs(), 0..3);
        let patterns = btree_map(pattern(), outputs(), 0..2);
        let defaults = vec(template(), if defaulted { count } else { 0 });
        let destinations = names
            .into_iter()
            .map(|name| format!("{{{name}}}"))
            .collect::<Vec<_>>();
        (template(), texts, patterns, defaults).prop_map(move |(source, texts, patterns, defaults)| {
            let text = |(input, outputs)| Mapping {
                input,
                input_regexp: String::new(),
                outputs,
            };
            let pattern = |(input_regexp, outputs)| Mapping {
                input: String::new(),
                input_regexp,
                outputs,
            };
            Map {
                source,
                destinations: destinations.clone(),
                mappings: texts
                    .into_iter()
                    .map(text)
                    .chain(patterns.into_iter().map(pattern))
                    .collect(),
                defaults,
            }
        })
    })
}

fn vars() -> impl Strategy<Value = Vars> {
    let value = prop_oneof![scalar(), vec(template(), 0..3).prop_map(Value::List)];
    let name = prop_oneof!["[A-Z][a-z]{0,5}", Just("{http.vars.x}".to_owned())];
    btree_map(name, value, 0..4).prop_map(|values| Vars { values })
}

fn request_body() -> impl Strategy<Value = RequestBody> {
    (
        option::of(1..=i64::MAX.unsigned_abs()),
        option::of(template_word()),
    )
        .prop_map(|(max_size, set)| RequestBody { max_size, set })
}

pub(super) fn rewrite() -> impl Strategy<Value = Rewrite> {
    let substring = (template(), template(), option::of(1_u32..))
        .prop_map(|(find, replace, limit)| SubstringReplacement { find, replace, limit });
    let regexp = (pattern(), template()).prop_map(|(find, replace)| RegexpReplacement { find, replace });
    let part = || option::of(template_word());
    (
        option::of(prop_oneof![name(), Just("{http.vars.x}".to_owned())]),
        (part(), part(), part()),
        vec(substring, 0..3),
        vec(regexp, 0..3),
        option::of(query()),
    )
        .prop_map(|(method, parts, uri_substring, path_regexp, query)| Rewrite {
            method,
            uri: parts.0,
            strip_path_prefix: parts.1,
            strip_path_suffix: parts.2,
            uri_substring,
            path_regexp,
            query,
        })
}

fn query() -> impl Strategy<Value = QueryOps> {
    let pairs = || {
        vec(
            (template(), template()).prop_map(|(key, value)| KeyAndValue { key, value }),
            0..3,
        )
    };
    let replacement =
        (template(), pattern(), any::<bool>(), template()).prop_map(|(key, search, regexp, replace)| {
            let (search, search_regexp) = if regexp {
                (String::new(), search)
            } else {
                (search, String::new())
            };
            QueryReplacement {
                key,
                search,
                search_regexp,
                replace,
            }
        });
    (
        pairs(),
        pairs(),
        pairs(),
        vec(replacement, 0..2),
        vec(template(), 0..3),
    )
        .prop_map(|(rename, set, add, replace, delete)| QueryOps {
            rename,
            set,
            add,
            replace,
            delete,
        })
}
