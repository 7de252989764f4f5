//! How a route shares its requests among several endpoints.

use std::time::{Duration, SystemTime};

use http::Uri;
use jiff::Timestamp;

use super::args::Args;
use super::registry::Filters;
use super::settings::FadeIn;
use super::settles::Settles;
use crate::routing::ArgsError;
use crate::{Arg, Template};

pub(super) fn add(all: &mut Filters) {
    all.add(
        "fadeIn",
        (
            "gives a new endpoint its share of the requests little by little, by an exponent",
            r#"fadeIn("3m", 1.5)"#,
        ),
        fade_in,
    );
    all.add(
        "endpointCreated",
        (
            "says when an endpoint was made, for `fadeIn`: RFC 3339, or seconds since 1970",
            r#"endpointCreated("http://10.0.0.1:8080", "2026-01-31T15:30:00Z")"#,
        ),
        |args| {
            let created = created(args)?;
            Ok(Settles::new(created, |route, created| {
                route.created.push(created.clone());
            }))
        },
    );
    all.add(
        "consistentHashKey",
        (
            "says what `consistentHash` goes by, in place of the address of the client",
            r#"consistentHashKey("${request.header.Authorization}")"#,
        ),
        |args| {
            let mut args = Args::new(args);
            let key = args.template("a text")?;
            args.end()?;
            Ok(Settles::new(key, |route, key: &Template| {
                route.hash_key = Some(key.clone());
            }))
        },
    );
    all.add(
        "consistentHashBalanceFactor",
        (
            "says how many times the average the load of an endpoint may be with `consistentHash`",
            "consistentHashBalanceFactor(1.25)",
        ),
        balance_factor,
    );
}

fn fade_in(args: &[Arg]) -> Result<Settles<FadeIn>, ArgsError> {
    let mut args = Args::new(args);
    let duration = args.duration("a length of time")?;
    let exponent = if args.has_more() {
        at_least(&mut args, 0.0, "an exponent that is not negative")?
    } else {
        1.0
    };
    args.end()?;
    let fade_in = FadeIn { duration, exponent };
    Ok(Settles::new(fade_in, |route, fade_in| {
        route.fade_in = Some(*fade_in);
    }))
}

fn balance_factor(args: &[Arg]) -> Result<Settles<f64>, ArgsError> {
    let mut args = Args::new(args);
    let factor = at_least(&mut args, 1.0, "a factor of 1 or more")?;
    args.end()?;
    Ok(Settles::new(factor, |route, factor| {
        route.balance_factor = Some(*factor);
    }))
}

fn at_least(args: &mut Args<'_>, least: f64, what: &str) -> Result<f64, ArgsError> {
    let number = args.number(what)?;
    if number >= least {
        Ok(number)
    } else {
        Err(args.expected(what))
    }
}

fn created(args: &[Arg]) -> Result<(String, SystemTime), ArgsError> {
    let mut args = Args::new(args);
    let what = "the address of an endpoint, such as `http://10.0.0.1:8080`";
    let endpoint = endpoint(args.text(what)?).ok_or_else(|| args.expected(what))?;
    let what = "a moment: RFC 3339, or seconds since 1970";
    let moment = args.next().and_then(moment).ok_or_else(|| args.expected(what))?;
    args.end()?;
    Ok((endpoint, moment))
}

/// Host and port of an address, in lower case.
fn endpoint(address: &str) -> Option<String> {
    let address: Uri = address.parse().ok()?;
    let port = match address.scheme_str()? {
        "http" | "h2c" => 80,
        "https" => 443,
        _ => return None,
    };
    let host = address.host().filter(|host| !host.is_empty())?;
    let port = address.port_u16().unwrap_or(port);
    Some(format!("{}:{port}", host.to_ascii_lowercase()))
}

fn moment(arg: &Arg) -> Option<SystemTime> {
    match arg {
        Arg::Number(seconds) => {
            let since = Duration::try_from_secs_f64(*seconds).ok()?;
            SystemTime::UNIX_EPOCH.checked_add(since)
        }
        Arg::Text(text) => SystemTime::try_from(text.parse::<Timestamp>().ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::trial::Trial;

    #[test]
    fn new_endpoints_fade_in_evenly_unless_an_exponent_is_given() {
        let fade_in = |text| Trial::settings(text).fade_in.unwrap();
        let (duration, exponent) = (Duration::from_secs(180), 1.0);
        assert_eq!(fade_in(r#"fadeIn("3m")"#), FadeIn { duration, exponent });
        assert_eq!(fade_in("fadeIn(180000)").duration, duration);
        assert_eq!(fade_in(r#"fadeIn("3m", 1.5)"#).exponent, 1.5);
        for wrong in [
            "fadeIn()",
            r#"fadeIn("x")"#,
            r#"fadeIn("3m", -1)"#,
            r#"fadeIn("3m", 1, 1)"#,
        ] {
            assert!(
                Trial::mistake(wrong).starts_with("invalid_filter_params"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn endpoints_are_told_by_host_and_port() {
        let settings = Trial::settings(
            r#"endpointCreated("http://A.example.org", 3600) -> endpointCreated("https://[::1]:8443/path", "1970-01-01T02:00:00+01:00")"#,
        );
        let hour = SystemTime::UNIX_EPOCH + Duration::from_secs(3600);
        assert_eq!(
            settings.created,
            [
                ("a.example.org:80".to_owned(), hour),
                ("[::1]:8443".to_owned(), hour)
            ]
        );
        for wrong in [
            r#"endpointCreated("10.0.0.1:80", 1)"#,
            r#"endpointCreated("http://a")"#,
            r#"endpointCreated("http://a", "yesterday")"#,
            r#"endpointCreated("http://a", -1)"#,
            r#"endpointCreated("http://a", 1, 1)"#,
        ] {
            assert!(
                Trial::mistake(wrong).starts_with("invalid_filter_params"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn hashing_goes_by_a_template_and_bounds_the_load() {
        let settings = Trial::settings(
            r#"consistentHashKey("${request.header.X}") -> consistentHashBalanceFactor(1.25)"#,
        );
        assert_eq!(settings.hash_key, Some(Template::parse("${request.header.X}")));
        assert_eq!(settings.balance_factor, Some(1.25));
        for wrong in [
            "consistentHashKey()",
            "consistentHashKey(1)",
            r#"consistentHashKey("a", "b")"#,
            "consistentHashBalanceFactor(0.9)",
            "consistentHashBalanceFactor()",
            "consistentHashBalanceFactor(1, 1)",
        ] {
            assert!(
                Trial::mistake(wrong).starts_with("invalid_filter_params"),
                "{wrong}"
            );
        }
    }
}
