//! What is said of a request that is not sent.

use std::net::Ipv4Addr;

use http::{HeaderMap, Method};
use proxy_core::explain::{ExplainError, Explanation, Inquiry, Outcome, Step};
use proxy_core::{Options, Proxy};

use crate::support::origin::Recorder;
use crate::support::pod::SECRET;

const SITES: &str = "{
	admin off
	auto_https disable_redirects
}
http://a.test:8080 {
	@old {
		path /old/*
		method GET
	}
	redir @old /new
	handle /api/* {
		uri strip_prefix /api
		reverse_proxy 10.0.0.1:80 10.0.0.2:80
	}
	handle /guarded/* {
		forward_auth 10.0.0.9:80 {
			uri /check
			copy_headers X-User
		}
		reverse_proxy 10.0.0.3:80
	}
	handle {
		error \"nothing here\" 404
	}
	handle_errors {
		respond \"sorry\" {err.status_code}
	}
}
http://b.test:8080 {
	abort
}
https://c.test:8443 {
	tls internal
	respond \"secure\"
}
";

async fn ask(
    config: &str,
    method: &str,
    url: &str,
    fields: &[(&str, &str)],
) -> Result<Explanation, ExplainError> {
    let config = caddy_config::from_caddyfile("Caddyfile", config, &|_| None)
        .unwrap_or_else(|findings| panic!("{findings}"))
        .config;
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    }
    let inquiry = Inquiry {
        method: Method::from_bytes(method.as_bytes()).unwrap(),
        url: url.parse().unwrap(),
        headers,
        from: "192.0.2.7".parse().unwrap(),
    };
    Proxy::explain(&config, &Options::default(), &inquiry).await
}

async fn explained(method: &str, url: &str) -> Explanation {
    ask(SITES, method, url, &[]).await.unwrap()
}

#[tokio::test]
async fn each_route_that_is_passed_over_names_the_matcher_that_refused() {
    let explanation = explained("POST", "http://a.test:8080/old/page").await;
    let refused: Vec<(&str, &str)> = explanation
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::PassedOver { route, by } => Some((route.as_str(), by[0].matcher)),
            _ => None,
        })
        .collect();
    assert_eq!(
        refused,
        [
            ("routes[0].handle[0].routes[0]", "method"),
            ("routes[0].handle[0].routes[1]", "path"),
            ("routes[0].handle[0].routes[2]", "path"),
        ]
    );
    assert!(matches!(
        explanation.outcome,
        Outcome::Answered { status: 404, .. }
    ));
}

#[tokio::test]
async fn a_request_for_an_upstream_ends_before_it_with_all_that_may_get_it() {
    let explanation = explained("GET", "http://a.test:8080/api/users?page=2").await;
    let Outcome::Forwarded { destination } = &explanation.outcome else {
        panic!("{explanation}");
    };
    let mut upstreams = destination.upstreams.clone();
    upstreams.sort();
    assert_eq!(upstreams, ["10.0.0.1:80", "10.0.0.2:80"]);
    assert_eq!(
        (destination.method.as_str(), destination.target.as_str()),
        ("GET", "/users?page=2")
    );
    assert_eq!(destination.host.as_deref(), Some("a.test:8080"));
}

#[tokio::test]
async fn an_answer_that_routes_decide_about_is_assumed_to_be_a_plain_200() {
    let explanation = explained("GET", "http://a.test:8080/guarded/x").await;
    let asked = explanation.steps.iter().find_map(|step| match step {
        Step::Asked { destination } => Some(destination),
        _ => None,
    });
    let asked = asked.unwrap();
    assert_eq!(
        (asked.upstreams[0].as_str(), asked.target.as_str()),
        ("10.0.0.9:80", "/check")
    );
    let Outcome::Forwarded { destination } = &explanation.outcome else {
        panic!("{explanation}");
    };
    assert_eq!(destination.upstreams, ["10.0.0.3:80"]);
}

#[tokio::test]
async fn an_error_leads_to_the_routes_for_errors() {
    let explanation = explained("GET", "http://a.test:8080/nowhere").await;
    let failed = Step::Failed {
        status: 404,
        message: "nothing here".to_owned(),
    };
    assert!(explanation.steps.contains(&failed), "{explanation}");
    assert!(
        explanation
            .to_string()
            .contains("+ errors.routes[0]: host a.test"),
        "{explanation}"
    );
    let Outcome::Answered {
        status: 404, length, ..
    } = explanation.outcome
    else {
        panic!("{explanation}");
    };
    assert_eq!(length, Some(5));
}

#[tokio::test]
async fn hosts_of_others_are_counted_and_no_host_is_answered_with_nothing() {
    let aborted = explained("GET", "http://b.test:8080/").await;
    assert_eq!(aborted.outcome, Outcome::Closed);
    let elsewhere = Step::Elsewhere {
        first: "routes[0]".to_owned(),
        routes: 1,
    };
    assert_eq!(aborted.steps[0], elsewhere);
    let unknown = explained("GET", "http://unknown.test:8080/").await;
    assert!(matches!(
        unknown.outcome,
        Outcome::Answered {
            status: 200,
            unhandled: true,
            ..
        }
    ));
}

#[tokio::test]
async fn scheme_and_port_choose_the_listener() {
    let secure = explained("GET", "https://c.test:8443/").await;
    assert_eq!(
        (secure.server.as_str(), secure.listener.as_str()),
        ("srv1", ":8443")
    );
    let nobody = ask(SITES, "GET", "http://a.test/", &[])
        .await
        .unwrap_err()
        .to_string();
    assert!(nobody.contains("port 80") && nobody.contains(":8443"), "{nobody}");
    assert!(matches!(
        ask(SITES, "GET", "/relative", &[]).await,
        Err(ExplainError::Url)
    ));
    assert!(matches!(
        ask(SITES, "GET", "ftp://a.test/", &[]).await,
        Err(ExplainError::Url)
    ));
}

#[tokio::test]
async fn tokens_and_secrets_are_not_told() {
    let token = "AAECAwQFBgcICQoLgj_EH7F8wp_jfseTtnI2K7s5HFc";
    let secret = "MDEyMzQ1Njc4OWFiY2RlZg==";
    let config = format!(
        "http://d.test:8080 {{\n\tdoors_handler {{\n\t\tsecret {secret}\n\t\tsecret {SECRET}\n\t\tupstream {{\n\
         \t\t\tpod_cidr 127.0.0.0/24\n\t\t\thost app.internal\n\t\t\tupstream_port 3000\n\t\t}}\n\t}}\n\
         \treverse_proxy {{\n\t\tdynamic doors_upstreams\n\t}}\n}}\n"
    );
    for marker in ["~", "%7E"] {
        let url = format!("http://d.test:8080/{marker}/{token}/r/x");
        let explanation = ask(&config, "GET", &url, &[]).await.unwrap();
        let Outcome::Forwarded { destination } = &explanation.outcome else {
            panic!("{explanation}");
        };
        assert_eq!(destination.upstreams, ["127.0.0.2:3000"]);
        assert_eq!(destination.why, "the pod of the token in the path, and no other");
        let said = format!(
            "{explanation}\n{explanation:?}\n{}",
            serde_json::to_string(&explanation).unwrap()
        );
        for hidden in [token, secret, SECRET] {
            assert!(!said.contains(hidden), "{said}");
        }
    }
    let wrong = ask(&config, "GET", "http://d.test:8080/~/wrong/x", &[])
        .await
        .unwrap();
    assert!(
        matches!(wrong.outcome, Outcome::Answered { status: 410, .. }),
        "{wrong}"
    );
    assert!(!wrong.to_string().contains("/wrong"), "{wrong}");
}

#[tokio::test]
async fn a_host_field_takes_the_place_of_the_one_in_the_url() {
    let explanation = ask(SITES, "GET", "http://127.0.0.1:8080/", &[("Host", "b.test")])
        .await
        .unwrap();
    assert_eq!(explanation.outcome, Outcome::Closed);
}

#[tokio::test]
async fn a_configuration_that_would_not_run_is_not_explained() {
    let config = "http://a.test:8080 {\n\treverse_proxy\n}\n";
    assert!(matches!(
        ask(config, "GET", "http://a.test:8080/", &[]).await,
        Err(ExplainError::Config(_))
    ));
}

#[tokio::test]
async fn filters_that_ask_others_or_wait_are_left_out() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "no").await;
    let to = format!("\"http://{}\"", origin.addr());
    let config = format!(
        "{{\n\tadmin off\n}}\nhttp://a.test:8080 {{\n\teskip {{\n\t\tinline `* -> latency(\"100h\") ->
        backendLatency(\"100h\") -> tee({to}) -> webhook({to}) -> teeResponse({to}) -> ratelimit(0, \"1h\") ->
        fifo(1, 0, \"1s\") -> {to}`\n\t}}\n}}\n"
    );
    let explained = ask(&config, "GET", "http://a.test:8080/", &[]).await;
    assert!(matches!(explained.unwrap().outcome, Outcome::Forwarded { .. }));
    assert!(origin.requests().is_empty());
}
