//! `doorway run` while its configuration changes: by a signal, by its files, by systemd's rules.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use crate::run::{start, start_by};
use crate::support::{Client, Directory, PATIENCE, Running, doorway, finish, free_port};

const WATCH: [&str; 4] = ["run", "--workers", "1", "--watch"];

/// A Caddyfile of one site that says `text`.
fn saying(port: u16, text: &str) -> String {
    format!("{{\n\tadmin off\n}}\nhttp://127.0.0.1:{port} {{\n\tbind 127.0.0.1\n\trespond {text}\n}}\n")
}

/// A proxy that watches the file at `path`, ready to serve.
fn watching(directory: &Path, path: &str) -> Running {
    let arguments = [&WATCH[..], &["--config", path]].concat();
    let running = Running::start(&mut doorway(directory, &arguments));
    running.stderr_line("listening");
    running
}

#[test]
fn sigusr1_reads_the_file_again() {
    let (running, client, directory) = start("", "\trespond one");
    assert_eq!(client.get("/").body, "one");
    directory.write("Caddyfile", &saying(client.port, "two"));
    running.signal("USR1");
    running.stderr_line("the configuration is loaded");
    assert_eq!(client.get("/").body, "two");

    directory.write("Caddyfile", "nonsense {\n\tnonsense\n}\n");
    running.signal("USR1");
    running.stderr_line("the configuration is refused");
    assert_eq!(client.get("/").body, "two");

    // Also if nothing changed: certificates may have.
    directory.write("Caddyfile", &saying(client.port, "two"));
    running.signal("USR1");
    running.stderr_line("the configuration is loaded");
    running.signal("TERM");
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_watched_file_and_what_it_imports_are_loaded_when_their_content_changes() {
    let port = free_port();
    let client = Client::new(port);
    let text =
        format!("{{\n\tadmin off\n}}\nhttp://127.0.0.1:{port} {{\n\tbind 127.0.0.1\n\timport parts/*\n}}\n");
    let directory = Directory::with("Caddyfile", &text);
    fs::create_dir(directory.path().join("parts")).unwrap();
    directory.write("parts/answer", "respond one\n");
    let running = watching(directory.path(), "Caddyfile");
    assert_eq!(client.get("/").body, "one");

    directory.write("parts/answer", "respond two\n");
    running.stderr_line("the configuration is loaded");
    assert_eq!(client.get("/").body, "two");

    directory.write("parts/field", "header X-More yes\n");
    running.stderr_line("the configuration is loaded");
    assert!(client.get("/").head.to_ascii_lowercase().contains("x-more: yes"));

    // A bad save is said once, and the next good one is taken.
    directory.write("parts/answer", "respnd three\n");
    running.stderr_line("the configuration is refused");
    assert_eq!(client.get("/").body, "two");
    directory.write("parts/answer", "respond three\n");
    running.stderr_line("the configuration is loaded");
    assert_eq!(client.get("/").body, "three");
}

#[test]
fn a_file_that_is_mounted_as_kubernetes_does_is_followed() {
    let port = free_port();
    let client = Client::new(port);
    let directory = Directory::new();
    let lead_to = |name: &str, text: &str| {
        fs::create_dir(directory.path().join(name)).unwrap();
        directory.write(&format!("{name}/Caddyfile"), text);
        let next = directory.path().join("..data_tmp");
        symlink(name, &next).unwrap();
        fs::rename(next, directory.path().join("..data")).unwrap();
    };
    lead_to("..1", &saying(port, "one"));
    symlink("..data/Caddyfile", directory.path().join("Caddyfile")).unwrap();
    let running = watching(directory.path(), "Caddyfile");
    assert_eq!(client.get("/").body, "one");
    lead_to("..2", &saying(port, "two"));
    running.stderr_line("the configuration is loaded");
    assert_eq!(client.get("/").body, "two");
}

#[test]
fn the_log_of_the_process_follows_the_configuration() {
    let (running, client, directory) = start("", "\trespond one");
    let log = directory.path().join("process.log");
    let logged = |file: &str| {
        saying(client.port, "two").replace(
            "admin off",
            &format!("admin off\n\tlog {{\n\t\toutput file {file}\n\t}}"),
        )
    };
    directory.write("Caddyfile", &logged("/proc/no/such.log"));
    running.signal("USR1");
    running.stderr_line("the configuration is refused");
    assert_eq!(client.get("/").body, "one");

    directory.write("Caddyfile", &logged(&log.display().to_string()));
    running.signal("USR1");
    let loaded = (0..100_000).any(|_| client.get("/").body == "two");
    assert!(loaded, "the configuration is not loaded");
    running.signal("TERM");
    assert_eq!(running.end().0, Some(0));
    let lines = fs::read_to_string(log).unwrap();
    assert!(
        lines.contains("the configuration is loaded") && lines.contains("nothing was left"),
        "{lines}"
    );
}

#[test]
fn what_cannot_be_read_again_cannot_be_watched() {
    let directory = Directory::new();
    let mut command = doorway(
        directory.path(),
        &["run", "--watch", "--config", "-", "--adapter", "caddyfile"],
    );
    let failed = crate::support::finish_with_input(&mut command, ":0 {\n}\n");
    assert_eq!(failed.code, Some(2));
    assert!(
        failed.stderr.contains("--watch needs a file"),
        "{}",
        failed.stderr
    );
}

#[test]
fn systemd_is_told() {
    let directory = Directory::new();
    let path = directory.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let heard = || {
        let mut buffer = [0; 1024];
        let length = manager.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    let by = |directory: &Path| {
        let mut command = doorway(directory, &["run", "--workers", "1"]);
        command.env("NOTIFY_SOCKET", &path);
        command
    };
    let (running, client, files) = start_by(by, "", "\trespond one");
    assert!(heard().starts_with("READY=1\n"));
    files.write("Caddyfile", &saying(client.port, "two"));
    running.signal("USR1");
    assert!(heard().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert!(heard().starts_with("READY=1\n"));
    files.write("Caddyfile", "nonsense {\n\tnonsense\n}\n");
    running.signal("USR1");
    assert!(heard().starts_with("RELOADING=1\n"));
    assert!(heard().contains("refused"));
    running.signal("TERM");
    assert!(heard().starts_with("STOPPING=1\n"));
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn nothing_at_all_can_be_configured_but_nobody_could_change_it() {
    let directory = Directory::with("Caddyfile", "{\n\tadmin off\n}\n");
    let failed = finish(&mut doorway(directory.path(), &["run"]));
    assert_eq!(failed.code, Some(1));
    assert!(
        failed.stderr.contains("the configuration has no site"),
        "{}",
        failed.stderr
    );
}
