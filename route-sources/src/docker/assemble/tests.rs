//! Documents of what runs.

use proptest::prelude::*;

use super::*;
use crate::docker::workload::Instance;

const HASH: &str = "$2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG";

fn container(name: &str, address: &str, labels: &[(&str, &str)]) -> Workload {
    let instance = Instance {
        networks: [("web".to_owned(), address.to_owned())].into(),
        ..Instance::default()
    };
    Workload {
        kind: "container",
        name: name.to_owned(),
        id: format!("id-{name}"),
        labels: labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ports: [80].into(),
        instances: vec![instance],
        service: None,
    }
}

fn stopped(mut workload: Workload) -> Workload {
    workload.instances.clear();
    workload.ports.clear();
    workload
}

fn assembled(workloads: &[Workload]) -> Assembled {
    assemble(workloads.to_vec(), &DockerSettings::default())
}

fn document<'a>(found: &'a Assembled, host: &str) -> &'a HostDocument {
    &found.documents[&host.parse::<HostName>().unwrap()]
}

fn addresses(found: &Assembled, host: &str) -> Vec<String> {
    let upstreams = document(found, host).raw().target.upstreams.clone().unwrap();
    upstreams.into_iter().map(|upstream| upstream.address).collect()
}

#[test]
fn containers_of_one_host_join_their_upstreams_sorted() {
    let host = [("doorway.host", "a.test")];
    let found = assembled(&[
        container("b", "10.0.0.2", &host),
        container("a", "10.0.0.3", &host),
    ]);
    assert_eq!(addresses(&found, "a.test"), ["10.0.0.2:80", "10.0.0.3:80"]);
    assert_eq!(found.invalid, []);
}

#[test]
fn a_stopped_container_has_a_route_without_upstreams() {
    let found = assembled(&[stopped(container("a", "", &[("doorway.host", "a.test")]))]);
    assert!(addresses(&found, "a.test").is_empty());
    assert_eq!(found.invalid, []);
}

#[test]
fn one_malformed_container_is_refused_alone() {
    let found = assembled(&[
        container(
            "a",
            "10.0.0.1",
            &[("doorway.host", "a.test"), ("doorway.wieght", "1")],
        ),
        container("b", "10.0.0.2", &[("doorway.host", "a.test")]),
        container("c", "10.0.0.3", &[("doorway.host", "a b")]),
    ]);
    assert_eq!(addresses(&found, "a.test"), ["10.0.0.2:80"]);
    let places: Vec<_> = found
        .invalid
        .iter()
        .map(|invalid| invalid.place.as_str())
        .collect();
    assert_eq!(places, ["container a", "container c"]);
    assert!(found.held.is_empty());
}

#[test]
fn hazard_13_a_login_that_cannot_be_read_holds_the_host_whoever_else_serves_it() {
    for name in ["doorway.basic_auth", "doorway.handlers", "doorway.basic_auht"] {
        let found = assembled(&[
            container("b", "10.0.0.2", &[("doorway.host", "b.test,a.test")]),
            container("c", "10.0.0.3", &[("doorway.host", "a.test"), (name, "bob")]),
            container("d", "10.0.0.4", &[("doorway.host", "a.test")]),
        ]);
        assert!(found.held.contains_key("a.test"), "{name}");
        assert!(!found.documents.contains_key("a.test"));
        assert!(found.documents.contains_key("b.test"));
    }
    let basic = [
        ("proksi.enabled", "true"),
        ("proksi.host", "a.test"),
        ("proksi.plugins.basic_auth.user", "bob"),
        ("proksi.plugins.basic_auth.pass", "secret"),
    ];
    let found = assembled(&[container("a", "10.0.0.1", &basic)]);
    assert!(found.held.contains_key("a.test") && found.documents.is_empty());
    assert!(!format!("{found:?}").contains("secret"));
}

#[test]
fn what_is_wrong_beside_a_login_holds_the_host_unless_the_others_ask_for_one() {
    let login = format!("bob:{HASH}");
    let broken = [
        ("doorway.host", "a.test"),
        ("doorway.basic_auth", login.as_str()),
        ("doorway.prot", "1"),
    ];
    let open = container("b", "10.0.0.2", &[("doorway.host", "a.test")]);
    let closed = container(
        "c",
        "10.0.0.3",
        &[("doorway.host", "a.test"), ("doorway.basic_auth", &login)],
    );
    let broken = container("a", "10.0.0.1", &broken);
    assert!(
        assembled(&[broken.clone(), open.clone(), closed.clone()])
            .held
            .contains_key("a.test")
    );
    assert!(
        assembled(std::slice::from_ref(&broken))
            .held
            .contains_key("a.test")
    );
    let found = assembled(&[broken.clone(), closed]);
    assert_eq!(addresses(&found, "a.test"), ["10.0.0.3:80"]);
    let found = assembled(&[stopped(broken), open]);
    assert_eq!(addresses(&found, "a.test"), ["10.0.0.2:80"]);
}

#[test]
fn who_asks_for_a_login_counts_before_who_does_not() {
    let login = format!("bob:{HASH}");
    let found = assembled(&[
        container("a", "10.0.0.1", &[("doorway.host", "a.test")]),
        container(
            "b",
            "10.0.0.2",
            &[("doorway.host", "a.test"), ("doorway.basic_auth", &login)],
        ),
    ]);
    assert_eq!(document(&found, "a.test").raw().target.handlers.len(), 1);
    assert_eq!(addresses(&found, "a.test").len(), 2);
    assert_eq!(found.invalid[0].place, "container a");
}

#[test]
fn a_container_gets_no_requests_that_did_not_pass_its_own_handlers() {
    let encode = ("doorway.handlers", r#"[{"handler":"encode"}]"#);
    let ask = ("doorway.handlers", r#"[{"handler":"reverse_proxy"}]"#);
    let found = assembled(&[
        container("a", "10.0.0.1", &[("doorway.host", "a.test"), encode]),
        container("b", "10.0.0.2", &[("doorway.host", "a.test"), ask]),
        container("c", "10.0.0.3", &[("doorway.host", "a.test")]),
    ]);
    assert_eq!(addresses(&found, "a.test"), ["10.0.0.1:80", "10.0.0.3:80"]);
    let places: Vec<_> = found
        .invalid
        .iter()
        .map(|invalid| invalid.place.as_str())
        .collect();
    assert_eq!(places, ["container b", "container c"]);
}

#[test]
fn hazard_15_the_first_by_name_counts_in_whatever_order_they_are_listed() {
    let one = container(
        "a",
        "10.0.0.1",
        &[
            ("doorway.host", "a.test"),
            ("doorway.load_balancing", "least_conn"),
        ],
    );
    let other = container("b", "10.0.0.2", &[("doorway.host", "a.test")]);
    let found = assembled(&[one.clone(), other.clone()]);
    assert_eq!(found, assembled(&[other.clone(), one.clone()]));
    let raw = document(&found, "a.test").raw();
    assert_eq!(raw.target.load_balancing.as_deref(), Some("least_conn"));
    assert_eq!(found.invalid[0].place, "container b");
    assert!(found.invalid[0].reason.contains("container a"));
    // One that is stopped has no say.
    let found = assembled(&[stopped(one), other]);
    assert_eq!(document(&found, "a.test").raw().target.load_balancing, None);
}

#[test]
fn containers_share_a_host_by_paths() {
    let found = assembled(&[
        container(
            "web",
            "10.0.0.1",
            &[
                ("doorway.host", "a.test"),
                ("doorway.headers.response.set.X-A", "1"),
            ],
        ),
        container(
            "api",
            "10.0.0.2",
            &[("doorway.host", "a.test"), ("doorway.paths", "/api/*")],
        ),
        container(
            "old",
            "10.0.0.3",
            &[("doorway.host", "a.test"), ("doorway.paths", "/api/old/*")],
        ),
    ]);
    let raw = document(&found, "a.test").raw();
    let patterns: Vec<_> = raw.paths.iter().flat_map(|path| path.patterns.clone()).collect();
    assert_eq!(patterns, ["/api/old/*", "/api/*", "/*"]);
    assert!(raw.headers.is_none() && raw.paths[2].headers.is_some());
    assert_eq!(found.invalid, []);
}

#[test]
fn a_path_of_several_is_of_the_first_and_the_others_keep_the_rest() {
    let found = assembled(&[
        container(
            "a",
            "10.0.0.1",
            &[("doorway.host", "a.test"), ("doorway.paths", "/a,/b")],
        ),
        container(
            "b",
            "10.0.0.2",
            &[("doorway.host", "a.test"), ("doorway.paths", "/B,/c")],
        ),
        container(
            "c",
            "10.0.0.3",
            &[("doorway.host", "a.test"), ("doorway.paths", "/c")],
        ),
    ]);
    let raw = document(&found, "a.test").raw();
    let patterns: Vec<_> = raw.paths.iter().map(|path| path.patterns.join(" ")).collect();
    assert_eq!(patterns, ["/a /b", "/c"]);
    let places: Vec<_> = found
        .invalid
        .iter()
        .map(|invalid| invalid.place.as_str())
        .collect();
    assert_eq!(places, ["container b", "container c"]);
}

#[test]
fn weights_beside_a_policy_that_has_none_do_not_refuse_the_host() {
    let found = assembled(&[
        container(
            "a",
            "10.0.0.1",
            &[
                ("doorway.host", "a.test"),
                ("doorway.load_balancing", "least_conn"),
            ],
        ),
        container(
            "b",
            "10.0.0.2",
            &[("doorway.host", "a.test"), ("doorway.weight", "2")],
        ),
    ]);
    assert_eq!(addresses(&found, "a.test").len(), 2);
    assert_eq!(found.invalid[0].place, "container b");
}

#[test]
fn the_network_is_chosen_and_a_guess_is_reported() {
    let mut two = container("a", "10.0.0.1", &[("doorway.host", "a.test")]);
    two.instances[0]
        .networks
        .insert("back".to_owned(), "10.9.0.1".to_owned());
    let found = assembled(std::slice::from_ref(&two));
    assert_eq!(addresses(&found, "a.test"), ["10.9.0.1:80"]);
    assert!(found.invalid[0].reason.contains("back, web"));

    let settings = DockerSettings {
        networks: vec!["none".to_owned(), "web".to_owned()],
        ..DockerSettings::default()
    };
    let found = assemble(vec![two.clone()], &settings);
    assert_eq!(
        (addresses(&found, "a.test"), found.invalid),
        (vec!["10.0.0.1:80".to_owned()], vec![])
    );

    two.labels.insert("doorway.network".to_owned(), "web".to_owned());
    assert_eq!(
        addresses(&assembled(std::slice::from_ref(&two)), "a.test"),
        ["10.0.0.1:80"]
    );
    two.labels.insert("doorway.network".to_owned(), "wbe".to_owned());
    assert!(assembled(&[two]).invalid[0].reason.contains("`wbe`"));
}

#[test]
fn ports_are_named_or_the_only_one() {
    let mut several = container("a", "10.0.0.1", &[("doorway.host", "a.test")]);
    several.ports = [80, 443].into();
    assert!(
        assembled(std::slice::from_ref(&several)).invalid[0]
            .reason
            .contains("80, 443")
    );
    several.ports.clear();
    assert!(
        assembled(std::slice::from_ref(&several)).invalid[0]
            .reason
            .contains("exposes no port")
    );
    several.labels.insert("doorway.port".to_owned(), "81".to_owned());
    assert_eq!(addresses(&assembled(&[several]), "a.test"), ["10.0.0.1:81"]);
}

#[test]
fn addresses_are_of_the_host_published_or_ipv6_where_they_are_that() {
    let mut one = container("a", "fd00::7", &[("doorway.host", "a.test")]);
    assert_eq!(
        addresses(&assembled(std::slice::from_ref(&one)), "a.test"),
        ["[fd00::7]:80"]
    );
    one.instances[0].published.insert(80, (None, 8080));
    let settings = DockerSettings {
        published_ports: true,
        ..DockerSettings::default()
    };
    assert_eq!(
        addresses(&assemble(vec![one.clone()], &settings), "a.test"),
        ["127.0.0.1:8080"]
    );
    one.instances[0].published.clear();
    assert!(
        assemble(vec![one.clone()], &settings).invalid[0]
            .reason
            .contains("not published")
    );
    one.instances[0].host_network = true;
    assert_eq!(
        addresses(&assembled(std::slice::from_ref(&one)), "a.test"),
        ["127.0.0.1:80"]
    );
    one.instances[0] = Instance::default();
    assert!(assembled(&[one]).invalid[0].reason.contains("no address"));
}

#[test]
fn what_has_no_address_yet_is_unknown_and_opens_no_host() {
    let login = format!("bob:{HASH}");
    let mut starting = container("a", "", &[("doorway.host", "a.test")]);
    starting.instances[0].networks.clear();
    let found = assembled(std::slice::from_ref(&starting));
    assert!(found.unknown.contains("a.test") && found.held.is_empty());
    starting.labels.insert("doorway.basic_auth".to_owned(), login);
    let open = container("b", "10.0.0.2", &[("doorway.host", "a.test")]);
    let found = assembled(&[starting, open]);
    assert!(found.held.contains_key("a.test") && found.unknown.is_empty());
}

fn any_container() -> impl Strategy<Value = Workload> {
    let label = prop_oneof![
        Just(("doorway.weight", "2")),
        Just(("doorway.weight", "x")),
        Just(("doorway.paths", "/b/*,/a/*")),
        Just(("doorway.paths", "/c")),
        Just(("doorway.paths", "/B/*,/c")),
        Just(("doorway.load_balancing", "first")),
        Just(("doorway.basic_auth", "bob:x")),
        Just(("doorway.headers.response.set.X-A", "1")),
        Just(("doorway.typo", "1")),
    ];
    let host = prop_oneof![Just("a.test"), Just("b.test"), Just("b.test,a.test")];
    let parts = (
        "[a-c]",
        "[0-9]",
        1..9_u8,
        host,
        prop::collection::vec(label, 0..3),
        any::<bool>(),
    );
    parts.prop_map(|(name, id, address, host, mut labels, is_running)| {
        labels.push(("doorway.host", host));
        let mut found = container(&name, &format!("10.0.0.{address}"), &labels);
        found.id = id;
        if is_running { found } else { stopped(found) }
    })
}

proptest! {
    #[test]
    fn nothing_is_served_open_of_which_one_container_asks_for_a_login(list in prop::collection::vec(any_container(), 0..8)) {
        let found = assembled(&list);
        for (host, document) in &found.documents {
            let asks = |one: &&Workload| one.is_running() && one.labels.contains_key("doorway.basic_auth");
            let is_its = |one: &&Workload| one.labels["doorway.host"].split(',').any(|name| name == host.as_str());
            prop_assert!(!list.iter().filter(asks).any(|one| is_its(&one)), "{document:?}");
        }
    }

    #[test]
    fn hazard_14_the_order_of_a_list_changes_nothing(
        (one, other) in prop::collection::vec(any_container(), 0..8)
            .prop_map(|mut list| {
                list.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
                list.dedup_by(|one, other| (&one.name, &one.id) == (&other.name, &other.id));
                list
            })
            .prop_flat_map(|list| (Just(list.clone()), Just(list).prop_shuffle()))
    ) {
        prop_assert_eq!(assembled(&one), assembled(&other));
    }
}
