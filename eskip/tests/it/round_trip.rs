//! What is printed is read as the same, whatever it is.

use eskip::{Arg, Backend, Balanced, Call, Layout, Name, Route, from_json, parse, print, to_json};
use proptest::prelude::*;

fn name() -> impl Strategy<Value = Name> {
    "[a-zA-Z_][a-zA-Z0-9_]{0,8}"
        .prop_filter("`Any` is not kept", |name| name != "Any")
        .prop_map(|name| name.parse().unwrap())
}

/// Texts with what is special somewhere.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "\\", "\"", "`", "/", "[", "]", "\n", "\r", "\t", "\u{7}", "\0", "//", "\\[", "\\/", "n", "${a}",
            "é", "\u{feff}"
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn arg() -> impl Strategy<Value = Arg> {
    prop_oneof![
        any_text().prop_map(Arg::Text),
        any::<f64>()
            .prop_filter("numbers are finite", |number| number.is_finite())
            .prop_map(Arg::Number),
        any::<i32>().prop_map(|number| Arg::Number(f64::from(number))),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    (name(), prop::collection::vec(arg(), 0..4)).prop_map(|(name, args)| Call { name, args })
}

fn predicate() -> impl Strategy<Value = Call> {
    let known = (
        prop::sample::select(vec![
            "Host",
            "PathRegexp",
            "HeaderRegexp",
            "Path",
            "Method",
            "Header",
        ]),
        any_text(),
        any_text(),
    );
    let known = known.prop_map(|(name, first, second)| Call {
        name: name.parse().unwrap(),
        args: match name {
            "Header" | "HeaderRegexp" => vec![Arg::Text(first), Arg::Text(second)],
            _ => vec![Arg::Text(first)],
        },
    });
    prop_oneof![known, call()]
}

fn backend() -> impl Strategy<Value = Backend> {
    let endpoint = "http://[a-z]{1,5}(:[0-9]{1,4})?(/[a-z]*)?(\\?(zone=)?[a-z=&\"]{0,8})?"
        .prop_map(|text| text.parse().unwrap());
    prop_oneof![
        any_text().prop_map(Backend::Network),
        Just(Backend::Shunt),
        Just(Backend::Loopback),
        Just(Backend::Dynamic),
        Just(Backend::Forward),
        (prop::option::of(name()), prop::collection::vec(endpoint, 1..4))
            .prop_map(|(algorithm, endpoints)| Backend::Balanced(Balanced { algorithm, endpoints })),
    ]
}

fn route() -> impl Strategy<Value = Route> {
    (
        name(),
        prop::collection::vec(predicate(), 0..5),
        prop::collection::vec(call(), 0..4),
        backend(),
    )
        .prop_filter_map("what no parser gives", |(id, predicates, filters, backend)| {
            let route = Route {
                id: Some(id),
                predicates,
                filters,
                backend,
            };
            route.check().is_ok().then_some(route)
        })
}

fn canonical(routes: &[Route]) -> Vec<Route> {
    routes.iter().map(Route::canonical).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn every_form_is_read_as_what_was_printed(mut routes in prop::collection::vec(route(), 0..4), named in any::<bool>()) {
        if let ([only], false) = (routes.as_mut_slice(), named) {
            only.id = None;
        }
        for layout in [Layout::Plain, Layout::PRETTY, Layout::Pretty("\t")] {
            let printed = print(&routes, layout);
            let read = parse(&printed).unwrap();
            prop_assert_eq!(canonical(&read), canonical(&routes), "{}", printed);
            prop_assert_eq!(print(&read, layout), printed);
        }
        let json = to_json(&routes);
        let read = from_json(&json).unwrap();
        prop_assert_eq!(canonical(&read), canonical(&routes), "{}", json);
        prop_assert_eq!(to_json(&read), json);
    }

    #[test]
    fn no_text_is_too_strange(text in any_text()) {
        drop(parse(&text));
        drop(eskip::parse_filters(&text));
        drop(eskip::parse_predicates(&text));
        drop(from_json(&text));
    }
}
