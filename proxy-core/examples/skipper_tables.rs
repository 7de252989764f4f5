//! Prints a table of the manual: the `filters`, the `predicates`, or what is `unsupported` of Skipper's filters.

#![allow(clippy::print_stdout, reason = "it prints")]

use std::collections::BTreeMap;

use eskip::filters::Filters;
use eskip::routing::About;
use proxy_core::Options;

fn main() {
    let known = Options::default();
    match std::env::args().nth(1).as_deref() {
        Some("filters") => table("filter", known.filters.all()),
        Some("predicates") => table("predicate", known.predicates.all()),
        Some("unsupported") => unsupported(),
        _ => println!("expected filters, predicates or unsupported"),
    }
}

/// A row for each name, with a call.
fn table(kind: &str, all: impl Iterator<Item = (&'static str, About)>) {
    println!("| {kind} | what it does | as in |\n| --- | --- | --- |");
    for (name, About { does, example }) in all {
        println!("| `{name}` | {} | {} |", cell(does), code(example));
    }
}

/// A row for each reason, with the names that it is of.
fn unsupported() {
    let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, why) in Filters::unsupported() {
        names.entry(why).or_default().push(format!("`{name}`"));
    }
    println!("| filters | why |\n| --- | --- |");
    for (why, names) in names {
        println!("| {} | {} |", names.join(", "), cell(why));
    }
}

/// Text of a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Code of a cell, which may have backquotes in it.
fn code(text: &str) -> String {
    let text = cell(text);
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}
