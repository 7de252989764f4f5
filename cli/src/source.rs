//! Where the configuration comes from, how it is written, and what it says.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use caddy_config::{Config, Diagnostic, Places, Surroundings as _};
use proxy_core::BuildErrors;
use tracing::warn;

use crate::args::{Adapter, ConfigArgs};
use crate::exit::{self, Failure};
use crate::files::Files;
use crate::settings::Environment;
use crate::watch::{Recording, Seen};

/// The file that is read when none is named.
pub(crate) const DEFAULT_FILE: &str = "Caddyfile";

/// The most bytes of a configuration that are read; long before, it is too long to be one.
const MAX_FILE: usize = 64 * 1024 * 1024;

/// What is said when there is nothing to run.
const HOW_TO_START: &str = "\
error: no configuration: this directory has no file named Caddyfile

Ways to start:
  doorway demo                          see it at work, nothing to set up
  doorway run --config FILE             run a configuration from elsewhere
  doorway run --routes-file FILE        run routes in Skipper's language
  doorway run                           run the Caddyfile of this directory, for example

    :8080 {
        reverse_proxy 127.0.0.1:3000
    }";

/// A configuration that was read and understood.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    /// The same as JSON, as it was written if it was.
    pub(crate) document: String,
    /// What works, but perhaps not as meant.
    pub(crate) warnings: Vec<Diagnostic>,
    /// Where a Caddyfile says what does not simply work.
    pub(crate) places: Places,
    /// The file that it was read from, if it was one that can be read again.
    pub(crate) origin: Option<proxy_core::Source>,
}

/// A configuration's text.
#[derive(Debug)]
struct Source {
    /// Its name in messages.
    name: String,
    text: String,
    adapter: Adapter,
    origin: Option<proxy_core::Source>,
}

/// Reads and checks the configuration that `args` ask for.
///
/// # Errors
///
/// A file that cannot be read, or all that is wrong with the text.
pub(crate) fn load(args: &ConfigArgs, environment: &Environment) -> Result<Loaded, Failure> {
    load_watched(args, &Files(environment.clone())).0
}

/// As [`load`]; says also what was read, whether it is good or not.
pub(crate) fn load_watched(args: &ConfigArgs, files: &Files) -> (Result<Loaded, Failure>, Seen) {
    let recording = Recording::new(files);
    let loaded = Source::read(args, &recording).and_then(|source| parse(source, &recording));
    (loaded, recording.into_seen())
}

fn parse(source: Source, files: &Recording<'_>) -> Result<Loaded, Failure> {
    let Source {
        name,
        text,
        adapter,
        origin,
    } = source;
    Ok(match adapter {
        Adapter::Caddyfile => {
            let adapted = caddy_config::from_caddyfile_in(&name, &text, files)?;
            let mut warnings = adapted.warnings;
            warnings.extend(caddy_config::unformatted(&name, &text));
            Loaded {
                document: adapted.config.to_json(),
                config: adapted.config,
                warnings,
                places: adapted.places,
                origin,
            }
        }
        Adapter::Json => Loaded {
            config: caddy_config::from_json(&name, &text)?,
            document: text,
            warnings: Vec::new(),
            places: Places::default(),
            origin,
        },
    })
}

/// The configuration that was saved when it was last loaded; `None` if none ever was.
///
/// # Errors
///
/// A file that cannot be read or understood: it is not passed over, as what runs would be another one.
pub(crate) fn saved(path: &Path) -> Result<Option<Loaded>, Failure> {
    let name = path.display().to_string();
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(anyhow::Error::new(error)
                .context(format!("cannot read the saved configuration {name}"))
                .into());
        }
    };
    let document = caddy_config::text_from_bytes(&name, &bytes)?.to_owned();
    Ok(Some(Loaded {
        config: caddy_config::from_json(&name, &document)?,
        document,
        warnings: Vec::new(),
        places: Places::default(),
        origin: None,
    }))
}

/// Whether there is a file that is read when none is named.
pub(crate) fn has_default() -> bool {
    Path::new(DEFAULT_FILE).is_file()
}

// === impl Loaded ===

impl Loaded {
    /// A configuration that was never written down.
    pub(crate) fn of(config: Config) -> Self {
        Self {
            document: config.to_json(),
            config,
            warnings: Vec::new(),
            places: Places::default(),
            origin: None,
        }
    }

    /// No configuration: only the admin API runs.
    pub(crate) fn nothing() -> Self {
        Self {
            config: Config::default(),
            document: "null".to_owned(),
            warnings: Vec::new(),
            places: Places::default(),
            origin: None,
        }
    }

    /// A message of the proxy's about the configuration, with the places of what it names if they are known.
    pub(crate) fn placed(&self, severity: &str, message: &str) -> String {
        let mut places = self.places.named_in(message);
        let Some(first) = places.next() else {
            return format!("{severity}: {message}");
        };
        let more: Vec<String> = places.map(ToString::to_string).collect();
        let more = if more.is_empty() {
            String::new()
        } else {
            format!("\n  also at {}", more.join(", "))
        };
        format!("{first}: {severity}: {message}{more}")
    }

    /// Why the proxy cannot run it: one report of all that is wrong.
    pub(crate) fn refused(&self, errors: &BuildErrors) -> Failure {
        let lines: Vec<String> = errors
            .iter()
            .map(|error| self.placed("error", &error.to_string()))
            .collect();
        Failure::Report(lines.join("\n"))
    }

    /// Logs the warnings, for commands that go on.
    pub(crate) fn log_warnings(&self) {
        self.warnings.iter().for_each(log_warning);
    }

    /// Prints the warnings to standard error, for commands that print and end.
    pub(crate) fn say_warnings(&self) {
        for warning in &self.warnings {
            exit::say(&warning.to_string());
        }
    }
}

fn log_warning(warning: &Diagnostic) {
    let place = warning.place();
    let help = warning.help().unwrap_or_default();
    warn!(
        file = place.file(),
        line = place.line(),
        column = place.column(),
        help,
        "{}",
        warning.message()
    );
}

// === impl Source ===

impl Source {
    fn read(args: &ConfigArgs, files: &Recording<'_>) -> Result<Self, Failure> {
        let path = match &args.config {
            Some(path) => path.clone(),
            None if has_default() => PathBuf::from(DEFAULT_FILE),
            None => return Err(Failure::Report(HOW_TO_START.to_owned())),
        };
        let (name, bytes, can_be_read_again) = if path == Path::new("-") {
            let bytes = read_once(io::stdin().lock());
            let bytes = bytes.context("cannot read the configuration from standard input")?;
            ("stdin".to_owned(), bytes, false)
        } else {
            let name = path.display().to_string();
            let cannot_read = || format!("cannot read the configuration {name}");
            // A pipe, such as a shell makes of `<(command)`, gives what it has only once.
            let is_pipe = fs::metadata(&path).is_ok_and(|found| !found.is_file() && !found.is_dir());
            let bytes = if is_pipe {
                File::open(&path).and_then(read_once).with_context(cannot_read)?
            } else {
                files.read(&path, MAX_FILE).with_context(cannot_read)?
            };
            (name, bytes, !is_pipe)
        };
        let text = caddy_config::text_from_bytes(&name, &bytes)?.to_owned();
        let adapter = args
            .adapter
            .or_else(|| by_name(&path))
            .unwrap_or_else(|| by_text(&text));
        Ok(Self {
            name,
            text,
            adapter,
            origin: can_be_read_again.then(|| origin(&path, adapter)),
        })
    }
}

fn read_once(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_FILE).unwrap_or(u64::MAX);
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a running proxy knows the file by, from whichever directory it is named.
fn origin(path: &Path, adapter: Adapter) -> proxy_core::Source {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    proxy_core::Source {
        file: absolute.display().to_string(),
        adapter: match adapter {
            Adapter::Caddyfile => "caddyfile".to_owned(),
            Adapter::Json => String::new(),
        },
    }
}

/// The kind that a file's name tells, by Caddy's rules: `Caddyfile`, `Caddyfile.anything` and `anything.caddyfile`
/// are Caddyfiles, `.json` is JSON whatever stands before it.
fn by_name(path: &Path) -> Option<Adapter> {
    let name = path.file_name()?.to_str()?;
    let extension = Path::new(name)
        .extension()
        .and_then(|extension| extension.to_str());
    match extension {
        Some("json") => Some(Adapter::Json),
        Some("caddyfile") => Some(Adapter::Caddyfile),
        _ if name.starts_with("Caddyfile") => Some(Adapter::Caddyfile),
        _ => None,
    }
}

/// The kind that the first characters tell. A JSON object begins with a brace and a quoted name, or with both
/// braces; a Caddyfile's global options begin with a bare word behind the brace.
fn by_text(text: &str) -> Adapter {
    let object = text.trim_start().strip_prefix('{').map(str::trim_start);
    if object.is_some_and(|rest| rest.starts_with(['"', '}'])) {
        Adapter::Json
    } else {
        Adapter::Caddyfile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_kind_as_caddy_reads_it() {
        for (name, kind) in [
            ("Caddyfile", Some(Adapter::Caddyfile)),
            ("/etc/doorway/Caddyfile", Some(Adapter::Caddyfile)),
            ("Caddyfile.dev", Some(Adapter::Caddyfile)),
            ("doors.caddyfile", Some(Adapter::Caddyfile)),
            ("Caddyfile.json", Some(Adapter::Json)),
            ("config.json", Some(Adapter::Json)),
            ("doorway.conf", None),
            ("-", None),
            ("..", None),
        ] {
            assert_eq!(by_name(Path::new(name)), kind, "{name}");
        }
    }

    #[test]
    fn without_a_telling_name_the_text_tells() {
        for json in ["{}", " { } ", "{\"apps\":{}}", "\n{\n  \"admin\": {}}"] {
            assert_eq!(by_text(json), Adapter::Json, "{json}");
        }
        for caddyfile in [
            "",
            ":80",
            "{\n\tdebug\n}",
            "{$SITE} {\n}",
            "example.com {\n\t\"respond\" 200\n}",
        ] {
            assert_eq!(by_text(caddyfile), Adapter::Caddyfile, "{caddyfile}");
        }
    }
}
