//! Events that tell the owners of Ingresses what they have lost to older ones.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};
use tokio::time::timeout;
use tracing::debug;

use crate::kubernetes::cluster::{Cluster, Key};

/// What an owner is told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Warning {
    ingress: Key,
    about: ObjectReference,
    note: String,
}

/// Tells each owner once, as long as what there is to tell is the same.
pub(super) struct Warner {
    client: Client,
    reporter: Reporter,
    told: BTreeMap<Key, String>,
}

/// The longest note that the API takes, in bytes, with something left over.
const LONGEST: usize = 1000;

/// How long one Event may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// One warning for each Ingress that has lost something.
pub(super) fn warnings(cluster: &Cluster, lost: &BTreeMap<Key, Vec<String>>) -> Vec<Warning> {
    let warning = |(key, notes): (&Key, &Vec<String>)| {
        let ingress = cluster.ingresses.get(key)?;
        let mut note = notes.join("; ");
        note.truncate(note.floor_char_boundary(LONGEST));
        Some(Warning {
            ingress: key.clone(),
            about: ingress.object_ref(&()),
            note,
        })
    };
    lost.iter().filter_map(warning).collect()
}

// === impl Warner ===

impl Warner {
    pub(super) fn new(client: Client, controller: &str, identity: &str) -> Self {
        Self {
            client,
            reporter: Reporter {
                controller: controller.to_owned(),
                instance: Some(identity.to_owned()),
            },
            told: BTreeMap::new(),
        }
    }

    /// Whether there is something that was not told yet.
    pub(super) fn has_news(&self, warnings: &[Warning]) -> bool {
        warnings.iter().any(|warning| self.is_new(warning))
    }

    /// Tells what is new. What cannot be told is in the report of the snapshot all the same, so it is tried only once.
    pub(super) async fn tell(&mut self, warnings: &[Warning]) {
        self.told
            .retain(|key, _| warnings.iter().any(|warning| warning.ingress == *key));
        for warning in warnings {
            if !self.is_new(warning) {
                continue;
            }
            let event = Event {
                type_: EventType::Warning,
                reason: "PathTaken".to_owned(),
                note: Some(warning.note.clone()),
                action: "Translate".to_owned(),
                secondary: None,
            };
            // A recorder takes another note for a repetition of the first, so each Event has its own.
            let recorder = Recorder::new(self.client.clone(), self.reporter.clone());
            let published = timeout(PATIENCE, recorder.publish(&event, &warning.about)).await;
            if let Ok(Err(error)) = published {
                debug!(%error, ingress = %warning.ingress, "an Event was not written");
            }
            self.told.insert(warning.ingress.clone(), warning.note.clone());
        }
    }

    fn is_new(&self, warning: &Warning) -> bool {
        self.told.get(&warning.ingress) != Some(&warning.note)
    }
}
