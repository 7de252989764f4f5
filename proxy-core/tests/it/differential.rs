//! Doorway beside real Caddy: the same requests to the same configurations get the same answers, and the upstream
//! sees the same.
//!
//! `tests/differential` holds the configurations, the requests, what Caddy answered to each (`NAME.answers`) and the
//! differences that are meant (`on_purpose.txt`), each with its reason. Where a `caddy` of the right version is
//! installed, the recorded answers are compared with its own, so that they stay true; Doorway is compared with the
//! recorded ones everywhere.
//!
//! With the environment variable `DIFFERENTIAL_RECORD` the answers are written instead; `DIFFERENTIAL_ONLY=NAME`
//! looks at one configuration.

pub(crate) mod answers;
pub(crate) mod asking;
mod caddy;
mod explained;
pub(crate) mod on_purpose;
mod origin;
pub(crate) mod requests;

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use caddy_config::{FileError, Surroundings};
use proxy_core::{Environment, Options};

use self::answers::Answers;
use self::asking::ask_all;
use self::caddy::Caddy;
use self::on_purpose::Differences;
use self::requests::Request;
use crate::support::rig::{self, Rig};

/// The variable that the configurations read, for the placeholder.
const VARIABLE: (&str, &str) = ("DIFFERENTIAL", "from outside");

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential")
}

/// The configurations, by name.
fn configurations() -> Vec<String> {
    let only = env::var("DIFFERENTIAL_ONLY").ok();
    let entries = fs::read_dir(directory()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "caddyfile"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| only.as_ref().is_none_or(|only| only == name))
        .collect();
    names.sort();
    assert!(!names.is_empty());
    names
}

fn requests() -> Vec<Request> {
    requests::parse(&fs::read_to_string(directory().join("requests.txt")).unwrap())
}

fn recorded(name: &str) -> Answers {
    let path = directory().join(name).with_extension("answers");
    Answers::parse(&fs::read_to_string(path).unwrap())
}

#[tokio::test]
async fn doorway_answers_as_caddy_did() {
    let requests = requests();
    let text = fs::read_to_string(directory().join("on_purpose.txt")).unwrap();
    let mut differences = Differences::parse(&text);
    let mut faults = Vec::new();
    for name in configurations() {
        let answers = match by_doorway(&name, &requests).await {
            Ok(answers) => answers,
            Err(error) => {
                faults.push(format!("== {name} does not start: {error}"));
                continue;
            }
        };
        faults.extend(differences.between(&name, &recorded(&name), &answers));
    }
    if env::var("DIFFERENTIAL_ONLY").is_err() {
        faults.extend(differences.unused());
    }
    assert!(
        faults.is_empty(),
        "{} differences:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[tokio::test]
async fn what_is_explained_is_what_happens() {
    let requests = requests();
    let (mut faults, mut compared) = (Vec::new(), 0);
    for name in configurations() {
        let origin = origin::start().await;
        let rig = start(&name, origin.addr()).unwrap();
        let answers = ask_all(&requests, rig.addr(), &origin).await;
        let config = rig::adapted(&file(&name), &Surrounded(origin.addr())).unwrap();
        for request in &requests {
            let Some(said) = explained::said(&config, &options(), request).await else {
                continue;
            };
            compared += 1;
            let lines = answers.lines(&request.name);
            if !explained::agrees(&said, lines) {
                faults.push(format!(
                    "== {name} {}: {said:?}, but\n  {}",
                    request.name,
                    lines.join("\n  ")
                ));
            }
        }
        rig.stop().await;
    }
    assert!(
        faults.is_empty(),
        "{} of {compared}:\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(
        compared > 40 * configurations().len(),
        "only {compared} were compared"
    );
}

#[tokio::test]
async fn the_recorded_answers_are_those_of_real_caddy() {
    if let Err(reason) = caddy::is_installed() {
        println!("skipped: {reason}");
        return;
    }
    let requests = requests();
    for name in configurations() {
        let answers = by_caddy(&name, &requests).await;
        let path = directory().join(&name).with_extension("answers");
        if env::var("DIFFERENTIAL_RECORD").is_ok() {
            fs::write(path, answers.to_string()).unwrap();
            continue;
        }
        let faults = Differences::default().between(&name, &recorded(&name), &answers);
        assert!(
            faults.is_empty(),
            "Caddy answers otherwise than recorded (-):\n{}",
            faults.join("\n")
        );
    }
}

async fn by_caddy(name: &str, requests: &[Request]) -> Answers {
    let origin = origin::start().await;
    let file = directory().join(name).with_extension("caddyfile");
    let caddy = Caddy::start(&file, origin.addr()).await;
    ask_all(requests, caddy.addr(), &origin).await
}

/// The answers of a proxy of this process, or why it does not start.
async fn by_doorway(name: &str, requests: &[Request]) -> Result<Answers, String> {
    let origin = origin::start().await;
    let rig = start(name, origin.addr())?;
    let answers = ask_all(requests, rig.addr(), &origin).await;
    rig.stop().await;
    Ok(answers)
}

/// Starts a proxy of this process.
fn start(name: &str, origin: SocketAddr) -> Result<Rig, String> {
    Rig::file(&options(), &file(name), &Surrounded(origin))
}

fn file(name: &str) -> PathBuf {
    directory().join(name).with_extension("caddyfile")
}

fn options() -> Options {
    Options {
        environment: Environment::new(|name| (name == VARIABLE.0).then(|| VARIABLE.1.to_owned())),
        ..rig::options()
    }
}

/// The variables of the configurations, and the files of their directory. Holds the origin's address.
struct Surrounded(SocketAddr);

// === impl Surrounded ===

impl Surroundings for Surrounded {
    fn variable(&self, name: &str) -> Option<String> {
        match name {
            "LISTEN" => Some("0".to_owned()),
            "ORIGIN" => Some(self.0.to_string()),
            name if name == VARIABLE.0 => Some(VARIABLE.1.to_owned()),
            _ => None,
        }
    }

    fn read(&self, path: &Path, _limit: usize) -> Result<Vec<u8>, FileError> {
        fs::read(path).map_err(|_| FileError::NotFound)
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, FileError> {
        let entries = fs::read_dir(directory).map_err(|_| FileError::NotFound)?;
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        Ok(names.collect())
    }
}
