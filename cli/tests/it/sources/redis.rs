//! Three processes that share a Redis server, which crashes, hangs and comes back empty.

use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::traffic::Traffic;
use super::{Origin, Replica, document, eventually, sqlite};
use crate::support::{Directory, Running, free_port};

/// Hosts that are written.
const HOSTS: usize = 8;

/// A server on loopback whose answers are on the disk.
struct Redis {
    program: PathBuf,
    port: u16,
    running: Option<Running>,
}

// === impl Redis ===

impl Redis {
    /// `None`, and a line that says so, if this machine has none.
    #[expect(
        clippy::print_stdout,
        reason = "whoever runs the tests is told what was not tried"
    )]
    fn start(directory: &Path) -> Option<Self> {
        let places = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"]
            .map(|place| Path::new(place).join("redis-server"));
        let Some(program) = places.into_iter().find(|program| program.is_file()) else {
            println!("skipped: there is no `redis-server` to share routes in");
            return None;
        };
        let mut redis = Self {
            program,
            port: free_port(),
            running: None,
        };
        redis.begin(directory);
        Some(redis)
    }

    fn begin(&mut self, directory: &Path) {
        let port = self.port.to_string();
        let mut command = Command::new(&self.program);
        command.args(["--bind", "127.0.0.1", "--save", "", "--port", &port]);
        command.args(["--appendonly", "yes", "--appendfsync", "always"]);
        command.current_dir(directory).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = Running::start(&mut command);
        running.stdout_line("Ready to accept connections");
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok());
        self.running = Some(running);
    }

    fn kill(&mut self) {
        let running = self.running.take().unwrap();
        running.signal("KILL");
        running.end();
    }

    fn lines(&self) -> String {
        let port = self.port;
        format!(
            "\t\tstore redis redis://127.0.0.1:{port} {{\n\t\t\tsync_interval 500ms\n\t\t\tdata_loss restore\n\t\t}}\n"
        )
    }
}

/// Writes through one replica after the other, and wants all of them to serve it.
fn writes(replicas: &[Replica; 3], count: usize, origin: &Origin) {
    for number in 0..count {
        let host = format!("host-{}.test", number % HOSTS);
        let path = format!("/routes/{host}?wait=30s");
        let (status, said) = replicas[number % 3].ask("PUT", &path, &document(&host, origin));
        assert_eq!((status, &said["replicas"]), (200, &3.into()), "{said:#}");
    }
}

/// What a replica says of all hosts.
fn table(replica: &Replica) -> String {
    let (status, said) = replica.ask("GET", "/routes", "");
    assert_eq!((status, &said["store_error"]), (200, &serde_json::Value::Null));
    said["hosts"].to_string()
}

fn are_alike(replicas: &[Replica; 3], hosts: usize) {
    eventually("all have the same routes", || {
        let tables = replicas.each_ref().map(table);
        let count = tables[0].matches("\"served\"").count();
        (tables[0] == tables[1] && tables[1] == tables[2] && count == hosts).then_some(())
    });
}

/// Waits until none of them is behind a store that was away.
fn follow_again(replicas: &[Replica; 3]) {
    for replica in replicas {
        eventually("the store is followed again", || {
            let status = replica.status();
            let is_current = status["applied"]["revision"] == status["store"]["revision"];
            (is_current && replica.source("store")["stale"].is_null()).then_some(())
        });
    }
}

#[test]
fn three_replicas_lose_nothing_while_their_store_crashes_hangs_and_comes_back_empty() {
    let directory = Directory::new();
    let (first, second) = (directory.path().join("first"), directory.path().join("second"));
    for place in [&first, &second] {
        std::fs::create_dir(place).unwrap();
    }
    let (one, two) = (Origin::start("one"), Origin::start("two"));
    let Some(mut redis) = Redis::start(&first) else {
        let lines = sqlite(&directory.path().join("store.db"));
        let replicas = [(); 3].map(|()| Replica::start(&lines));
        writes(&replicas, 60, &one);
        are_alike(&replicas, HOSTS);
        return;
    };
    let replicas = [(); 3].map(|()| Replica::start(&redis.lines()));
    writes(&replicas, 20, &one);
    let traffic = replicas
        .each_ref()
        .map(|replica| Traffic::start(replica.port(), "host-1.test", &["one", "two"]));

    redis.kill();
    let (status, _) = replicas[0].ask("PUT", "/routes/host-0.test", &document("host-0.test", &two));
    assert_eq!(status, 503);
    redis.begin(&first);
    follow_again(&replicas);
    writes(&replicas, 20, &two);

    redis.running.as_ref().unwrap().freeze();
    let (status, _) = replicas[1].ask("PUT", "/routes/host-0.test", &document("host-0.test", &two));
    assert_eq!(status, 503);
    redis.running.as_ref().unwrap().signal("CONT");
    follow_again(&replicas);
    writes(&replicas, 20, &one);

    redis.kill();
    redis.begin(&second);
    follow_again(&replicas);
    are_alike(&replicas, HOSTS);
    for replica in &replicas {
        for number in 0..HOSTS {
            assert_eq!(replica.get(&format!("host-{number}.test"), "/").body, "one");
        }
    }
    traffic.into_iter().for_each(Traffic::end_well);
}
