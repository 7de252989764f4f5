//! The variables of HashiCorp's clients.

use consul_upstreams::Settings;

use crate::fake::{Consul, Instance};
use crate::support::{Source, settings};

#[tokio::test]
async fn the_token_and_the_address_of_the_environment_are_used() {
    let consul = Consul::start().await;
    consul.set("api", [Instance::at("192.0.2.1", 80)]);
    consul.only("from-the-environment");
    let address = consul.address.strip_prefix("http://").unwrap().to_owned();
    let mut from_environment = Settings::default();
    from_environment
        .fill_in(&|name| match name {
            "CONSUL_HTTP_ADDR" => Some(address.clone()),
            "CONSUL_HTTP_TOKEN" => Some("from-the-environment".to_owned()),
            _ => None,
        })
        .unwrap();
    let source = Source::new(&from_environment);
    assert_eq!(source.addresses("api").await.unwrap(), ["192.0.2.1:80"]);
}

#[tokio::test]
async fn the_address_s_scheme_goes_before_the_environment_s() {
    let consul = Consul::start().await;
    let mut own = settings(format!("{}/prefix", consul.address));
    own.fill_in(&|name| (name == "CONSUL_HTTP_SSL").then(|| "true".to_owned()))
        .unwrap();
    assert!(Source::new(&own).addresses("api").await.unwrap().is_empty());
    assert_eq!(consul.targets(), ["/prefix/v1/health/service/api?passing=1"]);
}
