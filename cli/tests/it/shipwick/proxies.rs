//! The proxies that take the rendered routes: Doorway, and each Caddy that is here.

use std::convert::Infallible;
use std::io::{BufReader, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shipwick_routes::sync::{Settings, Source, SyncError, Synced, Syncer};
use shipwick_routes::{AdminAddress, App, Desired, RenderOptions, render};

use crate::support::{Answer, Directory, Lines, PATIENCE, Running, doorway, free_port};

/// Which proxy.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Doorway,
    /// The binary of one.
    Caddy(PathBuf),
}

/// A proxy that runs, and an agent that owns its configuration.
pub(super) struct Proxy {
    pub(super) kind: Kind,
    /// Ends before its directory is removed.
    pub(super) running: Option<Running>,
    pub(super) directory: Directory,
    pub(super) port: u16,
    agent: Agent,
}

/// What an agent's database says, and the syncer that reads it.
struct Agent {
    routes: Routes,
    syncer: Syncer<Routes>,
    runtime: tokio::runtime::Runtime,
}

#[derive(Clone)]
struct Routes(Arc<Mutex<Desired>>);

impl Source for Routes {
    type Error = Infallible;

    async fn desired(&self) -> Result<Desired, Infallible> {
        Ok(self.0.lock().unwrap().clone())
    }
}

/// Runs `test` with each proxy that is here, all at once.
pub(super) fn each(test: impl Fn(&mut Proxy) + Sync) {
    each_with(&RenderOptions::default(), test);
}

pub(super) fn each_with(options: &RenderOptions, test: impl Fn(&mut Proxy) + Sync) {
    std::thread::scope(|scope| {
        for kind in kinds() {
            let test = &test;
            // A panic tells the name of its thread.
            let thread = std::thread::Builder::new().name(format!("{kind:?}"));
            let run = move || test(&mut Proxy::start(kind, options.clone()));
            thread.spawn_scoped(scope, run).unwrap();
        }
    });
}

/// Doorway, the Caddy on the path, and one of 2.6 where the tools of this tree are.
#[expect(clippy::print_stdout, reason = "what is skipped must be seen")]
pub(super) fn kinds() -> Vec<Kind> {
    let mut kinds = vec![Kind::Doorway];
    let (newest, older) = (newest_caddy(), tools().join("caddy-2.6/usr/bin/caddy"));
    match newest {
        Some(caddy) => kinds.push(Kind::Caddy(caddy)),
        None => println!("skipped: there is no `caddy` that could take the same routes"),
    }
    if older.is_file() {
        kinds.push(Kind::Caddy(older));
    } else {
        println!("skipped: there is no Caddy 2.6 that could take the same routes");
    }
    kinds
}

pub(super) fn newest_caddy() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a test looks for a program on the path")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain([tools().join("bin")]);
    places
        .map(|place| place.join("caddy"))
        .find(|file| file.is_file())
}

fn tools() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .unwrap()
        .join("tools")
}

// === impl Kind ===

impl Kind {
    /// Starts it with a configuration in its directory.
    fn run(&self, directory: &Path, arguments: &[&str]) -> Running {
        let arguments = [&["run"], arguments].concat();
        let (mut command, ready) = match self {
            Self::Doorway => (doorway(directory, &arguments), "the admin API is served"),
            Self::Caddy(binary) => {
                let mut command = Command::new(binary);
                command.args(&arguments).current_dir(directory).env_clear();
                command.env("HOME", directory);
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped());
                (command, "serving initial configuration")
            }
        };
        let running = Running::start(&mut command);
        running.stderr_line(ready);
        running
    }
}

// === impl Proxy ===

impl Proxy {
    pub(super) fn start(kind: Kind, options: RenderOptions) -> Self {
        let directory = Directory::new();
        let port = free_port();
        let options = RenderOptions {
            listen: vec![format!("127.0.0.1:{port}")],
            plain_http: true,
            ..options
        };
        let socket = directory.path().join("admin.sock");
        let admin: AdminAddress = format!("unix/{}", socket.display()).parse().unwrap();
        let bootstrap = format!(r#"{{"admin": {{"listen": "{}"}}}}"#, admin.listen());
        directory.write("bootstrap.json", &bootstrap);
        let settings = Settings {
            render: options,
            timeout: PATIENCE,
            ..Settings::default()
        };
        Self {
            running: Some(kind.run(directory.path(), &["--config", "bootstrap.json"])),
            agent: Agent::new(&admin, settings),
            kind,
            directory,
            port,
        }
    }

    /// Starts it again, after it has ended.
    pub(super) fn start_again(&mut self, arguments: &[&str]) {
        self.running = Some(self.kind.run(self.directory.path(), arguments));
    }

    /// Starts it again with routes, and returns when it listens.
    pub(super) fn start_serving(&mut self, arguments: &[&str]) {
        self.start_again(arguments);
        if let (Kind::Doorway, Some(running)) = (&self.kind, &self.running) {
            running.stderr_line("\"listening\"");
        }
    }

    pub(super) fn kill(&mut self) {
        let running = self.running.take().unwrap();
        running.signal("KILL");
        running.end();
    }

    /// Waits until what it was given is where it resumes from: Caddy saves it beside its answer.
    pub(super) fn wait_for_autosave(&self) {
        let Kind::Caddy(_) = self.kind else { return };
        let file = self.directory.path().join(".config/caddy/autosave.json");
        let marker = self.marker();
        let saved = || std::fs::read_to_string(&file).is_ok_and(|saved| saved.contains(&marker));
        // Far more looks than it takes.
        let in_time = (0..2_000_000).any(|_| saved());
        assert!(in_time, "{} lacks {marker}", file.display());
    }

    fn marker(&self) -> String {
        let rendered = render(&self.agent.routes.0.lock().unwrap(), &self.settings().render);
        rendered.fingerprint().marker()
    }

    /// Gives up a request to the admin API after this time.
    pub(super) fn be_impatient(&mut self, timeout: Duration) {
        let admin = self.agent.routes.0.lock().unwrap().admin.clone();
        let settings = Settings {
            timeout,
            ..self.settings()
        };
        self.agent = Agent::new(&admin, settings);
    }

    fn settings(&self) -> Settings {
        Settings {
            render: RenderOptions {
                listen: vec![format!("127.0.0.1:{}", self.port)],
                plain_http: true,
                ..RenderOptions::default()
            },
            ..Settings::default()
        }
    }

    /// What a look of the agent does.
    pub(super) fn look(&self) -> Result<Synced, SyncError> {
        self.agent.runtime.block_on(self.agent.syncer.sync())
    }

    /// Changes the desired routes, and has the proxy take them.
    pub(super) fn route(&self, change: impl FnOnce(&mut Desired)) {
        self.change(change);
        assert_eq!(self.look().unwrap(), Synced::Loaded);
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Desired)) {
        change(&mut self.agent.routes.0.lock().unwrap());
    }

    pub(super) fn route_app(&self, name: &str, app: App) {
        self.route(|desired| {
            desired.apps.insert(name.to_owned(), app);
        });
    }

    /// What is rendered for the routes at this moment.
    pub(super) fn rendered(&self) -> String {
        let rendered = render(&self.agent.routes.0.lock().unwrap(), &self.settings().render);
        String::from_utf8(rendered.into_bytes()).unwrap()
    }

    pub(super) fn get(&self, host: &str) -> Answer {
        self.ask("GET", host, "/")
    }

    pub(super) fn ask(&self, method: &str, host: &str, path: &str) -> Answer {
        Answer::read(self.send(method, host, path))
    }

    /// What the host answers, or nothing before the proxy listens.
    pub(super) fn get_if_served(&self, host: &str) -> String {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) {
            Ok(_) => self.get(host).body,
            Err(_) => String::new(),
        }
    }

    /// The lines of a streamed answer.
    pub(super) fn lines(&self, host: &str) -> Lines {
        Lines::of(self.send("GET", host, "/"))
    }

    pub(super) fn send(&self, method: &str, host: &str, path: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        BufReader::new(stream)
    }
}

/// It has ended before its directory is removed, in which it may write.
impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.signal("KILL");
            running.end();
        }
    }
}

// === impl Agent ===

impl Agent {
    fn new(admin: &AdminAddress, settings: Settings) -> Self {
        let routes = Routes(Arc::new(Mutex::new(Desired::new(admin.clone()))));
        Self {
            syncer: Syncer::new(admin.clone(), routes.clone(), settings),
            routes,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
        }
    }
}
