//! `doorway token`.

use crate::support::{Directory, Finished, SECRET, doorway, finish, finish_with_input};

/// What the reference implementation makes of 10.0.0.5 with [`SECRET`].
const TOKEN: &str = "AAECAwQFBgcICQoLJ-W7eWPufSDRJf0WfeYuB_oPWwA";

fn with_secret(arguments: &[&str]) -> Finished {
    let directory = Directory::new();
    finish(doorway(directory.path(), arguments).env("SECRET", SECRET))
}

#[test]
fn a_new_secret_encodes_what_it_decodes() {
    let directory = Directory::new();
    let secret = finish(&mut doorway(directory.path(), &["token", "secret"]));
    assert_eq!(secret.code, Some(0));
    directory.write("secret.txt", &secret.stdout);
    for address in ["10.0.0.5", "2001:db8::1"] {
        let from_file = ["--secret-file", "secret.txt"];
        let encode = [&["token", "encode", address][..], &from_file].concat();
        let token = finish(&mut doorway(directory.path(), &encode));
        assert_eq!(token.code, Some(0), "{}", token.stderr);
        let decode = [&["token", "decode", token.stdout.trim()][..], &from_file].concat();
        let decoded = finish(&mut doorway(directory.path(), &decode));
        assert_eq!((decoded.code, decoded.stdout), (Some(0), format!("{address}\n")));
    }
}

#[test]
fn a_token_of_the_reference_implementation_decodes() {
    let decoded = with_secret(&["token", "decode", TOKEN]);
    assert_eq!((decoded.code, decoded.stdout.as_str()), (Some(0), "10.0.0.5\n"));
}

#[test]
fn a_token_that_does_not_decode_fails_with_its_kind_and_without_itself() {
    let sealed_wrong = TOKEN.replace("LJ-W", "LJ-X");
    for (token, kind) in [
        ("not base64!", "base64"),
        (sealed_wrong.as_str(), "cipher"),
        ("AAEC", "cipher"),
    ] {
        let failed = with_secret(&["token", "decode", token]);
        assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""));
        assert!(
            failed.stderr.starts_with(&format!("error: {kind}: ")),
            "{}",
            failed.stderr
        );
        assert!(!failed.stderr.contains(token), "{}", failed.stderr);
    }
    let short = "MDEyMzQ1Njc4OWFiY2RlZg==";
    let directory = Directory::new();
    let no_address = "AAECAwQFBgcICQoLAcrhpNkl16MqgUxFO-WVlA";
    let failed = finish(doorway(directory.path(), &["token", "decode", no_address]).env("SECRET", short));
    assert!(failed.stderr.starts_with("error: address: "), "{}", failed.stderr);
}

#[test]
fn secret_and_token_come_from_standard_input_too() {
    let directory = Directory::new();
    let from_input = &mut doorway(
        directory.path(),
        &["token", "decode", TOKEN, "--secret-file", "-"],
    );
    let decoded = finish_with_input(from_input, &format!("{SECRET}\n"));
    assert_eq!((decoded.code, decoded.stdout.as_str()), (Some(0), "10.0.0.5\n"));

    let token_from_input = &mut doorway(directory.path(), &["token", "decode", "-"]);
    let decoded = finish_with_input(token_from_input.env("SECRET", SECRET), &format!("{TOKEN}\n"));
    assert_eq!((decoded.code, decoded.stdout.as_str()), (Some(0), "10.0.0.5\n"));

    let both = finish(&mut doorway(
        directory.path(),
        &["token", "decode", "-", "--secret-file", "-"],
    ));
    assert_eq!(both.code, Some(2), "{}", both.stderr);
}

#[test]
fn any_of_several_secrets_decodes() {
    let directory = Directory::new();
    let arguments = [
        "token",
        "decode",
        TOKEN,
        "--secret-env",
        "NEW",
        "--secret-env",
        "OLD",
    ];
    let new = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3";
    let decoded = finish(
        doorway(directory.path(), &arguments)
            .env("NEW", new)
            .env("OLD", SECRET),
    );
    assert_eq!((decoded.code, decoded.stdout.as_str()), (Some(0), "10.0.0.5\n"));
}

#[test]
fn a_missing_or_bad_secret_is_explained_and_never_shown() {
    let directory = Directory::new();
    let missing = finish(&mut doorway(directory.path(), &["token", "encode", "10.0.0.5"]));
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("--secret-file"), "{}", missing.stderr);

    for secret in ["c2hvcnQ=", "not-a-secret"] {
        let bad = finish(doorway(directory.path(), &["token", "encode", "10.0.0.5"]).env("SECRET", secret));
        assert_eq!(bad.code, Some(1));
        assert!(
            bad.stderr
                .contains("the secret of the variable SECRET cannot be used"),
            "{}",
            bad.stderr
        );
        assert!(!bad.stderr.contains(secret), "{}", bad.stderr);
    }
}
