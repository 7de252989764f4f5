//! What is written of documents, and how large they are.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::document::{RawField, RawFields, RawHeaders, RawPath, RawTarget, RawTls, RawUpstream};
use crate::fuzzing::read_back;

fn checked(value: Value) -> HostDocument {
    HostDocument::check(Raw::from_value(value).unwrap()).unwrap()
}

#[test]
fn documents_that_say_the_same_are_the_same_bytes() {
    let short = checked(json!({"host": "a.test", "upstreams": [{"address": "[::1]:80"}]}));
    let long = checked(json!({
        "upstreams": [{"sni": null, "address": "[0:0::1]:80"}],
        "headers": {"request": {"add": []}, "response": {}},
        "aliases": [],
        "paths": [],
        "host": "A.test.",
        "schema_version": 2,
    }));
    assert_eq!(short, long);
    assert_eq!(short.to_json(), long.to_json());
    assert_eq!(
        short.to_json(),
        r#"{"schema_version":2,"host":"a.test","upstreams":[{"address":"[::1]:80"}]}"#
    );
}

#[test]
fn names_in_handlers_are_written_in_one_order() {
    let handlers = [
        r#"[{"handler":"headers","b":1,"a":{"d":1,"c":2}}]"#,
        r#"[{"a":{"c":2,"d":1},"b":1,"handler":"headers"}]"#,
    ];
    let [one, other] = handlers.map(|handlers| {
        let handlers: Value = serde_json::from_str(handlers).unwrap();
        checked(json!({"host": "a.test", "handlers": handlers})).to_json()
    });
    assert_eq!(one, other);
}

#[test]
fn a_hundred_thousand_documents_are_small() {
    let count = 1000_u32;
    let texts: Vec<String> = (0..count)
        .map(|number| {
            format!(
                r#"{{"host":"host-{number:06}.example.test","upstreams":[{{"address":"10.0.12.34:8080"}}]}}"#
            )
        })
        .collect();
    let mut documents = Vec::with_capacity(texts.len());
    let measured = allocation_counter::measure(|| {
        for text in &texts {
            documents.push(Arc::new(crate::document::read(text).unwrap()));
        }
    });
    let each = measured.bytes_current / i64::from(count);
    println!("{each} bytes for a document with one upstream");
    assert!(each < 480, "{each}");
}

fn fields() -> impl Strategy<Value = RawFields> {
    let field =
        || ("[A-Za-z][A-Za-z0-9-]{0,8}x", "[ -~é]{0,12}").prop_map(|(name, value)| RawField { name, value });
    let some = || prop::collection::vec(field(), 0..3);
    let remove = prop::collection::vec("X-[a-z]{1,5}", 0..3);
    (some(), some(), remove).prop_map(|(add, set, remove)| RawFields { add, set, remove })
}

fn headers() -> impl Strategy<Value = Option<Box<RawHeaders>>> {
    let one = (prop::option::of(fields()), prop::option::of(fields()));
    prop::option::of(one.prop_map(|(request, response)| Box::new(RawHeaders { request, response })))
}

fn target() -> impl Strategy<Value = RawTarget> {
    let address = prop::sample::select(vec![
        "10.0.0.1:80",
        "API.internal:443",
        "[2001:DB8::1]:1",
        "localhost:65535",
    ]);
    let upstream = (
        address,
        prop::option::of(1_u16..),
        prop::option::of("[a-z]{1,5}\\.Test"),
    );
    let upstream = upstream.prop_map(|(address, weight, sni)| RawUpstream {
        address: address.to_owned(),
        weight,
        sni,
    });
    let handler = ("[a-z]{1,8}", any::<i32>())
        .prop_map(|(name, number)| json!({"handler": name, "z": number, "a": [null, 1.5]}));
    let handlers = prop::collection::vec(handler, 0..3);
    let proxied = prop::collection::vec(upstream, 0..4).prop_map(|upstreams| (Some(upstreams), None));
    let scripted = "[ -~]{0,20}x".prop_map(|eskip| (None, Some(eskip)));
    (prop_oneof![proxied, scripted], handlers).prop_map(|((upstreams, eskip), handlers)| RawTarget {
        upstreams,
        load_balancing: None,
        handlers,
        eskip,
    })
}

fn raw() -> impl Strategy<Value = Raw> {
    let paths = prop::collection::vec((headers(), target()), 0..4);
    let tls = ("/[a-z]{1,9}", prop::option::of(any::<bool>()));
    let tls = prop::option::of(tls.prop_map(|(file, redirect)| {
        Box::new(RawTls {
            certificate: file.clone(),
            key: file,
            redirect,
        })
    }));
    let aliases = prop::collection::btree_set("(\\*\\.)?[a-z0-9]{1,6}\\.[A-Z]{2,3}", 0..3);
    (aliases, tls, headers(), paths, target()).prop_map(|(aliases, tls, headers, paths, target)| Raw {
        schema_version: 2,
        host: "a-host.Test".to_owned(),
        aliases: aliases.into_iter().collect(),
        tls,
        headers,
        paths: paths
            .into_iter()
            .enumerate()
            .map(|(number, (headers, target))| RawPath {
                patterns: vec![format!("/{number}/*"), format!("*.{number}")],
                headers,
                target,
            })
            .collect(),
        target,
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(raw in raw()) {
        read_back(&HostDocument::check(raw).unwrap());
    }
}
