//! What the layout could get wrong: both ends of every range, and where its indexes break.

use proptest::prelude::*;

use super::*;

fn code(text: &str) -> CountryCode {
    text.parse().unwrap()
}

fn table(prefixes: &[(&str, &str)]) -> Table {
    let parse = |(prefix, country): &(&str, &str)| (prefix.parse().unwrap(), code(country));
    Table::new(prefixes.iter().map(parse)).unwrap()
}

fn look(table: &Table, address: &str) -> String {
    let found = table.lookup(address.parse().unwrap());
    found.map_or_else(|| "-".to_owned(), |code| code.to_string())
}

#[test]
fn an_empty_table_knows_no_address() {
    let table = table(&[]);
    for address in ["0.0.0.0", "255.255.255.255", "::", "2000::", "ffff::"] {
        assert_eq!(look(&table, address), "-");
    }
    assert!(table.is_empty());
}

#[test]
#[rustfmt::skip]
fn a_prefix_holds_its_first_and_last_address_alone() {
    let cases = [
        ("0.0.0.0/8", None, "0.0.0.0", "0.255.255.255", Some("1.0.0.0")),
        ("10.1.0.0/16", Some("10.0.255.255"), "10.1.0.0", "10.1.255.255", Some("10.2.0.0")),
        ("10.1.2.0/24", Some("10.1.1.255"), "10.1.2.0", "10.1.2.255", Some("10.1.3.0")),
        ("10.1.2.3/32", Some("10.1.2.2"), "10.1.2.3", "10.1.2.3", Some("10.1.2.4")),
        ("255.255.255.255/32", Some("255.255.255.254"), "255.255.255.255", "255.255.255.255", None),
        ("::/32", None, "::", "::ffff:ffff:ffff:ffff:ffff", Some("0:1::")),
        ("1fff:ffff::/32", Some("1fff:fffe:ffff::"), "1fff:ffff::", "1fff:ffff:ffff::1", Some("2000::")),
        ("2001:db8::/64", Some("2001:db7:ffff:ffff::"), "2001:db8::", "2001:db8::ffff:0:0:1", Some("2001:db8:0:1::")),
        ("3fff:e000::/19", Some("3fff:dfff::"), "3fff:e000::", "3fff:ffff:ffff::", Some("4000::")),
        ("4000::/16", Some("3fff:ffff:ffff::"), "4000::", "4000:ffff::", Some("4001::")),
        ("ffff:ffff:ffff:ffff::/64", Some("ffff:ffff:ffff:fffe::"), "ffff:ffff:ffff:ffff::", "ffff:ffff:ffff:ffff:ffff::1", None),
    ];
    for (prefix, before, first, last, after) in cases {
        let table = table(&[(prefix, "DE")]);
        assert_eq!(look(&table, first), "DE", "{prefix}");
        assert_eq!(look(&table, last), "DE", "{prefix}");
        for outside in [before, after].into_iter().flatten() {
            assert_eq!(look(&table, outside), "-", "{prefix} {outside}");
        }
    }
}

#[test]
fn the_longest_prefix_decides_wherever_it_stands() {
    let mut prefixes = [("10.0.0.0/8", "DE"), ("10.1.0.0/16", "AT"), ("10.1.2.0/24", "CH")];
    for _ in 0..2 {
        let table = table(&prefixes);
        for (address, country) in [
            ("10.0.0.1", "DE"),
            ("10.1.0.1", "AT"),
            ("10.1.2.1", "CH"),
            ("10.1.3.0", "AT"),
            ("10.2.0.0", "DE"),
            ("11.0.0.0", "-"),
        ] {
            assert_eq!(look(&table, address), country, "{address}");
        }
        prefixes.reverse();
    }
}

#[test]
fn of_equal_prefixes_the_later_decides() {
    let both = table(&[
        ("10.0.0.0/8", "DE"),
        ("10.0.0.0/8", "AT"),
        ("2001:db8::/32", "AT"),
        ("2001:db8::/32", "DE"),
    ]);
    assert_eq!(look(&both, "10.1.1.1"), "AT");
    assert_eq!(look(&both, "2001:db8::1"), "DE");
    assert_eq!(look(&both, "11.0.0.0"), "-");
}

#[test]
fn bits_behind_a_prefix_are_ignored() {
    let table = table(&[("10.1.2.3/8", "DE"), ("2001:db8::1/32", "AT")]);
    assert_eq!(look(&table, "10.0.0.0"), "DE");
    assert_eq!(look(&table, "2001:db8::"), "AT");
}

#[test]
fn a_mapped_address_is_ipv4() {
    let table = table(&[("10.0.0.0/8", "DE"), ("::/0", "AT"), ("0.0.0.0/0", "CH")]);
    assert_eq!(look(&table, "::ffff:10.0.0.1"), "DE");
    assert_eq!(look(&table, "::ffff:11.0.0.1"), "CH");
    assert_eq!(look(&table, "::10.0.0.1"), "AT");
}

#[test]
fn what_the_layout_cannot_hold_is_refused() {
    let prefix: IpNet = "10.0.0.0/8".parse().unwrap();
    let countries = |count: usize| {
        let letters = (b'A'..=b'Z').flat_map(|a| (b'A'..=b'Z').map(move |b| [a, b]));
        Table::new(
            letters
                .take(count)
                .map(|pair| (prefix, CountryCode::from_bytes(pair).unwrap())),
        )
    };
    let full = countries(MAX_COUNTRIES).unwrap();
    assert_eq!(full.countries().len(), MAX_COUNTRIES);
    // The last of 254: I begins the 9th row of 26, T is its 20th.
    assert_eq!(look(&full, "10.0.0.1"), "JT");
    assert_eq!(countries(MAX_COUNTRIES + 1).unwrap_err(), TableError::Countries);

    let long = Table::new([("2001:db8::/65".parse().unwrap(), code("DE"))]);
    assert_eq!(long.unwrap_err().to_string(), "2001:db8::/65 is longer than /64");
}

#[test]
fn prefixes_are_counted_as_given() {
    let table = table(&[
        ("10.0.0.0/8", "DE"),
        ("10.0.0.0/8", "AT"),
        ("2001:db8::/32", "DE"),
        ("10.0.0.0/8", "AT"),
    ]);
    let counted: Vec<_> = table
        .countries()
        .map(|(code, counts)| (code.to_string(), counts.ipv4, counts.ipv6))
        .collect();
    assert_eq!(counted, [("AT".to_owned(), 2, 0), ("DE".to_owned(), 1, 1)]);
    assert_eq!(table.counts(), Counts { ipv4: 3, ipv6: 1 });
    assert!(table.bytes() > 2 * 65_537 * 4);
}

/// Prefixes close to each other, so that they nest, touch, and are equal.
fn prefixes() -> impl Strategy<Value = Vec<(IpNet, CountryCode)>> {
    let code = prop::sample::select(vec!["AT", "CH", "DE", "FR"]).prop_map(code);
    let near = prop_oneof![
        Just(0_u32),
        Just(0x0a01_0000),
        Just(0x0a01_ff00),
        Just(0xffff_ff00)
    ];
    let ipv4 = (near, any::<u8>(), 0..=32_u8).prop_map(|(base, low, length)| {
        let address = Ipv4Addr::from_bits(base | u32::from(low));
        IpNet::new(address.into(), length).unwrap().trunc()
    });
    let bases = [
        0,
        0x1fff_ffff_ffff_ff00,
        0x2001_0db8_0000_0000,
        0x3fff_ffff_ffff_ff00,
        0x4000_0000_0000_0000,
        u64::MAX << 8,
    ];
    let ipv6 =
        (prop::sample::select(bases.to_vec()), any::<u8>(), 0..=64_u8).prop_map(|(base, low, length)| {
            let address = Ipv6Addr::from_bits(u128::from(base | u64::from(low)) << 64);
            IpNet::new(address.into(), length).unwrap().trunc()
        });
    prop::collection::vec((prop_oneof![ipv4, ipv6], code), 0..40)
}

/// All prefixes, one after the other.
fn naive(prefixes: &[(IpNet, CountryCode)], address: IpAddr) -> Option<CountryCode> {
    let holding = prefixes.iter().filter(|(prefix, _)| prefix.contains(&address));
    // The last of the longest: `max_by_key` takes the last of equals.
    holding
        .max_by_key(|(prefix, _)| prefix.prefix_len())
        .map(|(_, code)| *code)
}

/// The addresses around both ends of every prefix: answers change nowhere else.
fn edges(prefixes: &[(IpNet, CountryCode)]) -> Vec<IpAddr> {
    let around = |address: IpAddr| -> [IpAddr; 3] {
        match address {
            IpAddr::V4(address) => [-1, 0, 1]
                .map(|by: i32| Ipv4Addr::from_bits(address.to_bits().wrapping_add_signed(by)).into()),
            IpAddr::V6(address) => [-1, 0, 1]
                .map(|by: i128| Ipv6Addr::from_bits(address.to_bits().wrapping_add_signed(by)).into()),
        }
    };
    let ends = prefixes
        .iter()
        .flat_map(|(prefix, _)| [prefix.network(), prefix.broadcast()]);
    ends.flat_map(around).collect()
}

fn second_oracle(prefixes: &[(IpNet, CountryCode)]) -> ip_network_table::IpNetworkTable<CountryCode> {
    let mut oracle = ip_network_table::IpNetworkTable::new();
    for (prefix, code) in prefixes {
        let network = ip_network::IpNetwork::new(prefix.network(), prefix.prefix_len()).unwrap();
        oracle.insert(network, *code);
    }
    oracle
}

proptest! {
    #[test]
    fn both_oracles_agree(prefixes in prefixes(), more in prop::collection::vec(any::<IpAddr>(), 20)) {
        let table = Table::new(prefixes.iter().copied()).unwrap();
        let oracle = second_oracle(&prefixes);
        for address in edges(&prefixes).into_iter().chain(more) {
            let address = address.to_canonical();
            let found = table.lookup(address);
            prop_assert_eq!(found, naive(&prefixes, address), "{}", address);
            prop_assert_eq!(found, oracle.longest_match(address).map(|(_, code)| *code), "{}", address);
        }
    }
}
