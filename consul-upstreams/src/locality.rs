//! Which of the instances are used: those nearby, if there are enough of them. Pure.

use std::fmt;

use crate::catalog::Instance;

/// Prefers instances on nodes whose metadata has a certain value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locality {
    /// The field of the nodes' metadata, such as `availability-zone-id`.
    pub node_meta: String,
    /// The value that makes a node local, compared byte by byte.
    pub local_value: String,
    /// With fewer local instances than this, all instances are used. 0 stands for 2.
    pub minimum: u32,
}

/// Which instances are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Those on local nodes.
    Local,
    /// All that pass.
    All,
}

/// What the cache keeps of a service: never changed, only replaced.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    tier: Tier,
    chosen: Box<[Instance]>,
    passed_over: Box<[Instance]>,
}

// === impl Locality ===

impl Locality {
    /// The default of `minimum`.
    pub const MINIMUM: u32 = 2;

    /// Whether a node is local whose metadata has `value` in the field.
    pub(crate) fn is_local(&self, value: Option<&str>) -> bool {
        value == Some(self.local_value.as_str())
    }

    fn minimum(&self) -> usize {
        match self.minimum {
            0 => Self::MINIMUM as usize,
            minimum => usize::try_from(minimum).unwrap_or(usize::MAX),
        }
    }
}

// === impl Tier ===

impl Tier {
    /// `local` or `all`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::All => "all",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Answer ===

impl Answer {
    /// Chooses among `instances`, which keep their order.
    pub fn select(instances: Vec<Instance>, locality: Option<&Locality>) -> Self {
        let count = instances.iter().filter(|instance| instance.is_local()).count();
        if locality.is_some_and(|locality| count >= locality.minimum()) {
            let (chosen, passed_over): (Vec<_>, Vec<_>) = instances.into_iter().partition(Instance::is_local);
            return Self {
                tier: Tier::Local,
                chosen: chosen.into(),
                passed_over: passed_over.into(),
            };
        }
        Self {
            tier: Tier::All,
            chosen: instances.into(),
            passed_over: Box::default(),
        }
    }

    /// Which instances are used.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// The instances to use: each host and port once, sorted, addresses before names. As long as the instances stay the
    /// same, so does their order, whatever order Consul gives them in.
    pub fn instances(&self) -> &[Instance] {
        &self.chosen
    }

    /// Those that pass and are not local, while enough are.
    pub fn passed_over(&self) -> &[Instance] {
        &self.passed_over
    }

    /// Whether no instance passes.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instances(zones: &str) -> Vec<Instance> {
        let locality = locality(0);
        let instance = |(at, zone): (usize, char)| {
            let port = u16::try_from(at + 1).unwrap();
            let zone = zone.to_string();
            Instance::new("192.0.2.1", port).with_zone(Some(&zone), Some(&locality))
        };
        zones.chars().enumerate().map(instance).collect()
    }

    fn locality(minimum: u32) -> Locality {
        Locality {
            node_meta: "zone".to_owned(),
            local_value: "a".to_owned(),
            minimum,
        }
    }

    #[test]
    fn local_instances_are_used_alone_if_there_are_enough() {
        for (zones, minimum, tier, used) in [
            ("aabc", 0, Tier::Local, 2),
            ("abc", 0, Tier::All, 3),
            ("abc", 1, Tier::Local, 1),
            ("bc", 1, Tier::All, 2),
            ("AAb", 1, Tier::All, 3),
            ("aaaa", 5, Tier::All, 4),
            ("aaaa", 4, Tier::Local, 4),
            ("aaaa", u32::MAX, Tier::All, 4),
            ("", 1, Tier::All, 0),
        ] {
            let answer = Answer::select(instances(zones), Some(&locality(minimum)));
            assert_eq!(
                (answer.tier(), answer.instances().len()),
                (tier, used),
                "{zones} {minimum}"
            );
            assert_eq!(answer.passed_over().len(), zones.len() - used);
        }
    }

    #[test]
    fn without_locality_all_are_used() {
        let answer = Answer::select(instances("aabc"), None);
        assert_eq!((answer.tier(), answer.instances().len()), (Tier::All, 4));
        assert_eq!(answer.tier().to_string(), "all");
    }
}
