//! `doorway geo`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{Directory, Finished, doorway, finish, finish_with_input};

/// An archive in the form of the real one.
fn archive(countries: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (code, prefixes) in countries {
        let text = format!("{{\n\"countryCode\": \"{code}\",\n\"prefixes\": {{{prefixes}}}\n}}\n");
        let lower = code.to_lowercase();
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        let name = format!("geo-ip-blocks-master/country/{lower}/{lower}.json");
        tar.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn two_countries() -> Vec<u8> {
    archive(&[
        ("DE", r#""ipv4": ["192.0.2.0/24"], "ipv6": ["2001:db8::/32"]"#),
        (
            "FR",
            r#""ipv4": ["198.51.100.0/24", "203.0.113.0/24"], "ipv6": []"#,
        ),
    ])
}

fn geo(directory: &Path, arguments: &[&str]) -> Finished {
    let arguments = [&["geo"], arguments].concat();
    finish(doorway(directory, &arguments).env("XDG_DATA_HOME", directory))
}

/// Answers every request with this archive, which `etag` names.
fn serve(body: Vec<u8>, etag: &'static str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/geo.tar.gz", listener.local_addr().unwrap());
    // Ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<String> = lines
                .map(Result::unwrap)
                .take_while(|line| !line.is_empty())
                .collect();
            let known = head.iter().any(|line| line.ends_with(etag));
            let answer = if known {
                "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_owned()
            } else {
                let length = body.len();
                format!(
                    "HTTP/1.1 200 OK\r\nETag: {etag}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                )
            };
            stream.write_all(answer.as_bytes()).unwrap();
            if !known {
                stream.write_all(&body).unwrap();
            }
        }
    });
    url
}

#[test]
fn addresses_are_looked_up_in_an_archive() {
    let directory = Directory::new();
    fs::write(directory.path().join("geo.tar.gz"), two_countries()).unwrap();
    let found = geo(
        directory.path(),
        &[
            "lookup",
            "--archive",
            "geo.tar.gz",
            "192.0.2.1",
            "10.0.0.1",
            "2001:db8::1",
        ],
    );
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    assert_eq!(found.stdout, "192.0.2.1\tDE\n10.0.0.1\t-\n2001:db8::1\tDE\n");

    let mut command = doorway(
        directory.path(),
        &["geo", "lookup", "--archive", "geo.tar.gz", "-"],
    );
    let found = finish_with_input(&mut command, "203.0.113.9\nnone\n192.0.2.1\n");
    assert_eq!(found.code, Some(1));
    assert_eq!(found.stdout, "203.0.113.9\tFR\n192.0.2.1\tDE\n");
    assert!(
        found.stderr.contains("line 2: \"none\" is no IP address"),
        "{}",
        found.stderr
    );
}

#[test]
fn a_bad_archive_is_refused_with_the_place_of_the_fault() {
    let directory = Directory::new();
    let bad = archive(&[(
        "DE",
        r#""ipv4": ["192.0.2.0/24",
"300.0.0.0/8"], "ipv6": []"#,
    )]);
    fs::write(directory.path().join("bad.tar.gz"), bad).unwrap();
    let checked = geo(directory.path(), &["check", "bad.tar.gz"]);
    assert_eq!(checked.code, Some(1));
    for part in ["bad.tar.gz", "country/de/de.json", "300.0.0.0/8", "line 4"] {
        assert!(checked.stderr.contains(part), "{part}: {}", checked.stderr);
    }

    fs::write(directory.path().join("good.tar.gz"), two_countries()).unwrap();
    let checked = geo(directory.path(), &["check", "good.tar.gz"]);
    assert_eq!(
        (checked.code, checked.stdout.as_str()),
        (Some(0), "good: 2 countries, 3 IPv4 and 1 IPv6 prefixes\n")
    );
}

#[test]
fn what_was_fetched_is_kept_and_used() {
    let directory = Directory::new();
    let none = geo(directory.path(), &["lookup", "192.0.2.1"]);
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("doorway geo update"), "{}", none.stderr);

    let url = serve(two_countries(), "\"one\"");
    let updated = geo(directory.path(), &["update", "--url", &url]);
    assert_eq!(updated.code, Some(0), "{}", updated.stderr);
    assert_eq!(
        updated.stdout,
        "updated: 3 IPv4 and 1 IPv6 prefixes, none before\n"
    );
    let updated = geo(directory.path(), &["update", "--url", &url]);
    assert_eq!(updated.stdout, "current: 3 IPv4 and 1 IPv6 prefixes\n");

    let found = geo(directory.path(), &["lookup", "--url", &url, "203.0.113.1"]);
    assert_eq!(found.stdout, "203.0.113.1\tFR\n", "{}", found.stderr);
    let stats = geo(directory.path(), &["stats", "--url", &url]);
    assert!(stats.stdout.ends_with("DE\t1\t1\nFR\t2\t0\n"), "{}", stats.stdout);
    assert!(stats.stdout.contains("# 2 countries"), "{}", stats.stdout);
}
