//! Upstreams that are found out at run time: by the addresses of a name, by SRV records, by what a request says.

use std::net::IpAddr;
use std::time::Duration;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;

use crate::support::dns::{DnsServer, Reply as Dns};
use crate::support::net::Net;
use crate::support::origin::{Recorder, Reply};
use crate::support::rig::{self, Doors, HOST, Rig};
use crate::support::wait::eventually;
use crate::support::wire::Message;

const NAME: &str = "svc.test";
const SERVICE: &str = "_http._tcp.svc.test";

/// Three upstreams at one port, which say which they are.
struct Pods {
    dns: DnsServer,
    all: Vec<Recorder>,
}

// === impl Pods ===

impl Pods {
    async fn start() -> Self {
        let server = Net::fresh().server(1);
        let first = Recorder::saying(server.pod(1), "a").await;
        let port = first.addr().port();
        let mut all = vec![first];
        for (number, name) in [(2, "b"), (3, "c")] {
            let addr = (server.pod(number), port).into();
            all.push(Recorder::start_at(addr, move |_| Reply::ok(name)).await);
        }
        let dns = DnsServer::start().await;
        Self { dns, all }
    }

    fn port(&self) -> u16 {
        self.all[0].addr().port()
    }

    fn ip(&self, index: usize) -> IpAddr {
        self.all[index].addr().ip()
    }

    /// From now on `name` leads to these.
    fn lead(&self, name: &str, to: &[usize]) {
        let to: Vec<IpAddr> = to.iter().map(|index| self.ip(*index)).collect();
        self.dns.set(name, &to, 0);
    }

    /// A site whose proxy has these lines, with the address of the name servers for `DNS` and the port for `PORT`.
    fn site(&self, lines: &str) -> String {
        let lines = lines.replace("DNS", &self.dns.address().to_string());
        let lines = lines.replace("PORT", &self.port().to_string());
        format!("\treverse_proxy {{\n{lines}\n\t}}")
    }

    fn rig(&self, lines: &str) -> Rig {
        Rig::site(&self.site(lines))
    }

    async fn until_asked_again(&self, name: &str, kind: RecordType) {
        let asked = self.dns.asked(name, kind);
        self.dns.wait_asked(name, kind, asked + 2).await;
    }
}

/// The bodies of so many answers, one after the other.
async fn bodies(rig: &Rig, count: usize) -> String {
    let mut bodies = String::new();
    for _ in 0..count {
        bodies += &String::from_utf8(rig.get("/").await.body).unwrap();
    }
    bodies
}

async fn with(rig: &Rig, fields: &str) -> Message {
    let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n\r\n");
    rig.wire().await.ask(request).await
}

const BY_NAME: &str = "dynamic a svc.test PORT {\nresolvers DNS\n}\nlb_policy round_robin";
const BY_SERVICE: &str = "dynamic srv _http._tcp.svc.test {\nresolvers DNS\n}\nlb_policy round_robin";
const BY_HEADER: &str = "dynamic a {http.request.header.X-App} PORT {\nresolvers DNS\n}";

#[tokio::test]
async fn each_address_of_a_name_takes_its_turn_and_another_order_changes_nothing() {
    let pods = Pods::start().await;
    pods.lead(NAME, &[0, 1, 2]);
    let rig = pods.rig(BY_NAME);
    assert_eq!(bodies(&rig, 6).await, "abcabc");
    for order in [[2, 1, 0], [1, 0, 2]] {
        pods.lead(NAME, &order);
        pods.until_asked_again(NAME, RecordType::A).await;
        assert_eq!(bodies(&rig, 3).await, "abc");
    }
    let states = rig.control().upstreams();
    let listed: Vec<String> = states.into_iter().map(|state| state.address).collect();
    let expected: Vec<String> = pods.all.iter().map(|pod| pod.addr().to_string()).collect();
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn addresses_come_and_go_and_connections_to_those_that_went_are_closed() {
    let pods = Pods::start().await;
    pods.lead(NAME, &[0]);
    let rig = pods.rig(BY_NAME);
    assert_eq!(bodies(&rig, 2).await, "aa");
    pods.lead(NAME, &[1, 2]);
    eventually("an answer from a new address", async || {
        (bodies(&rig, 1).await != "a").then_some(())
    })
    .await;
    let served = pods.all[0].requests().len();
    let answers = bodies(&rig, 10).await;
    assert!(
        answers.contains('b') && answers.contains('c') && !answers.contains('a'),
        "{answers}"
    );
    assert_eq!(pods.all[0].requests().len(), served);
    pods.all[0].until_ended(pods.all[0].accepted()).await;
}

#[tokio::test]
async fn a_visitor_stays_where_the_cookie_says_while_others_come_and_go() {
    let pods = Pods::start().await;
    pods.lead(NAME, &[0, 1]);
    let rig = pods.rig(&BY_NAME.replace("round_robin", "cookie lb hush"));
    let first = rig.get("/").await;
    let stays = usize::from(first.body == b"b");
    let cookie = first
        .head
        .field("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    for others in [&[stays, 2][..], &[2, stays, 1 - stays], &[stays]] {
        pods.lead(NAME, others);
        pods.until_asked_again(NAME, RecordType::A).await;
        let answer = with(&rig, &format!("Cookie: {cookie}")).await;
        assert_eq!(answer.body, first.body);
        assert_eq!(answer.head.field("set-cookie"), None);
    }
    pods.lead(NAME, &[2]);
    pods.until_asked_again(NAME, RecordType::A).await;
    let moved = with(&rig, &format!("Cookie: {cookie}")).await;
    assert_eq!(moved.body, b"c");
    assert!(moved.head.field("set-cookie").is_some());
}

#[tokio::test]
async fn srv_records_name_upstreams_with_their_ports() {
    let pods = Pods::start().await;
    let other = Recorder::saying(pods.ip(0), "o").await;
    pods.lead("one.test", &[0]);
    pods.lead("two.test", &[1]);
    let (port, other_port) = (pods.port(), other.addr().port());
    let services = [
        (10, "two.test.", port),
        (5, "one.test.", port),
        (5, "one.test.", other_port),
    ];
    pods.dns.set_services(SERVICE, &services, 0);
    let rig = pods.rig(BY_SERVICE);
    let answers = bodies(&rig, 6).await;
    assert_eq!(answers.matches('o').count(), 2, "{answers}");
    assert!(answers.ends_with(&answers[..3]), "{answers}");
    let first = pods.rig(&BY_SERVICE.replace("round_robin", "first"));
    let lowest = if port < other_port { "a" } else { "o" };
    assert_eq!(
        bodies(&first, 2).await,
        lowest.repeat(2),
        "the lowest priority, then port"
    );
    // They change, fail in every way, and come back.
    pods.dns.set_services(SERVICE, &[(0, "two.test.", port)], 0);
    eventually("only the second one", async || {
        (bodies(&rig, 4).await == "bbbb").then_some(())
    })
    .await;
    for trouble in [
        Dns::Code(ResponseCode::NXDomain),
        Dns::Code(ResponseCode::ServFail),
        Dns::Code(ResponseCode::NoError),
        Dns::Garbage,
        Dns::Services(vec![(0, ".".to_owned(), 80)], 0),
    ] {
        pods.dns.set_family(SERVICE, RecordType::SRV, trouble.clone());
        let asked = pods.dns.asked(SERVICE, RecordType::SRV);
        pods.dns.wait_asked(SERVICE, RecordType::SRV, asked + 1).await;
        assert_eq!(bodies(&rig, 2).await, "bb", "{trouble:?}");
        pods.dns.set_services(SERVICE, &[(0, "two.test.", port)], 0);
        let asked = pods.dns.asked(SERVICE, RecordType::SRV);
        pods.dns.wait_asked(SERVICE, RecordType::SRV, asked + 1).await;
    }
    pods.dns.set_services(SERVICE, &[(0, "one.test.", port)], 0);
    eventually("the first one", async || {
        (bodies(&rig, 2).await == "aa").then_some(())
    })
    .await;
}

#[tokio::test]
async fn several_sources_are_one_list_and_one_that_fails_is_left_out() {
    let pods = Pods::start().await;
    pods.lead(NAME, &[0]);
    pods.lead("more.test", &[1]);
    pods.dns.set_reply("hangs.test", &Dns::Silence);
    let lines = "dynamic multi {\na hangs.test PORT {\nresolvers DNS\n}\na missing.test PORT {\nresolvers DNS\n}\n\
                 a more.test PORT {\nresolvers DNS\n}\n}\ndynamic a svc.test PORT {\nresolvers DNS\n}\n\
                 lb_policy round_robin";
    let rig = pods.rig(lines);
    // Whose turn is first depends on which of the two was found first.
    eventually("both", async || {
        let answers = bodies(&rig, 4).await;
        (answers == "baba" || answers == "abab").then_some(())
    })
    .await;
}

#[tokio::test]
async fn without_an_answer_the_upstreams_that_are_named_serve() {
    let pods = Pods::start().await;
    let fallback = Recorder::saying(pods.ip(0), "fallback").await;
    let lines = format!("{BY_NAME}\nto {}", fallback.addr());
    let rig = pods.rig(&lines);
    assert_eq!(bodies(&rig, 1).await, "fallback");
    pods.lead(NAME, &[1]);
    eventually("the name", async || (bodies(&rig, 1).await == "b").then_some(())).await;
    pods.dns.set_reply(NAME, &Dns::Code(ResponseCode::NXDomain));
    pods.until_asked_again(NAME, RecordType::A).await;
    assert_eq!(bodies(&rig, 1).await, "b", "the last good answer is better");

    let alone = pods.rig(&BY_NAME.replace(NAME, "missing.test"));
    assert_eq!(alone.get("/").await.head.status(), 503);
}

#[tokio::test]
async fn a_request_that_may_wait_sees_upstreams_that_come() {
    let pods = Pods::start().await;
    let rig = pods.rig(&format!("{BY_NAME}\nlb_try_duration 30s\nlb_try_interval 20ms"));
    let asking = async { bodies(&rig, 1).await };
    let setting = async {
        pods.dns.wait_asked(NAME, RecordType::A, 1).await;
        pods.lead(NAME, &[1]);
    };
    assert_eq!(tokio::join!(asking, setting).0, "b");
}

#[tokio::test]
async fn a_resolver_that_hangs_delays_first_requests_only() {
    let pods = Pods::start().await;
    pods.lead(NAME, &[0]);
    let rig = pods.rig(BY_HEADER);
    let known = format!("X-App: {NAME}");
    assert_eq!(with(&rig, &known).await.body, b"a");
    let late = Dns::Late(
        Duration::from_millis(300),
        Box::new(Dns::Addresses(vec![pods.ip(1)], 0)),
    );
    pods.dns.set_reply("late.test", &late);
    assert_eq!(
        with(&rig, "X-App: late.test").await.body,
        b"b",
        "the first one waits"
    );
    pods.dns.set_reply(NAME, &Dns::Silence);
    pods.dns.set_reply("dead.test", &Dns::Silence);
    let asked = pods.dns.asked(NAME, RecordType::A);
    pods.dns.wait_asked(NAME, RecordType::A, asked + 1).await;
    let mut waiting = rig.wire().await;
    waiting
        .send(format!(
            "GET / HTTP/1.1\r\nHost: {HOST}\r\nX-App: dead.test\r\n\r\n"
        ))
        .await;
    let hundred = async {
        for _ in 0..100 {
            assert_eq!(with(&rig, &known).await.body, b"a");
        }
    };
    tokio::time::timeout(Duration::from_secs(4), hundred)
        .await
        .expect("no request waits for the resolver");
    assert_eq!(
        waiting.answer().await.head.status(),
        503,
        "it is not waited for without end"
    );
}

#[tokio::test]
async fn what_is_no_name_is_never_looked_up() {
    let pods = Pods::start().await;
    let rig = pods.rig(BY_HEADER);
    let by_port = "dynamic a svc.test {http.request.header.X-App} {\nresolvers DNS\n}";
    let by_port = pods.rig(by_port);
    let by_address = pods.rig("to {http.request.header.X-App}:PORT\ntransport http {\nresolvers DNS\n}");
    for wrong in [
        "",
        "a b",
        "a/b",
        "..",
        "a..b",
        "x\"y",
        "ä",
        "{x}",
        "a:80",
        "0.0.0.0",
        &"a".repeat(300),
    ] {
        for rig in [&rig, &by_port, &by_address] {
            let answer = with(rig, &format!("X-App: {wrong}")).await;
            assert_eq!(answer.head.status(), 502, "{wrong}");
        }
        assert_eq!(pods.dns.asked(wrong, RecordType::A), 0, "{wrong}");
    }
    for port in ["0", "65536", "-1", "80-81", "http", " "] {
        let answer = with(&by_port, &format!("X-App: {port}")).await;
        assert_eq!(answer.head.status(), 502, "{port}");
    }
    assert_eq!(pods.dns.asked(NAME, RecordType::A), 0);
}

#[tokio::test]
async fn placeholders_stand_in_upstreams_beside_others() {
    let pods = Pods::start().await;
    pods.lead(NAME, &[1]);
    let dns = "transport http {\nresolvers DNS\n}";
    let rig = pods.rig(&format!("to {{http.request.header.X-App}}\n{dns}"));
    let to = |host: &str| format!("X-App: {host}:{}", pods.port());
    assert_eq!(with(&rig, &to(NAME)).await.body, b"b");
    assert_eq!(with(&rig, &to(&pods.ip(2).to_string())).await.body, b"c");
    assert_eq!(
        with(&rig, "X-App: svc.test").await.head.status(),
        502,
        "there is no port"
    );
    assert_eq!(with(&rig, &to("missing.test")).await.head.status(), 502);

    let first = pods.all[0].addr();
    let mixed = pods.rig(&format!(
        "to {{http.request.header.X-App}} {first}\nlb_policy first\n{dns}"
    ));
    assert_eq!(with(&mixed, &to(NAME)).await.body, b"b");
    assert_eq!(
        with(&mixed, "X-App: nonsense").await.body,
        b"a",
        "the others serve"
    );

    let vars = format!(
        "\tvars up {}\n{}",
        pods.all[2].addr(),
        pods.site(&format!("to {{vars.up}}\n{dns}"))
    );
    assert_eq!(Rig::site(&vars).get("/").await.body, b"c");
}

#[tokio::test]
async fn a_flood_of_names_leaves_known_ones_alone() {
    let pods = Pods::start().await;
    pods.lead(NAME, &[0]);
    let rig = pods.rig(BY_HEADER);
    let known = format!("X-App: {NAME}");
    assert_eq!(with(&rig, &known).await.body, b"a");
    for number in 0..300 {
        let answer = with(&rig, &format!("X-App: n{number}.test")).await;
        assert_eq!(answer.head.status(), 503);
    }
    pods.dns.set_reply(NAME, &Dns::Silence);
    assert_eq!(
        with(&rig, &known).await.body,
        b"a",
        "it was not forgotten for those that lead nowhere"
    );
    assert_eq!(rig.control().upstreams().len(), 1);
}

#[tokio::test]
async fn two_proxies_share_a_look_up_and_a_reload_keeps_what_is_known() {
    let pods = Pods::start().await;
    pods.dns.set(NAME, &[pods.ip(0)], 3600);
    let proxies = |extra: &str| {
        let by_name = pods
            .site(BY_NAME)
            .replacen("reverse_proxy", "reverse_proxy /name/*", 1);
        let by_header = pods
            .site(BY_HEADER)
            .replacen("reverse_proxy", "reverse_proxy /header/*", 1);
        format!(
            "{{\n\tadmin off\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n{by_name}\n{by_header}\n{extra}\n}}\n"
        )
    };
    let rig = Rig::caddyfile(&proxies(""));
    let ask = async |path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\nX-App: {NAME}\r\n\r\n");
        rig.wire().await.ask(request).await.body
    };
    assert_eq!(
        (ask("/name/").await, ask("/header/").await),
        (b"a".into(), b"a".into())
    );
    assert_eq!(pods.dns.asked(NAME, RecordType::A), 1);
    pods.dns.set_reply(NAME, &Dns::Silence);
    rig.reload(&proxies("\trespond /new new")).await;
    assert_eq!(
        (ask("/header/").await, ask("/name/").await),
        (b"a".into(), b"a".into())
    );
    assert_eq!(pods.dns.asked(NAME, RecordType::A), 1);
}

#[tokio::test]
async fn only_the_family_that_is_wanted_counts() {
    let pods = Pods::start().await;
    let both = [pods.ip(0), IpAddr::V6("2001:db8::1".parse().unwrap())];
    pods.dns.set(NAME, &both, 0);
    let four = pods.rig("dynamic a svc.test PORT {\nresolvers DNS\nversions ipv4\n}");
    assert_eq!(bodies(&four, 4).await, "aaaa");
    assert_eq!(four.control().upstreams().len(), 1);
    let six = pods.rig("dynamic a only4.test PORT {\nresolvers DNS\nversions ipv6\n}");
    pods.lead("only4.test", &[0]);
    assert_eq!(six.get("/").await.head.status(), 503);
}

#[test]
fn what_can_lead_nowhere_is_refused_at_once() {
    for (lines, expected) in [
        ("dynamic a", "the host is neither a name nor an address"),
        ("dynamic a app 0", "the port is not a number from 1 to 65535"),
        ("dynamic a app http", "the port is not a number from 1 to 65535"),
        ("dynamic srv", "the host is neither a name nor an address"),
        (
            "dynamic srv app {\nservice api\n}",
            "of service and proto, one is missing",
        ),
        ("dynamic multi", "a `dynamic multi` without sources"),
        ("to {env.NOTHING}:80", "the host is neither a name nor an address"),
        ("to unix/{vars.x}", "a unix socket with placeholders"),
    ] {
        let text = format!("{{\n\tadmin off\n}}\nhttp://a:0 {{\n\treverse_proxy {{\n{lines}\n}}\n}}\n");
        let refused = rig::build(&rig::options(), &text).err();
        assert!(
            refused.as_ref().is_some_and(|text| text.contains(expected)),
            "{lines}: {refused:?}"
        );
    }
    let doors = Doors::in_network("127.0.0.0/8", "app", 80).directives();
    let doors = doors.replace(
        "dynamic doors_upstreams",
        "dynamic doors_upstreams\n\t\tdynamic a app",
    );
    let text = format!("{{\n\tadmin off\n}}\nhttp://a:0 {{\n{doors}\n}}\n");
    let refused = rig::build(&rig::options(), &text).err().unwrap();
    assert!(
        refused.contains("doors_upstreams beside other sources"),
        "{refused}"
    );
}
