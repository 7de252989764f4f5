//! What the process is told from outside: its environment. The only file that reads it.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use proxy_core::Options;

use crate::args;
use crate::exit::Failure;

/// The environment variables at start, taken once.
#[derive(Clone, Default)]
pub(crate) struct Environment(BTreeMap<String, String>);

/// Names that hold a secret by custom: their values are never printed.
const SECRET_WORDS: [&str; 10] = [
    "AUTH",
    "COOKIE",
    "CREDENTIAL",
    "DSN",
    "KEY",
    "PASS",
    "PRIVATE",
    "SECRET",
    "SESSION",
    "TOKEN",
];

// === impl Environment ===

impl Environment {
    /// The variables of this process whose names and values are UTF-8; a configuration cannot name others.
    pub(crate) fn of_process() -> Self {
        let utf8 = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self(utf8.collect())
    }

    /// The value of one variable.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The variables as lines `NAME=value`, the values of those that look like secrets left out.
    pub(crate) fn printable(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(name, value)| {
            let shown = if looks_secret(name, value) {
                "(not shown)"
            } else {
                value
            };
            format!("{name}={shown}")
        })
    }

    /// The number of workers: the option, else `DOORWAY_WORKERS`, else one for each core that this process may
    /// use (CPU affinity and control-group quotas count).
    pub(crate) fn workers(&self, option: Option<NonZeroUsize>) -> Result<usize, Failure> {
        if let Some(workers) = option {
            return Ok(workers.get());
        }
        let Some(text) = self.get("DOORWAY_WORKERS") else {
            return Ok(std::thread::available_parallelism().map_or(1, NonZeroUsize::get));
        };
        match args::parse_workers(text) {
            Ok(workers) => Ok(workers.get()),
            Err(expected) => Err(Failure::Usage(format!("DOORWAY_WORKERS is {text:?}: {expected}"))),
        }
    }

    /// Where files that must outlive the process go: `$XDG_DATA_HOME/doorway`, else
    /// `$HOME/.local/share/doorway`. A relative path in either is ignored, as the XDG base directory
    /// specification asks.
    pub(crate) fn data_dir(&self) -> Option<PathBuf> {
        self.directory("XDG_DATA_HOME", ".local/share")
    }

    /// Where the configuration is saved that was last loaded: `autosave.json` in `$XDG_CONFIG_HOME/doorway`, else in
    /// `$HOME/.config/doorway`.
    pub(crate) fn autosave(&self) -> Option<PathBuf> {
        Some(
            self.directory("XDG_CONFIG_HOME", ".config")?
                .join("autosave.json"),
        )
    }

    /// Where the admin API is if the configuration does not say: `DOORWAY_ADMIN`, else `CADDY_ADMIN`, else Caddy's
    /// `localhost:2019`. `off` is nowhere.
    pub(crate) fn admin_address(&self) -> &str {
        let set = |name| self.get(name).filter(|value| !value.is_empty());
        set("DOORWAY_ADMIN")
            .or_else(|| set("CADDY_ADMIN"))
            .unwrap_or("localhost:2019")
    }

    fn directory(&self, name: &str, below_home: &str) -> Option<PathBuf> {
        let absolute = |name| self.get(name).map(Path::new).filter(|path| path.is_absolute());
        match (absolute(name), absolute("HOME")) {
            (Some(base), _) => Some(base.join("doorway")),
            (None, Some(home)) => Some(home.join(below_home).join("doorway")),
            (None, None) => None,
        }
    }

    /// What the proxy is told beside its configuration.
    pub(crate) fn proxy_options(&self, workers: usize) -> Options {
        let variables = self.clone();
        Options {
            environment: proxy_core::Environment::new(move |name| variables.get(name).map(str::to_owned)),
            workers,
            data_dir: self.data_dir(),
            ..Options::default()
        }
    }

    /// Whether standard error may be coloured: a terminal, unless `NO_COLOR` or `TERM=dumb` says otherwise.
    pub(crate) fn coloured_stderr(&self) -> bool {
        let refused = self.get("NO_COLOR").is_some_and(|value| !value.is_empty());
        io::stderr().is_terminal() && !refused && self.get("TERM") != Some("dumb")
    }
}

/// Only for tests: an environment made of pairs.
#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(pairs: [(&str, &str); N]) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        )
    }
}

/// Values may be secrets, so only the names are shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// By its name, or because the value is an address with a user in it (`postgres://user:password@host`).
fn looks_secret(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| upper.contains(word)) || (value.contains("://") && value.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_directory_follows_the_xdg_rules() {
        let both = Environment::from([("XDG_DATA_HOME", "/data"), ("HOME", "/people/me")]);
        assert_eq!(both.data_dir(), Some(PathBuf::from("/data/doorway")));
        let relative = Environment::from([("XDG_DATA_HOME", "data"), ("HOME", "/people/me")]);
        assert_eq!(
            relative.data_dir(),
            Some(PathBuf::from("/people/me/.local/share/doorway"))
        );
        assert_eq!(Environment::default().data_dir(), None);
    }

    #[test]
    fn the_option_wins_over_the_variable_and_the_variable_over_the_cores() {
        let environment = Environment::from([("DOORWAY_WORKERS", "3")]);
        assert_eq!(environment.workers(NonZeroUsize::new(5)).unwrap(), 5);
        assert_eq!(environment.workers(None).unwrap(), 3);
        assert!(Environment::default().workers(None).unwrap() >= 1);
    }

    #[test]
    fn a_senseless_number_of_workers_is_a_usage_error() {
        for text in ["0", "-1", "many", "", "1025", "1.5"] {
            let environment = Environment::from([("DOORWAY_WORKERS", text)]);
            assert!(
                matches!(environment.workers(None), Err(Failure::Usage(_))),
                "{text:?}"
            );
        }
    }

    #[test]
    fn values_that_look_like_secrets_are_not_printed() {
        let environment = Environment::from([
            ("SECRET", "s3cr3t"),
            ("db_password", "s3cr3t"),
            ("DB", "postgres://me:s3cr3t@db/x"),
            ("LANG", "C.UTF-8"),
        ]);
        let lines: Vec<String> = environment.printable().collect();
        let hidden = [
            "DB=(not shown)",
            "LANG=C.UTF-8",
            "SECRET=(not shown)",
            "db_password=(not shown)",
        ];
        assert_eq!(lines, hidden);
        for name in [
            "PASS",
            "my_pass",
            "BASIC_AUTH",
            "COOKIE",
            "Session_Id",
            "SENTRY_DSN",
            "AWS_CREDENTIALS",
            "PRIVATE_PEM",
            "API_KEY",
            "GH_TOKEN",
        ] {
            let lines: Vec<String> = Environment::from([(name, "s3cr3t")]).printable().collect();
            assert_eq!(lines, [format!("{name}=(not shown)")]);
        }
        assert!(!format!("{environment:?}").contains("s3cr3t"));
    }
}
