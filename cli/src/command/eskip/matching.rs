//! `doorway eskip match`: which route a request is for.

use std::collections::HashMap;
use std::time::SystemTime;

use eskip::routing::{Asked, Clock, Dice, Predicates, Refused, RouteTable, TableOptions};
use eskip::{Layout, Route};
use http::{HeaderMap, header};

use proxy_core::Options;

use super::{filters_refused, lenient};
use crate::args::MatchArgs;
use crate::exit::{self, Failure, Outcome};
use crate::output;

/// Prints the route that a request is for, and why the others are not.
pub(super) fn explain(args: &MatchArgs) -> Outcome {
    // Before anything is read: a file that stands in the place of the URL is told so.
    let host = host(args)?;
    let document = lenient(&args.input)?;
    let options = TableOptions {
        ignore_trailing_slash: args.ignore_trailing_slash,
    };
    let routes = document.routes().map(|route| (route, route));
    let (table, invalid) = RouteTable::build(routes, &Predicates::default(), options);
    for route in &invalid {
        exit::say(&route.to_string());
    }
    let text = asked(args, host, |asked| told(&table, asked));
    output::print(&text)?;
    if text.starts_with("no route") {
        return Err(Failure::Report("no route is for the request".to_owned()));
    }
    Ok(())
}

fn host(args: &MatchArgs) -> Result<&str, Failure> {
    // `routes.eskip` alone is an authority, too.
    match (args.url.scheme(), args.url.authority()) {
        (Some(_), Some(authority)) => Ok(authority.as_str()),
        _ => Err(Failure::Usage(format!(
            "{} is no absolute URL; write one such as https://example.org/users",
            args.url
        ))),
    }
}

/// Asks with the request of the command line.
fn asked<R>(args: &MatchArgs, host: &str, ask: impl FnOnce(&Asked<'_>) -> R) -> R {
    let headers: HeaderMap = args.headers.iter().cloned().collect();
    // A field of that name says what the client does, too.
    let given = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let (now, chance) = (now(), args.chance);
    ask(&Asked {
        host: given.unwrap_or(host),
        path: args.url.path(),
        query: args.url.query().unwrap_or_default(),
        peer: Some(args.from),
        chance,
        clock: Clock(&|| now),
        dice: Dice(&|| chance),
        ..Asked::new(&args.method, &headers)
    })
}

fn told(table: &RouteTable<&Route>, asked: &Asked<'_>) -> String {
    let mut text = String::new();
    match table.find(asked) {
        Some(found) => {
            let route = eskip::print(std::slice::from_ref(*found.value()), Layout::Plain);
            text.push_str(&format!("{route}\n"));
            if let Some(refused) = filters_refused(found.value(), &Options::default()) {
                text.push_str(&format!("  here it would be left out: {}\n", refused.reason));
            }
            for (name, value) in found.params() {
                text.push_str(&format!("  ${{{name}}} is {value:?}\n"));
            }
        }
        None => text.push_str("no route is for this request\n"),
    }
    let routes: HashMap<&str, &Route> = table.iter().map(|(id, route)| (id, *route)).collect();
    for verdict in table.explain(asked) {
        let Some(refused) = verdict.refused else { continue };
        let id = if verdict.id.is_empty() {
            "the route"
        } else {
            verdict.id
        };
        let why = match refused {
            Refused::Predicate(number) => {
                let call = routes
                    .get(verdict.id)
                    .and_then(|route| route.predicates.get(number));
                call.map_or_else(|| refused.to_string(), |call| format!("{call} does not hold"))
            }
            other => other.to_string(),
        };
        text.push_str(&format!("not {id}: {why}\n"));
    }
    text
}

#[expect(
    clippy::disallowed_methods,
    reason = "a command that ends at once goes by the wall clock"
)]
fn now() -> SystemTime {
    SystemTime::now()
}
