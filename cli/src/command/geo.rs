//! `doorway geo`: the countries of addresses, by the archive that the proxy would use.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow};
use geo_db::archive::{self, Limits};
use geo_db::updater::{Outcome as Updated, Progress, Proxies, Settings, Updater};
use geo_db::{Counts, Database, Loaded, Table};

use crate::args::{GeoCommand, GeoFrom, GeoUrl};
use crate::exit::{self, Failure, Outcome};
use crate::output;
use crate::settings::Environment;

/// Where the proxy keeps archives, in the data directory.
const DIRECTORY: &str = "geo";

/// Carries out one of the geo commands.
pub(crate) fn geo(command: &GeoCommand, environment: &Environment) -> Outcome {
    match command {
        GeoCommand::Lookup { from, addresses } => lookup(from, addresses, environment),
        GeoCommand::Update { url, force } => update(url, *force, environment),
        GeoCommand::Stats { from } => stats(from, environment),
        GeoCommand::Check { file } => check(file),
    }
}

// === lookup ===

fn lookup(from: &GeoFrom, addresses: &[String], environment: &Environment) -> Outcome {
    let table = database(from, environment)?
        .table()
        .ok_or_else(|| anyhow!("there is no table"))?;
    let mut output = io::BufWriter::new(io::stdout().lock());
    let mut wrong = 0_u64;
    let given = addresses.iter().filter(|address| *address != "-");
    for address in given {
        wrong += u64::from(!answer(&table, address, address, &mut output)?);
    }
    if addresses.is_empty() || addresses.iter().any(|address| address == "-") {
        wrong += lookup_lines(&table, BufReader::new(io::stdin().lock()), &mut output)?;
    }
    output.flush()?;
    match wrong {
        0 => Ok(()),
        _ => Err(Failure::Report(format!("{wrong} of them were no addresses"))),
    }
}

/// Answers line by line; what is there is answered before more is waited for. Gives how many lines were no addresses.
fn lookup_lines<R: io::Read>(
    table: &Table,
    mut input: BufReader<R>,
    output: &mut impl Write,
) -> Result<u64, Failure> {
    /// The longest address has 45 characters.
    const LONGEST: u64 = 1024;
    let (mut line, mut number, mut wrong) = (Vec::new(), 0_u64, 0);
    loop {
        if input.buffer().is_empty() {
            output.flush()?;
        }
        line.clear();
        let read = io::Read::take(&mut input, LONGEST).read_until(b'\n', &mut line);
        if read.context("cannot read standard input")? == 0 {
            return Ok(wrong);
        }
        number += 1;
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if !text.is_empty() {
            let name = format!("line {number}");
            wrong += u64::from(!answer(table, text, &name, output)?);
        }
    }
}

/// Whether `text` is an address. `name` is how a complaint calls it.
fn answer(table: &Table, text: &str, name: &str, output: &mut impl Write) -> Result<bool, io::Error> {
    let Ok(address) = text.parse::<IpAddr>() else {
        let short: String = text.chars().take(60).collect();
        exit::say(&format!("{name}: {short:?} is no IP address"));
        return Ok(false);
    };
    match table.lookup(address) {
        Some(country) => writeln!(output, "{address}\t{country}")?,
        None => writeln!(output, "{address}\t-")?,
    }
    Ok(true)
}

// === update ===

fn update(url: &GeoUrl, force: bool, environment: &Environment) -> Outcome {
    let settings = Settings {
        force,
        ..settings(url, environment)
    };
    let kept = settings.directory.clone();
    let database = Database::default();
    let mut updater = updater(settings, &database)?;
    let shows = io::stderr().is_terminal();
    let mut seen = 0;
    let updated = waiting()?.block_on(updater.update(|progress| {
        if shows {
            show(progress, &mut seen);
        }
    }));
    if shows && seen > 0 {
        exit::say("");
    }
    let updated = updated.context("the archive was not updated")?;
    let after = database.status().loaded.map(|loaded| loaded.prefixes);
    let text = match (updated, after) {
        (Updated::Replaced { before, after }, _) => format!("updated: {}", change(before, after)),
        (Updated::Current, Some(counts)) => format!("current: {}", prefixes(counts)),
        (Updated::Current, None) => "current".to_owned(),
    };
    output::print_line(text)?;
    if kept.is_none() {
        exit::say(
            "warning: it is not kept: set HOME or XDG_DATA_HOME, below which there is a directory for it",
        );
    }
    Ok(())
}

/// Rewrites the line of the terminal, once for each 64 KiB.
fn show(progress: Progress, seen: &mut u64) {
    const STEP: u64 = 64 * 1024;
    if progress.received / STEP < *seen {
        return;
    }
    *seen = progress.received / STEP + 1;
    let kib = |bytes: u64| bytes / 1024;
    let mut line = format!("\r{} KiB", kib(progress.received));
    if let Some(total) = progress.total.filter(|total| *total > 0) {
        let done = usize::try_from(progress.received.saturating_mul(30) / total).unwrap_or(30);
        let bar: String = (0..30).map(|at| if at < done { '#' } else { '.' }).collect();
        line = format!("\r[{bar}] {} of {} KiB", kib(progress.received), kib(total));
    }
    // A terminal that has gone need not be told.
    let _unheard = write!(io::stderr().lock(), "{line}");
}

fn change(before: Option<Counts>, after: Counts) -> String {
    let Some(before) = before else {
        return format!("{}, none before", prefixes(after));
    };
    let family = |name: &str, before: usize, after: usize| {
        if after >= before {
            format!("{after} {name} prefixes (+{})", after - before)
        } else {
            format!("{after} {name} prefixes (-{})", before - after)
        }
    };
    format!(
        "{}, {}",
        family("IPv4", before.ipv4, after.ipv4),
        family("IPv6", before.ipv6, after.ipv6)
    )
}

fn prefixes(counts: Counts) -> String {
    format!("{} IPv4 and {} IPv6 prefixes", counts.ipv4, counts.ipv6)
}

// === stats ===

fn stats(from: &GeoFrom, environment: &Environment) -> Outcome {
    let database = database(from, environment)?;
    let status = database.status();
    let (Some(table), Some(loaded)) = (database.table(), &status.loaded) else {
        return Err(anyhow!("there is no table").into());
    };
    let mut text = facts(loaded, status.age(now()).filter(|_| from.archive.is_none()));
    for (country, counts) in table.countries() {
        text.push_str(&format!("{country}\t{}\t{}\n", counts.ipv4, counts.ipv6));
    }
    output::print(&text)
}

/// The lines above the countries; each begins with `#`, so that programs can pass over them.
fn facts(loaded: &Loaded, age: Option<Duration>) -> String {
    let age = age.map_or_else(String::new, |age| format!(", {} old", span(age)));
    format!(
        "# {}{age}\n# {} countries, {}, {} KiB of memory\n# country\tIPv4\tIPv6\n",
        loaded.source,
        loaded.countries,
        prefixes(loaded.prefixes),
        loaded.bytes / 1024
    )
}

/// A time span by its largest unit, such as `3 hours`.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

// === check ===

fn check(file: &Path) -> Outcome {
    let table = read(file)?;
    output::print_line(format!(
        "good: {} countries, {}",
        table.countries().len(),
        prefixes(table.counts())
    ))
}

// === where the table comes from ===

/// The database that `from` means, with a table.
fn database(from: &GeoFrom, environment: &Environment) -> Result<Database, Failure> {
    let database = Database::default();
    if let Some(file) = &from.archive {
        database.replace(read(file)?, file.display().to_string(), now());
        return Ok(database);
    }
    let settings = settings(&from.url, environment);
    let directory = settings.directory.clone();
    let mut updater = updater(settings, &database)?;
    waiting()?.block_on(updater.restore());
    if database.has_data() {
        return Ok(database);
    }
    let place = directory.map_or_else(
        || "HOME and XDG_DATA_HOME are not set, so none is kept".to_owned(),
        |directory| format!("none is kept in {}", directory.display()),
    );
    Err(anyhow!("there is no archive: {place}; run `doorway geo update`, or name one with --archive").into())
}

fn read(file: &Path) -> Result<Arc<Table>, Failure> {
    let name = file.display();
    let from = File::open(file).with_context(|| format!("cannot read {name}"))?;
    let table = archive::read(from, &Limits::default()).with_context(|| format!("{name} is refused"))?;
    Ok(Arc::new(table))
}

fn settings(url: &GeoUrl, environment: &Environment) -> Settings {
    let mut settings = Settings {
        directory: environment.data_dir().map(|data| data.join(DIRECTORY)),
        proxies: Proxies::from_vars(|name| environment.get(name).map(str::to_owned)),
        ..Settings::default()
    };
    if let Some(url) = &url.url {
        settings.url.clone_from(url);
    }
    settings
}

fn updater(settings: Settings, database: &Database) -> Result<Updater, Failure> {
    // One request is not spread over time, so that no seed is needed.
    let updater = Updater::try_new(settings, database.clone(), now, 0);
    updater.map_err(|error| Failure::Usage(error.to_string()))
}

fn waiting() -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(built.context("cannot start the runtime")?)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a command that ends at once tells how old a file is by the wall clock"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_answered_one_by_one_and_bad_ones_are_counted() {
        let of = |prefix: &str, country: &str| (prefix.parse().unwrap(), country.parse().unwrap());
        let table = Table::new([of("192.0.2.0/24", "DE"), of("2001:db8::/32", "FR")]).unwrap();
        let input = "192.0.2.7\n\n 2001:db8::1 \n::ffff:192.0.2.7\nno\n198.51.100.1";
        let mut output = Vec::new();
        let wrong = lookup_lines(&table, BufReader::new(input.as_bytes()), &mut output);
        assert_eq!(wrong.ok(), Some(1));
        assert_eq!(
            String::from_utf8(output).unwrap(),
            "192.0.2.7\tDE\n2001:db8::1\tFR\n::ffff:192.0.2.7\tDE\n198.51.100.1\t-\n"
        );
    }

    #[test]
    fn a_change_tells_what_came_and_what_went() {
        let counts = |ipv4, ipv6| Counts { ipv4, ipv6 };
        assert_eq!(
            change(Some(counts(10, 5)), counts(12, 4)),
            "12 IPv4 prefixes (+2), 4 IPv6 prefixes (-1)"
        );
        assert_eq!(
            change(None, counts(1, 0)),
            "1 IPv4 and 0 IPv6 prefixes, none before"
        );
    }

    #[test]
    fn spans_have_one_unit() {
        for (seconds, text) in [
            (0, "0 seconds"),
            (61, "1 minute"),
            (7200, "2 hours"),
            (86_400, "1 day"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), text);
        }
    }
}
