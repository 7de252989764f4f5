//! The forms of lines, filters, and files that change with the configuration.

use tempfile::TempDir;

use crate::support::rig::{HOST, Rig};
use crate::support::wait::eventually;

/// A folder for log files.
struct Folder(TempDir);

// === impl Folder ===

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap_or_default()
    }

    async fn until_lines(&self, name: &str, count: usize) -> Vec<String> {
        eventually("lines in the log", async || {
            let text = self.text(name);
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            (lines.len() >= count && text.ends_with('\n')).then_some(lines)
        })
        .await
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[tokio::test]
async fn a_filter_changes_what_is_written_and_nothing_else() {
    let folder = Folder::new();
    let rig = Rig::site(&format!(
        "\tlog {{
		output file {}
		format filter {{
			wrap json
			fields {{
				request>remote_ip ip_mask 8 32
				request>headers>User-Agent delete
				request>headers>X-Name hash
				request>uri query {{
					replace tok X
				}}
				resp_headers delete
				status rename code
			}}
		}}
	}}
	respond hi",
        folder.path("a.log")
    ));
    let mut wire = rig.wire().await;
    wire.ask(format!(
        "GET /p?tok=secret&a=1 HTTP/1.1\r\nHost: {HOST}\r\nUser-Agent: u\r\nX-Name: secret\r\n\r\n"
    ))
    .await;
    let line = folder.until_lines("a.log", 1).await.remove(0);
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["request"]["remote_ip"], "127.0.0.0");
    assert_eq!(line["request"]["uri"], "/p?tok=X&a=1");
    assert_eq!(
        line["request"]["headers"].to_string(),
        r#"{"X-Name":["2bb80d53"]}"#
    );
    assert_eq!(
        (line["code"].as_u64(), line.get("resp_headers")),
        (Some(200), None)
    );
}

#[tokio::test]
async fn a_log_for_people_has_columns() {
    let folder = Folder::new();
    let rig = Rig::site(&format!(
        "\tlog {{
		output file {}
		format console {{
			level_format upper
			time_format \"2006\"
		}}
	}}
	respond hi",
        folder.path("a.log")
    ));
    rig.get("/").await;
    let line = folder.until_lines("a.log", 1).await.remove(0);
    let columns: Vec<&str> = line.split('\t').collect();
    assert_eq!(columns.len(), 5, "{line}");
    assert!(columns[0].parse::<u16>().is_ok_and(|year| year > 2000), "{line}");
    assert_eq!(columns[1..4], ["INFO", "http.log.access.log0", "handled request"]);
    assert!(
        columns[4].starts_with("{\"request\": {\"remote_ip\": \"127.0.0.1\""),
        "{line}"
    );
}

#[tokio::test]
async fn only_some_of_many_lines_are_kept() {
    let folder = Folder::new();
    let rig = Rig::site(&format!(
        "\tlog {{
		output file {}
		sampling {{
			interval 1h
			first 2
			thereafter 5
		}}
	}}
	respond hi",
        folder.path("a.log")
    ));
    for number in 1..=12 {
        rig.get(&format!("/{number}")).await;
    }
    let lines = folder.until_lines("a.log", 4).await;
    let kept: Vec<&str> = lines
        .iter()
        .map(|line| {
            line.split("\"uri\":\"/")
                .nth(1)
                .and_then(|rest| rest.split('"').next())
                .unwrap()
        })
        .collect();
    // The hour may have changed between two of them.
    assert!(kept == ["1", "2", "7", "12"] || kept.len() > 4, "{kept:?}");
}

#[tokio::test]
async fn a_host_that_is_not_logged_is_not_whatever_port_its_site_has() {
    let folder = Folder::new();
    let rig = Rig::caddyfile(&format!(
        "{{\n\tadmin off\n}}
http://a.test:0 {{
	bind 127.0.0.1
	log {{
		output file {}
	}}
	respond a
}}
http://b.test:0 {{
	bind 127.0.0.1
	respond b
}}
",
        folder.path("a.log")
    ));
    for host in ["a.test", "b.test:8080", "b.test", "a.test:8080"] {
        let mut wire = rig.wire().await;
        let answer = wire
            .ask(format!("GET /{host} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
            .await;
        assert_eq!(answer.head.status(), 200);
    }
    let lines = folder.until_lines("a.log", 2).await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines.iter().all(|line| line.contains("\"host\":\"a.test")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_log_file_goes_on_with_other_settings_after_a_load_and_loses_no_line() {
    let folder = Folder::new();
    let config = |settings: &str| {
        format!(
            "{{\n\tadmin off\n}}
http://{HOST}:0 {{
	bind 127.0.0.1
	log {{
		output file {} {{
			{settings}
		}}
	}}
	respond hi
}}
",
            folder.path("a.log")
        )
    };
    let rig = Rig::caddyfile(&config("mode 0600"));
    rig.get("/1").await;
    folder.until_lines("a.log", 1).await;
    rig.load(&config("mode 0999")).await.unwrap_err();
    rig.reload(&config("mode 0644")).await;
    rig.get("/2").await;
    let lines = folder.until_lines("a.log", 2).await;

    assert!(
        lines[0].contains("\"/1\"") && lines[1].contains("\"/2\""),
        "{lines:?}"
    );
    let there = std::fs::metadata(folder.path("a.log")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&there.permissions());
    assert_eq!(mode & 0o777, 0o644);
    assert_eq!(folder.names(), ["a.log"]);
}

#[tokio::test]
async fn requests_are_answered_while_their_log_cannot_be_written() {
    let folder = Folder::new();
    let rig = Rig::site(&format!(
        "\tlog {{\n\t\toutput file {}\n\t}}\n\trespond hi",
        folder.path("deep/a.log")
    ));
    rig.get("/1").await;
    folder.until_lines("deep/a.log", 1).await;
    // Somebody moves the directory and puts a file in its place.
    std::fs::rename(folder.path("deep"), folder.path("moved")).unwrap();
    std::fs::write(folder.path("deep"), "").unwrap();
    for _ in 0..3 {
        assert_eq!(rig.get("/2").await.head.status(), 200);
    }
    std::fs::remove_file(folder.path("deep")).unwrap();
    // The path is looked at once a second at least.
    let lines = eventually("a line in the new file", async || {
        assert_eq!(rig.get("/3").await.head.status(), 200);
        let text = folder.text("deep/a.log");
        text.ends_with('\n').then_some(text)
    })
    .await;
    assert!(lines.contains("\"/3\""), "{lines}");
}
