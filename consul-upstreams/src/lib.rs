//! The passing instances of a Consul service, cached and kept fresh, with locality.
//!
//! ```no_run
//! use consul_upstreams::{ConsulUpstreams, Locality, Settings};
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = Settings {
//!     address: Some("http://127.0.0.1:8500".to_owned()),
//!     locality: Some(Locality {
//!         node_meta: "availability-zone-id".to_owned(),
//!         local_value: "a".to_owned(),
//!         minimum: 2,
//!     }),
//!     ..Settings::default()
//! };
//! let (consul, driver) = ConsulUpstreams::try_new(&settings, 1)?;
//! let stop = CancellationToken::new();
//! tokio::spawn(driver.run(stop.clone())); // asks Consul; nothing else does
//!
//! let answer = consul.instances("api").await?;
//! for instance in answer.instances() {
//!     println!("{instance} ({})", answer.tier());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What it chooses, and how an answer is read, need no Consul:
//!
//! ```
//! use consul_upstreams::{Answer, Locality, Tier, catalog};
//!
//! let locality = Locality { node_meta: "zone".to_owned(), local_value: "a".to_owned(), minimum: 1 };
//! let body = br#"[
//!     {"Node": {"Address": "10.0.0.2", "Meta": {"zone": "b"}}, "Service": {"Address": "", "Port": 8080}},
//!     {"Node": {"Address": "10.0.0.1", "Meta": {"zone": "a"}}, "Service": {"Address": "", "Port": 8080}}
//! ]"#;
//! let health = catalog::read(body, Some(&locality))?;
//! let answer = Answer::select(health.instances, Some(&locality));
//! assert_eq!(answer.tier(), Tier::Local);
//! assert_eq!(answer.instances()[0].to_string(), "10.0.0.1:8080");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
#![doc = include_str!("../README.md")]

mod cache;
pub mod catalog;
mod client;
mod error;
mod flight;
mod locality;
mod name;
mod pace;
mod secret;
mod settings;
mod upstreams;
mod watch;

pub use catalog::{Instance, SkipReason, Skipped};
pub use error::LookupError;
pub use locality::{Answer, Locality, Tier};
pub use name::{NameError, ServiceName};
pub use secret::Secret;
pub use settings::{SettingError, Settings, SettingsError, Tls};
pub use upstreams::{ConsulUpstreams, Driver, Explanation, Look, Pending};
