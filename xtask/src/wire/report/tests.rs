//! Who is alone, and what the manual is told.

use super::*;

fn table(count: usize) -> Vec<Table> {
    let case = |number| Case {
        id: format!("FR-{number}"),
        bytes: Vec::new(),
        written: "GET / HTTP/1.1".to_owned(),
    };
    vec![Table {
        title: "requests".to_owned(),
        cases: (0..count).map(case).collect(),
    }]
}

fn column(proxy: Proxy, forwarded: &[usize]) -> Column {
    let outcome = |count: &usize| Outcome {
        forwarded: vec!["GET / HTTP/1.1".to_owned(); *count],
        begun: false,
        status: Some(if *count == 0 { 400 } else { 200 }),
        odd: false,
        closed: true,
    };
    Column {
        proxy,
        version: format!("{proxy} 1"),
        outcomes: forwarded.iter().map(outcome).collect(),
    }
}

#[test]
fn a_case_is_a_fault_if_more_of_it_passes_doorway_than_any_other() {
    let tables = table(4);
    let columns = [
        column(Proxy::Doorway, &[0, 1, 1, 2]),
        column(Proxy::Nginx, &[1, 1, 0, 1]),
        column(Proxy::Caddy, &[0, 0, 0, 1]),
    ];
    let report = Report::new(&tables, &columns);
    assert_eq!(
        report.alone(&[]),
        ["FR-2 [GET / HTTP/1.1]", "FR-3 [GET / HTTP/1.1]"]
    );
    assert_eq!(
        report.alone(&[("FR-2", "a reason"), ("FR-3", "another")]).len(),
        0
    );
    assert!(Report::new(&tables, &columns[..1]).alone(&[]).is_empty());
}

#[test]
fn a_version_is_its_number() {
    for said in [
        "nginx version: nginx/1.22.1",
        "HAProxy version 1.22.1-1+deb12u1 2023/12/16 - https://haproxy.org/",
        "v1.22.1 h1:abc=",
        "doorway 1.22.1",
    ] {
        assert_eq!(number(said), "1.22.1", "{said}");
    }
}

#[test]
fn the_document_counts_what_each_refuses() {
    let tables = table(2);
    let columns = [
        column(Proxy::Doorway, &[0, 0]),
        column(Proxy::Nginx, &[1, 0]),
        column(Proxy::Caddy, &[1, 1]),
    ];
    let document = Report::new(&tables, &columns).document();
    assert!(document.contains("| requests | 2 | 2 | 1 | 0 |\n"), "{document}");
    assert!(
        document.contains("The others are nginx 1, caddy 1.\n"),
        "{document}"
    );
}
