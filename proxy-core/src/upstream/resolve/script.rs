//! Name servers without sockets, for tests on a paused clock.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::answer::{Lookup, LookupError, Records, Service, Services};
use super::dns::{Dns, LookupFuture, ServicesFuture};
use super::{ResolveSettings, ResolverSet};

/// What the name servers say; each answer is good for a second. What is not set does not exist.
#[derive(Debug, Default)]
pub(crate) struct Zone {
    names: Mutex<HashMap<String, Says>>,
    running: Mutex<Running>,
}

/// What they say of one name.
#[derive(Clone, Debug)]
pub(crate) enum Says {
    Addresses(&'static [&'static str]),
    /// Services as `priority target port`.
    Services(&'static [&'static str]),
    Fails,
    Hangs,
    Takes(Duration, &'static str),
}

/// Look-ups so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) asked: Vec<String>,
    pub(crate) now: usize,
    pub(crate) most: usize,
}

struct Asking(Arc<Zone>);

/// One look-up, until it ends or is given up.
struct LookUp<'z>(&'z Zone);

// === impl Zone ===

impl Zone {
    pub(crate) fn set(&self, name: &str, says: Says) {
        self.names.lock().unwrap().insert(name.to_owned(), says);
    }

    pub(crate) fn unset(&self, name: &str) {
        self.names.lock().unwrap().remove(name);
    }

    pub(crate) fn running(&self) -> Running {
        self.running.lock().unwrap().clone()
    }

    /// How often `name` was asked for.
    pub(crate) fn asked(&self, name: &str) -> usize {
        let asked = self.running().asked;
        asked.iter().filter(|asked| *asked == name).count()
    }

    fn says(&self, name: &str) -> Option<Says> {
        self.names.lock().unwrap().get(name).cloned()
    }

    fn begin(&self, name: &str) -> LookUp<'_> {
        let mut running = self.running.lock().unwrap();
        running.asked.push(name.to_owned());
        running.now += 1;
        running.most = running.most.max(running.now);
        LookUp(self)
    }
}

impl Drop for LookUp<'_> {
    fn drop(&mut self) {
        self.0.running.lock().unwrap().now -= 1;
    }
}

impl ResolverSet {
    /// A set that asks `zone`.
    pub(crate) fn of_zone(zone: &Arc<Zone>) -> Arc<Self> {
        let zone = Arc::clone(zone);
        Arc::new(Self::with_dns(ResolveSettings::default(), move |_, _| {
            Arc::new(Asking(Arc::clone(&zone)))
        }))
    }
}

impl Dns for Asking {
    fn lookup<'a>(&'a self, host: &'a str) -> LookupFuture<'a> {
        Box::pin(async move {
            let _running = self.0.begin(host);
            match self.0.says(host) {
                None | Some(Says::Services(_)) => Lookup::failed(&LookupError::NoSuchName),
                Some(Says::Addresses(addresses)) => found(addresses),
                Some(Says::Fails) => Lookup::failed(&LookupError::Timeout),
                Some(Says::Hangs) => std::future::pending().await,
                Some(Says::Takes(time, address)) => {
                    tokio::time::sleep(time).await;
                    found(&[address])
                }
            }
        })
    }

    fn services<'a>(&'a self, name: &'a str) -> ServicesFuture<'a> {
        Box::pin(async move {
            let _running = self.0.begin(name);
            match self.0.says(name) {
                Some(Says::Services(services)) => {
                    let mut services: Vec<Service> = services.iter().map(|text| service(text)).collect();
                    services.sort_unstable();
                    let ttl = Duration::from_secs(1);
                    Ok(Services { services, ttl })
                }
                Some(Says::Hangs) => std::future::pending().await,
                Some(Says::Fails) => Err(LookupError::Timeout),
                _ => Err(LookupError::NoSuchName),
            }
        })
    }
}

fn found(addresses: &[&str]) -> Lookup {
    let family = |v4: bool| {
        let all = addresses.iter().map(|address| address.parse().unwrap());
        let addresses: Vec<IpAddr> = all.filter(|ip: &IpAddr| ip.is_ipv4() == v4).collect();
        let ttl = Duration::from_secs(1);
        if addresses.is_empty() {
            Err(LookupError::NoAddresses)
        } else {
            Ok(Records { addresses, ttl })
        }
    };
    Lookup {
        v4: family(true),
        v6: family(false),
    }
}

fn service(text: &str) -> Service {
    let [priority, target, port] = text.split(' ').collect::<Vec<_>>()[..] else {
        panic!("not a service: {text}");
    };
    Service {
        priority: priority.parse().unwrap(),
        target: target.into(),
        port: port.parse().unwrap(),
    }
}
