//! The admin API over real sockets.

mod agent;
mod edits;
mod hosts;
mod judge;
mod limits;
mod moves;
mod reports;
mod saving;

use crate::support::admin::{AdminRig, Ask, Client};

/// A site that says `text`, administered at `admin`.
fn saying(admin: &str, text: &str) -> String {
    format!(
        r#"{{"admin":{{"listen":"{admin}"}},"apps":{{"http":{{"servers":{{"s":{{"listen":["127.0.0.1:0"],
        "routes":[{{"@id":"text","handle":[{{"handler":"static_response","body":"{text}"}}]}}]}}}}}}}}}}"#
    )
}

/// The same with an admin API at any port of the loopback interface.
fn site(text: &str) -> String {
    saying("127.0.0.1:0", text)
}

/// What the site of a proxy says.
async fn says(rig: &AdminRig) -> String {
    let client = Client { address: rig.site() };
    client.get("/").await
}

fn load(document: impl Into<Vec<u8>>) -> Ask {
    Ask::new("POST", "/load").json(document)
}
