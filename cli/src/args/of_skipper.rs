//! Flags that Skipper has and Doorway has not or writes otherwise, and what to do instead.

use clap::CommandFactory as _;
use clap::error::ErrorKind;

use super::Cli;

/// The flags, each with what to do instead.
const INSTEAD: [(&str, &str); 37] = [
    ("enable-breakers", ON),
    ("enable-ratelimits", ON),
    ("experimental-upgrade", ON),
    ("access-log-json-enabled", LOGS),
    ("application-log-level", LOGS),
    ("access-log", LOGS),
    (
        "access-log-strip-query",
        "`maskAccessLogQuery` in --default-filters-prepend leaves values out of the log",
    ),
    ("application-log", LOGS),
    (
        "metrics-flavour",
        "leave it out: the metrics of the admin API are for Prometheus",
    ),
    (
        "metrics-prefix",
        "leave it out: the metrics of the admin API are for Prometheus",
    ),
    (
        "support-listener",
        "the admin API has /eskip/routes and /metrics; DOORWAY_ADMIN in the environment says where it listens",
    ),
    (
        "debug-listener",
        "`doorway eskip match METHOD URL FILE` tells which route a request is for, and why the others are not",
    ),
    (
        "wait-first-route-load",
        "leave it out: until all routes were read once, requests get 503 with Retry-After",
    ),
    ("suppress-route-update-logs", LOGS),
    (
        "remove-hop-headers",
        "leave it out: fields of one connection never pass",
    ),
    ("forwarded-headers", "--default-filters-prepend 'xforward()'"),
    (
        "rfc-patch-path",
        "leave it out: an encoded slash never separates segments; `rfcPath()` is there for filters",
    ),
    ("validate-query", "leave it out: queries pass as they are"),
    ("config-file", CADDYFILE),
    ("insecure-address", CADDYFILE),
    ("tls-min-version", CADDYFILE),
    ("enable-proxy-protocol", CADDYFILE),
    ("read-timeout-server", CADDYFILE),
    ("read-header-timeout-server", CADDYFILE),
    ("write-timeout-server", CADDYFILE),
    ("idle-timeout-server", CADDYFILE),
    ("max-header-bytes", CADDYFILE),
    ("max-content-length", CADDYFILE),
    ("timeout-backend", TIMES),
    ("response-header-timeout-backend", TIMES),
    ("idle-conns-num", POOL),
    ("close-idle-conns-period", POOL),
    ("keepalive-backend", POOL),
    ("etcd-urls", SOURCES),
    ("kubernetes", SOURCES),
    (
        "ratelimits",
        "limits are in routes: `ratelimit` and `clientRatelimit`, in --default-filters-prepend for all of them",
    ),
    (
        "enable-lua",
        "scripts are not run; there are filters for most of what they do",
    ),
];

const ON: &str = "leave it out: it is always on";
const LOGS: &str = "leave it out: logs go to standard error, as JSON unless that is a terminal; a Caddyfile with `eskip` can say more";
const CADDYFILE: &str = "write a Caddyfile with `eskip` in a site: what is not about routes is said there";
const TIMES: &str = "`backendTimeout` in a route, or in --default-filters-prepend for all of them";
const POOL: &str = "leave it out: idle connections are kept for two minutes";
const SOURCES: &str = "routes come from files and URLs; export them, or have them served to --routes-urls";

/// What to do instead, if the command line `arguments` were written for Skipper.
pub(crate) fn hint(error: &clap::Error, arguments: &[String]) -> Option<String> {
    if !matches!(
        error.kind(),
        ErrorKind::UnknownArgument | ErrorKind::InvalidValue | ErrorKind::ArgumentConflict
    ) {
        return None;
    }
    let [_, command, flags @ ..] = arguments else {
        return None;
    };
    if command != "run" {
        return None;
    }
    flags.iter().find_map(|flag| instead(flag))
}

fn instead(argument: &str) -> Option<String> {
    let flag = argument.split('=').next().unwrap_or_default();
    let name = flag.strip_prefix('-')?;
    let name = name.strip_prefix('-').unwrap_or(name);
    let known = INSTEAD.iter().find(|(known, _)| *known == name);
    if let Some((_, instead)) = known {
        return Some(format!(
            "error: `{flag}` is a flag of Skipper that Doorway has not\n  help: {instead}"
        ));
    }
    let has_one_dash = !flag.starts_with("--") && name.len() > 1;
    (has_one_dash && is_flag_of_run(name))
        .then(|| format!("error: `{flag}` has one dash\n  help: flags have two here: --{name}"))
}

fn is_flag_of_run(name: &str) -> bool {
    let command = Cli::command();
    let run = command.find_subcommand("run");
    run.is_some_and(|run| {
        run.get_arguments()
            .any(|argument| argument.get_long() == Some(name))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn hint_for(flags: &[&str]) -> Option<String> {
        let arguments: Vec<String> = ["doorway"]
            .iter()
            .chain(flags)
            .map(|word| (*word).to_owned())
            .collect();
        hint(&Cli::try_parse_from(&arguments).unwrap_err(), &arguments)
    }

    #[test]
    fn flags_with_one_dash_are_told_to_have_two() {
        for flags in [
            ["run", "-routes-file", "a.eskip"],
            ["run", "-address", ":9090"],
            ["run", "-inline-routes=* -> <shunt>", "--workers=1"],
        ] {
            let told = hint_for(&flags).unwrap();
            assert!(
                told.contains(&format!("-{}", flags[1].split('=').next().unwrap())),
                "{told}"
            );
        }
    }

    #[test]
    fn flags_that_are_not_here_say_what_to_do() {
        for (name, instead) in INSTEAD {
            for dashes in ["-", "--"] {
                let told =
                    hint_for(&["run", "--routes-file=a", &format!("{dashes}{name}=1"), "--none"]).unwrap();
                assert!(told.ends_with(instead), "{told}");
            }
            assert!(!is_flag_of_run(name), "{name}");
        }
    }

    #[test]
    fn what_is_not_of_skipper_is_left_to_the_parser() {
        assert_eq!(hint_for(&["run", "--no-such-flag"]), None);
        assert_eq!(hint_for(&["run", "-z"]), None);
        assert_eq!(hint_for(&["validate", "-routes-file"]), None);
        assert_eq!(hint_for(&["run", "--workers", "none"]), None);
    }

    #[test]
    fn the_manual_has_every_flag() {
        let manual = include_str!("../../../proxy-core/src/manual/skipper.md");
        for (name, _) in INSTEAD {
            assert!(manual.contains(&format!("`-{name}`")), "{name}");
        }
    }
}
