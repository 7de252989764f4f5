//! `doorway adapt` and `doorway validate`.

use crate::support::{Directory, SECRET, doorway, finish, finish_with_input};

const CADDYFILE: &str = "\
http://a.example:8080 {
	doors_handler {
		secret {$SECRET}
		upstream {
			pod_cidr 10.0.0.0/24
			host app.internal
			upstream_port 3000
		}
	}
	reverse_proxy {
		dynamic doors_upstreams
	}
}
";

/// The same as the library adapts it.
fn expected() -> caddy_config::Config {
    let variable = |name: &str| (name == "SECRET").then(|| SECRET.to_owned());
    caddy_config::from_caddyfile("Caddyfile", CADDYFILE, &variable)
        .unwrap()
        .config
}

#[test]
fn adapt_prints_the_model_as_json() {
    let directory = Directory::with("Caddyfile", CADDYFILE);
    let plain = finish(doorway(directory.path(), &["adapt"]).env("SECRET", SECRET));
    assert_eq!((plain.code, plain.stderr.as_str()), (Some(0), ""));
    assert_eq!(plain.stdout, expected().to_json() + "\n");

    let pretty = finish(doorway(directory.path(), &["adapt", "--pretty"]).env("SECRET", SECRET));
    assert_eq!(pretty.stdout, expected().to_json_pretty());
}

#[test]
fn what_adapt_prints_is_read_back_as_the_same() {
    let directory = Directory::with("config.json", &expected().to_json());
    let again = finish(&mut doorway(
        directory.path(),
        &["adapt", "--config", "config.json"],
    ));
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""));
    assert_eq!(again.stdout, expected().to_json() + "\n");
}

#[test]
fn standard_input_is_read_as_what_it_is() {
    let directory = Directory::new();
    let command = || {
        let mut command = doorway(directory.path(), &["adapt", "--config", "-"]);
        command.env("SECRET", SECRET);
        command
    };
    for text in [
        CADDYFILE.to_owned(),
        expected().to_json(),
        expected().to_json_pretty(),
    ] {
        let adapted = finish_with_input(&mut command(), &text);
        assert_eq!((adapted.code, adapted.stderr.as_str()), (Some(0), ""));
        assert_eq!(adapted.stdout, expected().to_json() + "\n");
    }
}

#[test]
fn the_adapter_option_wins_over_the_name() {
    let directory = Directory::with("config.json", CADDYFILE);
    let arguments = ["adapt", "--config", "config.json", "--adapter", "caddyfile"];
    let adapted = finish(doorway(directory.path(), &arguments).env("SECRET", SECRET));
    assert_eq!(adapted.stdout, expected().to_json() + "\n", "{}", adapted.stderr);

    let guessed = finish(&mut doorway(
        directory.path(),
        &["adapt", "--config", "config.json"],
    ));
    assert_eq!(guessed.code, Some(1));
}

#[test]
fn validate_says_so_when_all_is_well() {
    let directory = Directory::with("Caddyfile", CADDYFILE);
    let valid = finish(doorway(directory.path(), &["validate"]).env("SECRET", SECRET));
    assert_eq!((valid.code, valid.stderr.as_str()), (Some(0), ""));
    assert_eq!(valid.stdout, "Valid configuration\n");
}

#[test]
fn validate_shows_every_error_with_its_place_and_the_line() {
    let text = ":8080 {\n\treverse_prox localhost:3000\n\trespond hello 99999\n}\n";
    let directory = Directory::with("my.caddyfile", text);
    let failed = finish(&mut doorway(
        directory.path(),
        &["validate", "--config", "my.caddyfile"],
    ));
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""));
    for part in [
        "my.caddyfile:2:2: ",
        "reverse_prox localhost:3000",
        "help: ",
        "my.caddyfile:3:",
    ] {
        assert!(failed.stderr.contains(part), "no {part:?} in {}", failed.stderr);
    }
    assert!(
        !failed.stderr.contains('\x1b'),
        "no colours outside of a terminal"
    );
}

#[test]
fn a_secret_that_makes_no_key_is_an_error_that_does_not_show_it() {
    let directory = Directory::with("Caddyfile", CADDYFILE);
    let failed = finish(doorway(directory.path(), &["validate"]).env("SECRET", "c2hvcnQ="));
    assert_eq!(failed.code, Some(1));
    let place = "Caddyfile:3:10: the secret decodes to 5 bytes";
    assert!(failed.stderr.contains(place), "{}", failed.stderr);
    assert!(!failed.stderr.contains("c2hvcnQ="), "{}", failed.stderr);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let directory = Directory::new();
    let failed = finish(&mut doorway(
        directory.path(),
        &["validate", "--config", "nowhere/Caddyfile"],
    ));
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("nowhere/Caddyfile"), "{}", failed.stderr);
}

#[test]
fn validate_warns_and_leaves_nothing_behind() {
    let directory = Directory::with(
        "Caddyfile",
        "a.example {\n\ttls internal\n\trespond hello\n}\nb.example {\n\trespond hello\n}\n",
    );
    let valid = finish(&mut doorway(directory.path(), &["validate"]));
    assert_eq!(
        (valid.code, valid.stdout.as_str()),
        (Some(0), "Valid configuration\n")
    );
    assert!(
        valid.stderr.starts_with("warning: b.example: "),
        "{}",
        valid.stderr
    );
    let files = directory.path().read_dir().unwrap().count();
    assert_eq!(files, 1, "only the Caddyfile, no data directory");
}

#[test]
fn a_server_that_listens_nowhere_is_warned_of() {
    let directory = Directory::with("conf.json", r#"{"apps": {"http": {"servers": {"quiet": {}}}}}"#);
    let valid = finish(&mut doorway(
        directory.path(),
        &["validate", "--config", "conf.json"],
    ));
    assert_eq!(valid.code, Some(0), "{}", valid.stderr);
    assert!(
        valid.stderr.contains("server quiet listens on no address"),
        "{}",
        valid.stderr
    );
}

#[test]
fn the_file_may_be_named_without_an_option() {
    let directory = Directory::with("my.caddyfile", ":8080 {\n\trespond hello\n}\n");
    for command in ["adapt", "validate"] {
        let bare = finish(&mut doorway(directory.path(), &[command, "my.caddyfile"]));
        let named = finish(&mut doorway(
            directory.path(),
            &[command, "--config", "my.caddyfile"],
        ));
        assert_eq!(bare.code, Some(0), "{}", bare.stderr);
        assert_eq!((bare.stdout, bare.stderr), (named.stdout, named.stderr));
    }
}

#[test]
fn what_cannot_be_run_is_told_with_its_places() {
    let text = "(snippet) {\n\treverse_proxy 127.0.0.1:1 {\n\t\ttransport http {\n\t\t\tread_buffer 8KiB\n\t\t\t\
                versions 3\n\t\t\ttls\n\t\t}\n\t}\n}\n\
                :8080 {\n\treverse_proxy /a https://127.0.0.1:2 {\n\t\ttransport http {\n\t\t\tversions 3\n\t\t}\n\t}\n\
                \thandle /b {\n\t\timport snippet\n\t}\n}\n";
    let directory = Directory::with("Caddyfile", text);
    let refused = finish(&mut doorway(directory.path(), &["validate"]));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    for line in [
        "Caddyfile:13:13: error: server srv0 (:8080): the option `versions 3` of `transport http`",
        "  also at Caddyfile:5:13",
    ] {
        assert!(refused.stderr.contains(line), "{line}\n{}", refused.stderr);
    }

    let text = text.replace("versions 3", "versions 2");
    directory.write("Caddyfile", &text);
    let warned = finish(&mut doorway(directory.path(), &["validate"]));
    assert_eq!(warned.code, Some(0), "{}", warned.stderr);
    let line = "Caddyfile:4:4: warning: server srv0 (:8080): the option `read_buffer` of `transport http`";
    assert!(warned.stderr.contains(line), "{line}\n{}", warned.stderr);
}
