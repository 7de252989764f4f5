//! The proxy inside another server: as a service of axum, with predicates, filters and routes that the server gives.

#[expect(dead_code, reason = "an example has a main function")]
#[path = "../../examples/skipper.rs"]
mod example;
mod sources;

use std::net::{Ipv4Addr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::middleware::map_request;
use caddy_config::{Config, Eskip};
use eskip::Arg;
use eskip::routing::{ArgsError, Asked, Predicate, PredicateSpec};
use proxy_core::{Connection, Control, Options, Proxy};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::support::origin::Origin;
use crate::support::rig::{get, options};
use crate::support::wait::within;
use crate::support::wire::{Message, Wire};

/// An axum server with a proxy behind its own routes.
struct Embedded {
    address: SocketAddr,
    control: Control,
    _running: [AbortOnDropHandle<()>; 2],
}

// === impl Embedded ===

impl Embedded {
    /// Answers what axum does not by the first server of `config`. Requests say whom they are from if `tells_peer`.
    async fn start(config: &Config, options: Options, tells_peer: bool) -> Self {
        let options = Options {
            listen: false,
            ..options
        };
        let proxy = Proxy::build(config, &options).expect("the configuration is good");
        let control = proxy.control();
        let service = proxy.handler("srv0").expect("the server has this name");
        let mut router = axum::Router::new()
            .route("/axum", axum::routing::get(async || "from axum"))
            .fallback_service(service);
        if tells_peer {
            router = router.layer(map_request(
                async |ConnectInfo(peer): ConnectInfo<SocketAddr>, mut request: Request| {
                    request.extensions_mut().insert(Connection::new(peer, false));
                    request
                },
            ));
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let make = router.into_make_service_with_connect_info::<SocketAddr>();
        let serving = tokio::spawn(async move {
            axum::serve(listener, make).await.expect("axum serves");
        });
        let running = tokio::spawn(async move {
            proxy.run(CancellationToken::new()).await;
        });
        Self {
            address,
            control,
            _running: [serving, running].map(AbortOnDropHandle::new),
        }
    }

    /// The same for routes alone.
    async fn routes(routes: Eskip, options: Options) -> Self {
        Self::start(&routes.into_embedded("srv0"), options, true).await
    }

    async fn get(&self, path: &str) -> Message {
        Wire::connect(self.address).await.ask(get(path)).await
    }

    async fn status(&self, path: &str) -> u16 {
        self.get(path).await.head.status()
    }
}

fn inline(routes: &str) -> Eskip {
    Eskip {
        inline: vec![routes.to_owned()],
        ..Eskip::default()
    }
}

#[tokio::test]
async fn the_example_says_hello() {
    let body = within("the example", example::hello()).await;
    assert_eq!(body.unwrap(), "Hello, world!");
}

/// Holds for paths of an even length, or of an odd one.
#[derive(Debug)]
struct Even(bool);

struct EvenSpec;

impl Predicate for Even {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        asked.path.len().is_multiple_of(2) == self.0
    }
}

impl PredicateSpec for EvenSpec {
    fn name(&self) -> &'static str {
        "Even"
    }

    fn create(&self, args: &[Arg]) -> Result<Box<dyn Predicate>, ArgsError> {
        match args {
            [] => Ok(Box::new(Even(true))),
            [Arg::Text(text)] if text == "not" => Ok(Box::new(Even(false))),
            _ => Err(ArgsError("expected nothing or `not`".to_owned())),
        }
    }
}

#[tokio::test]
async fn a_predicate_of_the_program_chooses_routes() {
    let mut options = options();
    options.predicates.register(EvenSpec);
    let routes = r#"even: Even() -> status(201) -> <shunt>;
        odd: Even("not") -> status(202) -> <shunt>;
        wrong: Even(7) && Path("/wrong") -> status(203) -> <shunt>;"#;
    let server = Embedded::routes(inline(routes), options).await;
    assert_eq!(server.status("/a").await, 201);
    assert_eq!(server.status("/ab").await, 202);
    assert_eq!(
        server.status("/wrong").await,
        201,
        "a route that is not valid is left out"
    );
}

#[tokio::test]
async fn axum_answers_its_own_routes_and_the_proxy_everything_else() {
    let server = Embedded::routes(
        inline("* -> inlineContent(\"from a route\") -> <shunt>"),
        options(),
    )
    .await;
    assert_eq!(server.get("/axum").await.body, b"from axum");
    assert_eq!(server.get("/other").await.body, b"from a route");
}

#[tokio::test]
async fn the_client_is_who_the_extension_says() {
    let routes =
        r#"mine: ClientIP("127.0.0.1") -> status(201) -> <shunt>; rest: * -> status(202) -> <shunt>;"#;
    let config = inline(routes).into_embedded("srv0");
    let told = Embedded::start(&config, options(), true).await;
    assert_eq!(told.status("/").await, 201);
    let untold = Embedded::start(&config, options(), false).await;
    assert_eq!(untold.status("/").await, 202, "nobody is taken for another one");
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_request_with_it() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let server = Embedded::routes(inline(&format!("* -> \"http://{}\"", origin.addr())), options()).await;
    let mut client = Wire::connect(server.address).await;
    client.send(get("/slow")).await;
    let mut upstream = origin.accept().await;
    assert_eq!(upstream.head().await.target(), "/slow");
    drop(client);
    let (rest, _end) = upstream.rest_after("the client left").await;
    assert!(rest.is_empty());
}

#[tokio::test]
async fn abort_ends_the_connection_without_an_answer() {
    let text = "http://:0 {\n\tabort /cut\n\trespond 201\n}\n";
    let config = caddy_config::from_caddyfile("Caddyfile", text, &|_| None);
    let server = Embedded::start(&config.expect("it is good").config, options(), true).await;
    assert_eq!(server.status("/").await, 201);
    let mut client = Wire::connect(server.address).await;
    client.send(get("/cut")).await;
    let (rest, _end) = client.rest_after("an abort").await;
    assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
}

#[tokio::test]
async fn an_upgrade_passes_through_axum() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let server = Embedded::routes(inline(&format!("* -> \"http://{}\"", origin.addr())), options()).await;
    let switch = "Connection: Upgrade\r\nUpgrade: echo\r\n\r\n";
    let mut client = Wire::connect(server.address).await;
    client
        .send(format!("GET / HTTP/1.1\r\nHost: app.test\r\n{switch}"))
        .await;
    let mut upstream = origin.accept().await;
    assert_eq!(upstream.head().await.field("upgrade").as_deref(), Some("echo"));
    upstream
        .send(format!("HTTP/1.1 101 Switching Protocols\r\n{switch}"))
        .await;
    assert_eq!(client.head().await.status(), 101);
    client.send("up").await;
    assert_eq!(upstream.exactly(2).await, b"up");
    upstream.send("down").await;
    assert_eq!(client.exactly(4).await, b"down");
}
