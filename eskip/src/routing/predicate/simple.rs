//! Predicates of the method, the body's length, the process, and those that always or never hold.

use http::Method;

use super::{ArgsError, Predicate, Predicates, all_texts, some_texts, texts, wanted};
use crate::{Arg, routing::Asked};

/// The methods that `Methods` takes.
const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE",
];

/// `True()` and `False()`.
#[derive(Debug)]
struct Always(bool);

/// `Method("GET")`: as it is written.
#[derive(Debug)]
struct OneMethod(Method);

/// `Methods("get", "post")`: in any case, also the request's.
#[derive(Debug)]
struct Methods(Vec<&'static str>);

/// `Shutdown()`.
#[derive(Debug)]
struct Shutdown;

/// `Tee("label")`.
#[derive(Debug)]
struct Tee(String);

/// `ContentLengthBetween(min, max)`.
#[derive(Debug)]
struct ContentLengthBetween(u64, u64);

pub(super) fn add(all: &mut Predicates) {
    all.add("True", ("always", r#"True()"#), |_| Ok(Always(true)));
    all.add("False", ("never", r#"False()"#), |_| Ok(Always(false)));
    all.add("Method", ("the method is this one", r#"Method("GET")"#), |args| {
        let [method] = texts(args, "one method")?;
        Ok(OneMethod(method.parse().or_else(|_| wanted("one method"))?))
    });
    all.add(
        "Methods",
        (
            "the method is one of these, in any case",
            r#"Methods("GET", "HEAD")"#,
        ),
        |args| {
            let names = some_texts(args, "one or more methods")?;
            let one = |name: &&str| {
                let known = METHODS.iter().find(|known| known.eq_ignore_ascii_case(name));
                let unknown = || ArgsError(format!("{name:?} is none of {}", METHODS.join(", ")));
                known.copied().ok_or_else(unknown)
            };
            Ok(Methods(names.iter().map(one).collect::<Result<_, _>>()?))
        },
    );
    all.add(
        "Shutdown",
        (
            "the process was told to stop; so a health check can fail while requests still come",
            r#"Shutdown()"#,
        ),
        |args| match all_texts(args, "no arguments")?.as_slice() {
            [] => Ok(Shutdown),
            _ => wanted("no arguments"),
        },
    );
    all.add(
        "Tee",
        (
            "the request was doubled by `teeLoopback` with this label",
            r#"Tee("shadow")"#,
        ),
        |args| {
            let [label] = texts(args, "one label")?;
            Ok(Tee(label.to_owned()))
        },
    );
    all.add(
        "ContentLengthBetween",
        (
            "the body has from so many to below so many bytes",
            r#"ContentLengthBetween(0, 5000)"#,
        ),
        |args| {
            let what = "two lengths in bytes, the first below the second";
            match args {
                [Arg::Number(from), Arg::Number(to)] => match (whole(*from), whole(*to)) {
                    (Some(from), Some(to)) if from < to => Ok(ContentLengthBetween(from, to)),
                    _ => wanted(what),
                },
                _ => wanted(what),
            }
        },
    );
}

/// A number that counts something.
pub(super) fn whole(number: f64) -> Option<u64> {
    // Above, not every whole number is one of these.
    const MOST: f64 = 9_007_199_254_740_992.0;
    let counts = number.fract() == 0.0 && (0.0..=MOST).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and in the range"
    )]
    let whole = number as u64;
    counts.then_some(whole)
}

impl Predicate for Always {
    fn holds(&self, _: &Asked<'_>) -> bool {
        self.0
    }
}

impl Predicate for OneMethod {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        self.0 == *asked.method
    }
}

impl Predicate for Methods {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        let method = asked.method.as_str();
        self.0.iter().any(|known| known.eq_ignore_ascii_case(method))
    }
}

impl Predicate for Shutdown {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        asked.is_shutting_down
    }
}

impl Predicate for Tee {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        asked.tee == Some(self.0.as_str())
    }
}

impl Predicate for ContentLengthBetween {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        asked
            .content_length
            .is_some_and(|length| (self.0..self.1).contains(&length))
    }
}
