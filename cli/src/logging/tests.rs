//! Which lines reach which logger, and what they look like.

use caddy_config::{FileWriter, LineFormat};
use tracing::{debug, error, info, warn};

use std::fs;
use std::path::Path;

use super::*;

/// The lines that the loggers of `logs` write into `file` while `work` runs.
fn lines_of(logs: &[(&str, Log)], file: &Path, work: impl FnOnce()) -> Vec<String> {
    let logs = logs
        .iter()
        .map(|(name, log)| ((*name).to_owned(), log.clone()))
        .collect();
    let logging = Logging {
        logs,
        ..Logging::default()
    };
    let loggers = Loggers::new(Some(&logging), false, &LogFiles::default()).unwrap();
    tracing::subscriber::with_default(Registry::default().with(loggers), work);
    fs::read_to_string(file)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

fn to_file(file: &Path) -> Log {
    Log {
        writer: Some(LogWriter::File(FileWriter {
            filename: file.to_owned(),
            ..FileWriter::default()
        })),
        ..Log::default()
    }
}

/// A directory of this test alone, removed at its end.
struct Directory(std::path::PathBuf);

// === impl Directory ===

impl Directory {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("doorway-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn a_file_gets_json_lines_with_the_field_names_of_caddy() {
    let directory = Directory::new("json");
    let file = directory.0.join("logs/proxy.log");
    let lines = lines_of(&[(DEFAULT, to_file(&file))], &file, || {
        error!(target: "http.log", upstream = "10.0.0.5:80", tries = 3, ok = false, "connect \"failed\"\n");
        debug!("not kept at level info");
    });

    let [line] = lines.as_slice() else {
        panic!("one line: {lines:?}")
    };
    assert!(line.starts_with(r#"{"level":"error","ts":"#), "{line}");
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert!(line["ts"].as_f64().unwrap() > 1.7e9);
    assert_eq!(line["logger"], "http.log");
    assert_eq!(line["msg"], "connect \"failed\"\n");
    assert_eq!(line["upstream"], "10.0.0.5:80");
    assert_eq!(line["tries"], 3);
    assert_eq!(line["ok"], false);
}

#[test]
fn a_line_for_people_cannot_be_forged_by_what_strangers_send() {
    let directory = Directory::new("console");
    let file = directory.0.join("proxy.log");
    let log = Log {
        encoder: Some(LogEncoder::Console(LineFormat::default())),
        ..to_file(&file)
    };
    let lines = lines_of(&[(DEFAULT, log)], &file, || {
        warn!(target: "doorway::test", path = "/a b\n\x1b[31m", plain = "/a", "bad\x1b[2J");
    });

    let [line] = lines.as_slice() else {
        panic!("one line: {lines:?}")
    };
    let (_, text) = line.split_once(' ').unwrap();
    assert_eq!(
        text,
        r#"WARN  doorway.test: bad\u{1b}[2J path="/a b\n\u{1b}[31m" plain=/a"#
    );
}

#[test]
fn a_logger_takes_the_names_it_includes_and_leaves_those_it_excludes() {
    let directory = Directory::new("names");
    let (errors, rest) = (directory.0.join("errors.log"), directory.0.join("rest.log"));
    let name = "http.log.error.log0".to_owned();
    let only_errors = Log {
        include: vec![name.clone()],
        ..to_file(&errors)
    };
    let others = Log {
        exclude: vec![name.clone()],
        ..to_file(&rest)
    };
    let logs = [("log0", only_errors), (DEFAULT, others)];
    let work = || {
        info!(target: "http.log.error", logger = %name, "bad gateway");
        info!(target: "http.log.error", logger = "http.log.error.log01", "another site");
        info!("started");
    };

    assert_eq!(lines_of(&logs, &errors, work).len(), 1);
    let rest = fs::read_to_string(rest).unwrap();
    assert!(
        rest.contains("another site") && rest.contains("started") && !rest.contains("bad gateway"),
        "{rest}"
    );
}

#[test]
fn the_level_of_the_configuration_decides_and_libraries_stay_quiet() {
    let directory = Directory::new("level");
    let file = directory.0.join("debug.log");
    let log = Log {
        level: Some(LogLevel::Debug.into()),
        ..to_file(&file)
    };
    let lines = lines_of(&[(DEFAULT, log)], &file, || {
        debug!("kept");
        debug!(target: "h2::codec", "left out");
        warn!(target: "h2::codec", "kept too");
    });
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn a_discarded_log_has_no_lines_and_a_bad_path_is_an_error_with_its_path() {
    let discard = Log {
        writer: Some(LogWriter::Discard {}),
        ..Log::default()
    };
    let logging = Logging {
        logs: [(DEFAULT.to_owned(), discard)].into(),
        ..Logging::default()
    };
    let loggers = Loggers::new(Some(&logging), false, &LogFiles::default()).unwrap();
    assert_eq!(loggers.most_verbose(), None);

    let bad = Logging {
        logs: [("bad".to_owned(), to_file(Path::new("/dev/null/x.log")))].into(),
        ..Logging::default()
    };
    let message = format!(
        "{:#}",
        Loggers::new(Some(&bad), false, &LogFiles::default()).unwrap_err()
    );
    assert!(
        message.contains("the log bad") && message.contains("/dev/null"),
        "{message}"
    );
}

#[test]
fn log_files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = Directory::new("mode");
    let file = directory.0.join("private/proxy.log");
    lines_of(&[(DEFAULT, to_file(&file))], &file, || ());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o077;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0, 0));
}

#[test]
fn an_access_log_is_left_to_the_proxy() {
    let directory = Directory::new("access");
    let file = directory.0.join("access.log");
    let log = Log {
        include: vec!["http.log.access.log0".to_owned()],
        level: Some(LogLevel::Debug.into()),
        ..to_file(&file)
    };
    let logging = Logging {
        logs: [("log0".to_owned(), log)].into(),
        ..Logging::default()
    };
    let loggers = Loggers::new(Some(&logging), false, &LogFiles::default()).unwrap();
    assert_eq!(
        loggers.most_verbose(),
        Some(Level::INFO),
        "the default logger alone"
    );
    assert!(!file.exists());
}
