//! The demo's configuration and what it says about ports.

use caddy_config::from_caddyfile;

use super::*;

#[test]
fn the_caddyfile_is_accepted_and_holds_no_secret() {
    let secret = doors_token::generate_secret().unwrap();
    let text = caddyfile(8080, SocketAddr::from((Ipv4Addr::LOCALHOST, 5353)));
    let variable = |name: &str| (name == SECRET_VARIABLE).then(|| secret.clone());
    let parsed = from_caddyfile(CADDYFILE_NAME, &text, &variable).unwrap();
    assert_eq!(parsed.warnings.len(), 0, "{:?}", parsed.warnings);
    assert!(parsed.config.to_json().contains(&secret));
    assert!(!text.contains(&secret));
}

#[tokio::test]
async fn a_port_that_is_taken_is_reported_with_a_way_out() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let message = format!("{:#}", Demo::start(port).await.unwrap_err());
    assert!(
        message.contains(&format!("127.0.0.1:{port} is in use")),
        "{message}"
    );
    assert!(message.contains("doorway demo --port"), "{message}");
}

#[tokio::test]
async fn a_port_that_is_taken_on_a_pods_address_is_reported_too() {
    let taken = TcpListener::bind((SECOND_POD, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let message = format!("{:#}", Demo::start(port).await.unwrap_err());
    assert!(
        message.contains(&format!("127.0.0.3:{port} is in use")),
        "{message}"
    );
}

#[tokio::test]
async fn any_free_port_will_do_when_none_is_asked_for() {
    let demo = Demo::start(0).await.unwrap();
    assert_ne!(demo.address().port(), 0);
    assert!(
        demo.caddyfile()
            .contains(&format!("upstream_port {}", demo.address().port()))
    );
}

#[test]
fn a_machine_without_the_addresses_is_told_how_to_get_them() {
    let error = InUse::new(FIRST_POD, 8080, io::ErrorKind::AddrNotAvailable.into());
    let message = format!("{:#}", anyhow::Error::from(error));
    assert!(message.contains("no address 127.0.0.2"), "{message}");
    assert!(message.contains("127.0.0.2 to 127.0.0.9"), "{message}");
    assert!(
        message.contains("sudo ifconfig lo0 alias 127.0.0.2 up"),
        "{message}"
    );
}
