//! The look-up from a pod's address to its server, against a plain loop over the configuration.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use doors_routing::{Router, Warning};
use ipnet::IpNet;
use proptest::prelude::*;

use super::{block, cipher, ip, router};

/// Addresses that lie close together, so that networks overlap and hit.
fn address() -> impl Strategy<Value = IpAddr> {
    let v4 = prop_oneof![Just(0x0a00_0000_u32), Just(0x0a00_8000), Just(0xffff_ff00)];
    let v6 = prop_oneof![
        Just(0xfd00_u128 << 112),
        Just(0xfd00_0001_u128 << 96),
        Just(0xffff_0a00_0000)
    ];
    prop_oneof![
        (v4, 0_u32..0x200).prop_map(|(base, low)| Ipv4Addr::from(base.wrapping_add(low)).into()),
        (v6, 0_u128..0x200).prop_map(|(base, low)| Ipv6Addr::from(base + low).into()),
    ]
}

fn cidr() -> impl Strategy<Value = IpNet> {
    (address(), any::<proptest::sample::Index>(), any::<bool>()).prop_map(|(address, prefix, narrow)| {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = if narrow {
            bits - prefix.index(11)
        } else {
            prefix.index(bits + 1)
        };
        IpNet::new(address, u8::try_from(prefix).unwrap()).unwrap()
    })
}

/// Whether `cidr` holds `address`, bit by bit.
fn holds(cidr: IpNet, address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => format!("{:032b}", u32::from(address)).into_bytes(),
        IpAddr::V6(address) => format!("{:0128b}", u128::from(address)).into_bytes(),
    };
    let mapped = |address: Ipv4Addr| IpAddr::V6(address.to_ipv6_mapped());
    // Addresses are unmapped; a network is IPv4 if all of it is mapped.
    let prefix = usize::from(cidr.prefix_len());
    let address = match (cidr.addr(), address.to_canonical()) {
        (IpAddr::V6(net), IpAddr::V4(address)) if prefix >= 96 && net.to_ipv4_mapped().is_some() => {
            mapped(address)
        }
        (_, address) => address,
    };
    address.is_ipv4() == cidr.addr().is_ipv4() && bits(address)[..prefix] == bits(cidr.addr())[..prefix]
}

fn router_of(cidrs: &[IpNet]) -> Router {
    let blocks = cidrs.iter().map(|cidr| block(&cidr.to_string())).collect();
    Router::try_new(cipher(), Some("upstream".to_owned()), blocks).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_first_cidr_in_the_configuration_that_holds_an_address_wins(
        cidrs in proptest::collection::vec(cidr(), 1..12),
        addresses in proptest::collection::vec(address(), 20),
    ) {
        let router = router_of(&cidrs);
        let edges = cidrs.iter().flat_map(|cidr| [cidr.addr(), cidr.network(), cidr.broadcast()]);
        for address in addresses.into_iter().chain(edges) {
            let first = cidrs.iter().position(|cidr| holds(*cidr, address));
            prop_assert_eq!(router.server_of(address), first, "{} in {:?}", address, cidrs);
        }
    }

    #[test]
    fn a_network_that_overlaps_an_earlier_one_is_warned_of(cidrs in proptest::collection::vec(cidr(), 1..8)) {
        let router = router_of(&cidrs);
        let nets: Vec<IpNet> = router.servers().iter().map(|server| server.pod_cidr()).collect();
        let warned: Vec<usize> = router.warnings().iter().map(|warning| match warning {
            Warning::Overlap { later, .. } => later.0,
            other => panic!("{other:?}"),
        }).collect();
        let overlapping: Vec<usize> = (0..nets.len()).filter(|later| {
            nets[..*later].iter().any(|net| holds(*net, nets[*later].addr()) || holds(nets[*later], net.addr()))
        }).collect();
        prop_assert_eq!(warned, overlapping);
    }
}

#[test]
fn a_mapped_network_holds_ipv4_pods() {
    let router = router(&["::ffff:10.0.0.0/120", "::ffff:0:0/90"]);
    assert_eq!(router.servers()[0].pod_cidr().to_string(), "10.0.0.0/24");
    assert_eq!(router.server_of(ip("10.0.0.5")), Some(0));
    assert_eq!(router.server_of(ip("::ffff:10.0.0.5")), Some(0));
    assert_eq!(router.server_of(ip("10.0.1.5")), None);
    assert_eq!(
        router.servers()[1].pod_cidr().to_string(),
        "::ffc0:0:0/90",
        "wider than what is mapped: IPv6"
    );
}

#[test]
fn whole_families_can_be_networks() {
    let router = router(&["0.0.0.0/0", "::/0"]);
    assert_eq!(router.server_of(ip("255.255.255.255")), Some(0));
    assert_eq!(router.server_of(ip("0.0.0.0")), Some(0));
    assert_eq!(router.server_of(ip("::1")), Some(1));
    assert_eq!(router.server_of(ip("::ffff:1.2.3.4")), Some(0));
    assert!(router.warnings().is_empty());
}

#[test]
fn a_warning_says_which_and_what_follows() {
    let nested = router(&["10.0.0.0/16", "10.9.0.0/24", "10.0.0.128/25"]);
    let text: Vec<String> = nested.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        ["the CIDR 10.0.0.128/25 of upstream 3 overlaps 10.0.0.0/16 of upstream 1: it never gets a pod"]
    );
    let wider = router(&["10.0.0.0/24", "10.0.0.0/16"]);
    let text: Vec<String> = wider.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "the CIDR 10.0.0.0/16 of upstream 2 overlaps 10.0.0.0/24 of upstream 1: pods in both go to the first"
        ]
    );
}
