//! Follows two sessions through a rolling deployment: `cargo run -p doors-routing --example rollout`.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::error::Error;

use doors_routing::{Decision, Router, UpstreamBlock};
use doors_token::TokenCipher;

fn main() -> Result<(), Box<dyn Error>> {
    let cipher = TokenCipher::new(&doors_token::generate_secret()?)?;
    let server = |cidr: &str, host: &str| -> Result<UpstreamBlock, Box<dyn Error>> {
        Ok(UpstreamBlock {
            pod_cidr: cidr.parse()?,
            host: host.to_owned(),
            port: 8080,
        })
    };
    let servers = vec![
        server("10.0.0.0/24", "svc-1.local")?,
        server("10.0.1.0/24", "svc-2.local")?,
    ];
    let router = Router::try_new(cipher.clone(), Some("upstream".to_owned()), servers)?;

    println!("Two servers; the pod 10.0.0.1 of the first renders a page, and gives it its token.");
    let old = cipher.encode("10.0.0.1".parse()?);
    let cookie = format!("upstream={old}");
    show(&router, "a first visit", "/", "");
    show(
        &router,
        "a click in the page",
        &format!("/~/{old}/h/3kT9/1"),
        &cookie,
    );
    show(&router, "another page of this session", "/docs", &cookie);

    println!("The pod drains. svc-1.local now leads to 10.0.0.2; the router's configuration is the same.");
    show(
        &router,
        "a click in the old page",
        &format!("/~/{old}/h/3kT9/2"),
        &cookie,
    );
    show(&router, "the page loads anew", "/docs", &cookie);
    let new = cipher.encode("10.0.0.2".parse()?);
    show(
        &router,
        "a click in the new page",
        &format!("/~/{new}/h/9bXq/1"),
        &format!("upstream={new}"),
    );

    println!("And what nobody can answer:");
    show(
        &router,
        "a token of an old secret",
        "/~/AAECAwQFBgcICQoL9z_EGKg8JBx8GYQRC2Ox2rVzL_k/s/1",
        &cookie,
    );
    show(
        &router,
        "a token for another network",
        &format!("/~/{}/s/1", cipher.encode("127.0.0.1".parse()?)),
        "",
    );
    Ok(())
}

fn show(router: &Router, what: &str, path: &str, cookie: &str) {
    let decision = router.decide(path, [cookie.as_bytes()]);
    let host = |server: usize| router.servers().get(server).map_or("?", |server| server.host());
    let target = match decision {
        Decision::Pod { addr, server } => format!("the pod {addr} of {}", host(server)),
        Decision::Server(server) => format!("{}, its fresh deployment", host(server)),
        Decision::Any => "any server".to_owned(),
        Decision::Gone(why) => format!("410 Gone: {why}"),
    };
    println!("  {what:<30} -> {target}");
}
