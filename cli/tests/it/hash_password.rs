//! `doorway hash-password`.

use crate::support::{Directory, doorway, finish, finish_with_input};

#[test]
fn a_password_is_hashed_in_the_forms_of_caddy() {
    let directory = Directory::new();
    for (arguments, begin, length) in [
        (&["hash-password", "-p", "secret"][..], "$2a$14$", 60),
        (
            &["hash-password", "-p", "secret", "--algorithm", "argon2id"],
            "$argon2id$v=19$m=47104,t=1,p=1$",
            97,
        ),
    ] {
        let hashed = finish(&mut doorway(directory.path(), arguments));
        assert_eq!(hashed.code, Some(0), "{}", hashed.stderr);
        assert!(hashed.stdout.starts_with(begin), "{}", hashed.stdout);
        assert_eq!(hashed.stdout.trim_end().len(), length);
        assert!(!hashed.stdout.contains("secret"));
    }
}

#[test]
fn the_password_is_the_first_line_of_standard_input() {
    let directory = Directory::new();
    let arguments = ["hash-password", "-a", "argon2id"];
    let hashed = finish_with_input(&mut doorway(directory.path(), &arguments), "secret\r\nmore\n");
    assert_eq!(hashed.code, Some(0), "{}", hashed.stderr);
    assert!(hashed.stdout.starts_with("$argon2id$"), "{}", hashed.stdout);
}

#[test]
fn what_cannot_be_hashed_is_explained_and_not_shown() {
    let directory = Directory::new();
    let long = "x".repeat(73);
    for (input, explained) in [("\n", "the password is empty"), (long.as_str(), "72 bytes")] {
        let failed = finish_with_input(&mut doorway(directory.path(), &["hash-password"]), input);
        assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""));
        assert!(failed.stderr.contains(explained), "{}", failed.stderr);
        assert!(!failed.stderr.contains(&long), "{}", failed.stderr);
    }
    let wrong = ["hash-password", "-p", "x", "-a", "md5"];
    let failed = finish(&mut doorway(directory.path(), &wrong));
    assert_eq!(failed.code, Some(2), "{}", failed.stderr);
}
