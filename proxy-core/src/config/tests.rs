//! What a large configuration costs, in counts that are the same on every machine.

use std::fmt::Write as _;

use allocation_counter::measure;

use crate::memory;

const SITES: u32 = 10_000;

/// Sites as people have them: a host, a field to set, an upstream.
fn sites(count: u32) -> String {
    let mut text = "{\n\tadmin off\n\tauto_https off\n}\n".to_owned();
    for number in 0..count {
        write!(
            text,
            "http://site{number}.example.test {{\n\theader X-Site {number}\n\treverse_proxy 127.0.0.1:{}\n}}\n",
            1024 + number
        )
        .unwrap();
    }
    text
}

/// What stays allocated of the compiled configuration, and how much was allocated on the way.
fn cost(count: u32) -> (u64, u64) {
    let text = sites(count);
    let mut kept = None;
    let cost = measure(|| kept = Some(memory::view(&text)));
    drop(kept);
    (u64::try_from(cost.bytes_current).unwrap(), cost.bytes_total)
}

#[test]
fn a_site_takes_less_than_4_kib_and_ten_thousand_take_no_more_each() {
    let (few, few_in_all) = cost(SITES / 10);
    let (many, many_in_all) = cost(SITES);
    let each = many / u64::from(SITES);
    assert!(each < 4096, "{each} bytes for each site");
    assert!(many < few * 11, "{few} bytes for a tenth, {many} for all");
    assert!(
        many_in_all < few_in_all * 12,
        "{few_in_all} bytes pass for a tenth, {many_in_all} for all"
    );
}
