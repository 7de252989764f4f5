//! Where the running configuration came from, and where it is saved.

use std::path::{Path, PathBuf};

use proxy_core::{AdminOptions, Source};

use super::{load, says, site};
use crate::support::admin::{AdminRig, Ask};
use crate::support::logs;

fn source(file: &str) -> Source {
    Source {
        file: file.to_owned(),
        adapter: "caddyfile".to_owned(),
    }
}

async fn saving_to(path: PathBuf) -> AdminRig {
    let options = AdminOptions {
        autosave: Some(path),
        source: Some(source("/etc/Caddyfile")),
        ..AdminOptions::default()
    };
    AdminRig::with_options(&site("first"), options).await
}

fn saved(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn each_configuration_that_runs_is_saved_with_its_ids() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("doorway/autosave.json");
    let rig = saving_to(path.clone()).await;
    let client = rig.client().await;
    let shown = || async { client.get("/config/").await.trim_end().to_owned() };
    assert_eq!(saved(&path), shown().await);
    client.done(&load(site("second"))).await;
    assert_eq!(saved(&path), shown().await);
    assert!(saved(&path).contains("second") && saved(&path).contains("\"@id\":\"text\""));
    client.refused(400, &load("{\"nope\":1}")).await;
    assert!(saved(&path).contains("second"));
    client.done(&Ask::new("DELETE", "/config/apps")).await;
    assert_eq!(saved(&path), "{\"admin\":{\"listen\":\"127.0.0.1:0\"}}");
}

#[tokio::test]
async fn a_configuration_that_cannot_be_saved_runs_and_that_is_a_warning() {
    logs::capture();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no-directory");
    std::fs::write(&file, "").unwrap();
    let path = file.join("autosave.json");
    let rig = saving_to(path.clone()).await;
    rig.client().await.done(&load(site("second"))).await;
    assert_eq!(says(&rig).await, "second");
    let line = logs::until_line_with(&["cannot save the configuration", &path.display().to_string()]).await;
    assert!(line.contains("\"WARN\""), "{line}");
}

#[tokio::test]
async fn a_configuration_may_forbid_to_be_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("autosave.json");
    let rig = saving_to(path.clone()).await;
    let client = rig.client().await;
    client
        .done(&Ask::new("PUT", "/config/admin/config/persist").json("false"))
        .await;
    client
        .done(&Ask::new("PATCH", "/id/text/handle/0/body").json("\"second\""))
        .await;
    assert!(saved(&path).contains("first"), "what was saved before stays");
    assert_eq!(says(&rig).await, "second");
}

#[tokio::test]
async fn what_runs_is_a_files_until_a_request_changes_it() {
    let folder = tempfile::tempdir().unwrap();
    let rig = saving_to(folder.path().join("autosave.json")).await;
    let (client, file) = (rig.client().await, source("/etc/Caddyfile"));
    let of = |ask: Ask, source: &Source| {
        ask.field("Caddy-Config-Source-File", &source.file)
            .field("Caddy-Config-Source-Adapter", &source.adapter)
    };
    assert!(rig.admin.is_from(&file));
    client.done(&of(load(site("second")), &file)).await;
    assert!(rig.admin.is_from(&file), "a reload of the same file");
    client.done(&of(load(site("third")), &source("/etc/other"))).await;
    assert!(!rig.admin.is_from(&file));
    rig.admin.load(site("fourth"), file.clone(), false).await.unwrap();
    assert!(rig.admin.is_from(&file));
    client.refused(400, &load("{")).await;
    assert!(rig.admin.is_from(&file), "nothing was changed");
    client
        .done(&Ask::new("PATCH", "/id/text/handle/0/body").json("\"fifth\""))
        .await;
    assert!(!rig.admin.is_from(&file));
}

#[tokio::test]
async fn a_load_may_be_meant_for_the_proxy_of_one_file_only() {
    let folder = tempfile::tempdir().unwrap();
    let rig = saving_to(folder.path().join("autosave.json")).await;
    let client = rig.client().await;
    let meant = |file: &str| load(site("second")).field("Doorway-If-Source", file);
    let error = client.refused(412, &meant("/etc/other")).await;
    assert!(error.contains("did not come from /etc/other"), "{error}");
    assert_eq!(says(&rig).await, "first");
    client.done(&meant("/etc/Caddyfile")).await;
    assert_eq!(says(&rig).await, "second");
    client.refused(412, &meant("/etc/Caddyfile")).await;
}
