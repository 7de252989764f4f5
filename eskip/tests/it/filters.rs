//! What filters cost a request.

use std::time::{Duration, Instant, SystemTime};

use eskip::filters::{Answer, BodySlot, Env, Exchange, Filter, FilterContext, Filters, Flow};
use http::{HeaderMap, Request, StatusCode};

/// A world where no time passes.
struct Still(Instant);

impl Env for Still {
    fn now(&self) -> Instant {
        self.0
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1)
    }

    fn random(&self) -> u64 {
        4
    }
}

fn filters(text: &str) -> Vec<Box<dyn Filter>> {
    let all = Filters::default();
    let calls = eskip::parse_filters(text).unwrap();
    calls.iter().map(|call| all.create(call).unwrap()).collect()
}

#[test]
fn typical_filters_allocate_nothing_for_a_request() {
    let filters = filters(
        r#"setRequestHeader("X-Route", "pages") -> dropRequestHeader("X-Internal") -> modPath(/^\/old\//, "/new/") ->
        setResponseHeader("X-From", "here") -> corsOrigin("https://www.example.org")"#,
    );
    let request = Request::get("/pages/1?a=b").header("origin", "https://www.example.org");
    let (mut request, ()) = request.body(()).unwrap().into_parts();
    let (mut request_body, mut body) = (BodySlot::new(Some(0)), BodySlot::new(None));
    let (mut exchange, mut headers, mut status) = (Exchange::default(), HeaderMap::new(), StatusCode::OK);
    #[expect(clippy::disallowed_methods, reason = "any instant will do")]
    let env = Still(Instant::now());
    let mut run = || {
        for filter in filters.iter().filter(|filter| filter.wants().request) {
            let mut cx = FilterContext {
                request: &mut request,
                request_body: &mut request_body,
                exchange: &mut exchange,
                response: None,
                env: &env,
            };
            assert!(matches!(filter.request(&mut cx), Flow::Next));
        }
        for filter in filters.iter().rev().filter(|filter| filter.wants().response) {
            let mut cx = FilterContext {
                request: &mut request,
                request_body: &mut request_body,
                exchange: &mut exchange,
                response: Some(Answer {
                    status: &mut status,
                    headers: &mut headers,
                    body: &mut body,
                }),
                env: &env,
            };
            assert!(matches!(filter.response(&mut cx), Flow::Next));
        }
    };
    // The first time the maps of fields grow, and the regular expression gets its scratch space.
    run();

    let counted = allocation_counter::measure(run);

    assert_eq!(counted.count_total, 0);
    assert_eq!(request.headers["x-route"], "pages");
    assert_eq!(headers["x-from"], "here");
    assert_eq!(headers["access-control-allow-origin"], "https://www.example.org");
}
