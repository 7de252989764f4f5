//! What is counted, under which labels, and that it goes on.

use http::{Request, Response, StatusCode};

use super::*;
use crate::body::{Body, read_all};

fn request(method: &str, uri: &str) -> Request<Body> {
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header("host", "a.test");
    request.body(Body::empty()).unwrap()
}

fn lines_with(metrics: &Metrics, parts: &[&str]) -> Vec<String> {
    let page = metrics.page(Format::Plain).text;
    page.lines()
        .filter(|line| parts.iter().all(|part| line.contains(part)))
        .map(str::to_owned)
        .collect()
}

async fn serve(route: &RouteMetrics, worker: usize, method: &str, host: &str, status: u16, body: &str) {
    let mut observation = Box::new(Observation::begin(worker, &request(method, "/")));
    observation.enter(route, host);
    let mut response = Response::new(Body::new(http_body_util::Full::new(bytes::Bytes::from(
        body.to_owned(),
    ))));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    let response = observation.answered(response, false);
    read_all(response.into_body()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requests_are_counted_with_caddys_names_and_labels() {
    let metrics = Arc::new(Metrics::new(3));
    let route = RouteMetrics::new(&metrics, &"srv0".into(), "subroute");
    for worker in 0..3 {
        serve(&route, worker, "GET", "a.test", 200, "hello").await;
    }
    serve(&route, 0, "FOO", "a.test", 502, "").await;

    let labels = "{handler=\"subroute\",server=\"srv0\"}";
    for (name, value) in [
        ("caddy_http_requests_total", 4),
        ("caddy_http_requests_in_flight", 0),
        ("caddy_http_request_errors_total", 0),
    ] {
        assert_eq!(
            lines_with(&metrics, &[&format!("{name}{{")]),
            [format!("{name}{labels} {value}")]
        );
    }
    let get = "{code=\"200\",handler=\"subroute\",method=\"GET\",server=\"srv0\"";
    for (name, value) in [
        ("caddy_http_response_size_bytes_sum", "15"),
        ("caddy_http_response_size_bytes_count", "3"),
        ("caddy_http_request_size_bytes_sum", "66"),
        ("caddy_http_request_duration_seconds_count", "3"),
        ("caddy_http_response_duration_seconds_count", "3"),
    ] {
        assert_eq!(
            lines_with(&metrics, &[&format!("{name}{get}")]),
            [format!("{name}{get}}} {value}")]
        );
    }
    let bucket = format!("caddy_http_request_duration_seconds_bucket{get},le=\"0.005\"}} 3");
    assert_eq!(lines_with(&metrics, &[&bucket]), [bucket]);
    assert_eq!(
        lines_with(
            &metrics,
            &["_duration_seconds_count", "code=\"502\"", "method=\"OTHER\""]
        )
        .len(),
        2
    );
}

#[tokio::test]
async fn a_request_is_in_flight_until_its_answer_has_ended() {
    let metrics = Arc::new(Metrics::new(1));
    let route = RouteMetrics::new(&metrics, &"srv0".into(), "reverse_proxy");
    let mut observation = Box::new(Observation::begin(0, &request("GET", "/")));
    observation.enter(&route, "");
    observation.failed();
    let response = observation.answered(Response::new(Body::full("x")), true);
    let in_flight = |metrics| lines_with(metrics, &["in_flight{"]).remove(0);
    assert!(in_flight(&metrics).ends_with(" 1"));
    drop(response);
    assert!(in_flight(&metrics).ends_with(" 0"));
    assert!(lines_with(&metrics, &["errors_total{"])[0].ends_with(" 1"));
    // No handler has answered, so there is no time until its answer.
    assert!(lines_with(&metrics, &["response_duration_seconds_count"])[0].ends_with(" 0"));

    let mut left = Observation::begin(0, &request("GET", "/"));
    left.enter(&route, "");
    drop(left);
    assert_eq!(
        lines_with(&metrics, &["request_duration_seconds_count", "code=\"499\""]).len(),
        1
    );
}

#[tokio::test]
async fn hosts_are_apart_only_where_that_is_wanted_and_never_without_end() {
    let metrics = Arc::new(Metrics::new(1));
    let server = "srv0".into();
    let known = || ["a.test".to_owned()];
    let some = RouteMetrics::per_host(&metrics, &server, "subroute", known(), false);
    for host in ["a.test", "b.test", "c.test"] {
        serve(&some, 0, "GET", host, 200, "").await;
    }
    let hosts = |metrics: &Metrics| -> Vec<String> {
        let lines = lines_with(metrics, &["caddy_http_requests_total{"]);
        lines
            .iter()
            .map(|line| line.split('"').nth(3).unwrap().to_owned())
            .collect()
    };
    assert_eq!(hosts(&metrics), ["_other", "a.test"]);

    let every = RouteMetrics::per_host(&metrics, &server, "subroute", known(), true);
    for number in 0..1500 {
        serve(&every, 0, "GET", &format!("{number}.test"), 200, "").await;
    }
    assert_eq!(hosts(&metrics).len(), 1002);
}

#[tokio::test]
async fn counters_go_on_from_one_configuration_to_the_next_and_end_with_the_last() {
    let metrics = Arc::new(Metrics::new(1));
    let server: Arc<str> = "srv0".into();
    let first = RouteMetrics::new(&metrics, &server, "subroute");
    serve(&first, 0, "GET", "", 200, "").await;
    let second = RouteMetrics::new(&metrics, &server, "subroute");
    drop(first);
    serve(&second, 0, "GET", "", 200, "").await;
    assert!(lines_with(&metrics, &["requests_total{handler"])[0].ends_with(" 2"));
    drop(second);
    assert!(lines_with(&metrics, &["caddy_http"]).is_empty());
}

#[test]
fn loads_are_told() {
    let metrics = Metrics::new(1);
    let at = UNIX_EPOCH + std::time::Duration::from_millis(1500);
    metrics.loaded(true, at);
    metrics.loaded(false, at + std::time::Duration::from_secs(5));
    for line in [
        "caddy_config_last_reload_successful 0",
        "caddy_config_last_reload_success_timestamp_seconds 1.5",
        "doorway_config_loads_total{result=\"accepted\"} 1",
        "doorway_config_loads_total{result=\"refused\"} 1",
    ] {
        assert_eq!(lines_with(&metrics, &[line]), [line]);
    }
}
