//! Reads the tables of requests. What is in a line is told in `tests/requests/README.md`.

use super::request::{CLOSED, Case, answered, broken, forwarded, refused, run};

/// The cases of a table.
pub(super) fn read(table: &str) -> Vec<Case> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| case(line).unwrap_or_else(|fault| panic!("{fault}: {line}")))
        .collect()
}

fn case(line: &str) -> Result<Case, String> {
    let mut parts = line.splitn(3, " | ");
    let mut part = || parts.next().ok_or("no case");
    let (id, expected, bytes) = (part()?, part()?, unescaped(part()?)?);
    let mut wishes = expected.split("; ");
    let (kind, statuses) = word(wishes.next().unwrap_or_default());
    let statuses = || statuses.split(' ').map(status).collect::<Result<Vec<_>, _>>();
    match kind {
        "refused" => Ok(refused(id, &statuses()?, bytes)),
        "broken" => Ok(broken(id, &statuses()?, bytes)),
        "answered" => Ok(answered(id, &statuses()?, bytes)),
        "run" => {
            let targets = wishes.next().and_then(|wish| wish.strip_prefix("targets "));
            let targets = targets.ok_or("no targets")?.split(' ');
            let closes = wishes.next() == Some("closes");
            Ok(run(id, bytes, &statuses()?, targets, closes))
        }
        "forwarded" => wishes.try_fold(forwarded(id, bytes), wish),
        _ => Err(format!("no expectation {kind}")),
    }
}

fn wish(case: Case, wish: &str) -> Result<Case, String> {
    let (kind, rest) = word(wish);
    let rest = unescaped(rest)?;
    let text = String::from_utf8_lossy(&rest);
    Ok(match kind {
        "target" => case.target(&text),
        "host" => case.host(&text),
        "body" => case.body(rest),
        "with" => {
            let colon = text.find(": ").ok_or("no colon")?;
            case.with(&text[..colon], &rest[colon + 2..])
        }
        "without" => case.without(text.split(' ')),
        "closes" => case.closes(true),
        "keeps" => case.closes(false),
        "or" => case.or(&text.split(' ').map(status).collect::<Result<Vec<_>, _>>()?),
        _ => return Err(format!("no wish {kind}")),
    })
}

fn word(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}

fn status(word: &str) -> Result<u16, String> {
    match word {
        "end" => Ok(CLOSED),
        digits => digits.parse().map_err(|_| format!("no status {digits}")),
    }
}

fn unescaped(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'\\' => match rest.next() {
                Some(b'r') => b'\r',
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'\\') => b'\\',
                Some(b'x') => {
                    let digits: Vec<u8> = rest.by_ref().take(2).collect();
                    let digits = String::from_utf8_lossy(&digits);
                    u8::from_str_radix(&digits, 16).map_err(|_| format!("no byte {digits}"))?
                }
                _ => return Err("no escape".to_owned()),
            },
            other => other,
        };
        bytes.push(byte);
    }
    Ok(bytes)
}
