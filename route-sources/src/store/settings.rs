//! How a store is followed.

use std::path::PathBuf;
use std::time::Duration;

use route_store::Epoch;

/// How a store is followed, and what a replica says of itself.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The time between two looks at the revision: 10 seconds. A replica that said nothing for three of them is forgotten.
    pub sync_interval: Duration,
    /// The time after which everything is read again, whatever the revision says: 10 minutes. It finds what was written past
    /// the store's own ways.
    pub resync_interval: Duration,
    /// How long the first answer is waited for before routes of the last run are taken: 3 seconds.
    pub start_timeout: Duration,
    /// How long one operation of the store may take: 10 seconds.
    pub timeout: Duration,
    /// Where routes are kept for a start while the store is away. `None`, the default: nowhere.
    pub snapshot_path: Option<PathBuf>,
    /// How long changes are waited for before that file is written: 1 second.
    pub snapshot_delay: Duration,
    /// Tells the store from others, such as its kind and a hash of its address: a file of another store is not used. It must hold no
    /// password. Empty by default.
    pub identity: String,
    /// What happens with documents that a newer program wrote.
    pub newer: Newer,
    /// What happens when the store has lost what it held.
    pub data_loss: DataLoss,
    /// Tells this replica from all others; see [`replica_id`].
    pub id: String,
    /// The version of the program.
    pub version: String,
    /// The name of the machine.
    pub hostname: String,
    /// The time, in seconds since 1970: 0 by default, and then nobody is told since when something is so.
    pub now: fn() -> u64,
}

/// What happens with documents that a newer program wrote. No other source serves their hosts in any case.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Newer {
    /// The last document of the host that could be read is served on; if there is none, requests get 503.
    #[default]
    Keep,
    /// Requests get 503.
    Unavailable,
}

/// What happens when a store has lost what it held: it is another one by its epoch, or its revision has gone back.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum DataLoss {
    /// Routes that the store does not know any more are served on, until somebody accepts the loss.
    #[default]
    Keep,
    /// They are, and are written into the store again.
    Restore,
    /// What the store has counts, and be it nothing.
    Accept,
}

/// A name for a replica: that of its machine, and 8 random hexadecimal digits.
///
/// # Errors
///
/// If the system gives no random numbers.
pub fn replica_id(hostname: &str) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let random = Epoch::random()?.to_string();
    Ok(format!("{hostname}-{}", random.get(..8).unwrap_or_default()))
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            sync_interval: Duration::from_secs(10),
            resync_interval: Duration::from_secs(600),
            start_timeout: Duration::from_secs(3),
            timeout: Duration::from_secs(10),
            snapshot_path: None,
            snapshot_delay: Duration::from_secs(1),
            identity: String::new(),
            newer: Newer::default(),
            data_loss: DataLoss::default(),
            id: String::new(),
            version: String::new(),
            hostname: String::new(),
            now: || 0,
        }
    }
}
