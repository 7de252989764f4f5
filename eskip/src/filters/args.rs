//! The arguments of a filter, one after the other.

use std::time::Duration;

use regex::Regex;

use crate::routing::ArgsError;
use crate::{Arg, Template};

/// Regular expressions that take more memory than this are refused.
pub(super) const MOST_REGEXP: usize = 1 << 20;

/// What [`Args::truth`] reads.
const TRUTH: &str = "\"true\" or \"false\"";

/// Reads arguments. Each mistake says which one it is and what was expected.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    all: &'a [Arg],
    next: usize,
}

// === impl Args ===

impl<'a> Args<'a> {
    /// Begins at the first.
    #[must_use]
    pub fn new(all: &'a [Arg]) -> Self {
        Self { all, next: 0 }
    }

    /// Whether there are more.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.next < self.all.len()
    }

    /// The next one, if there is one.
    #[expect(
        clippy::should_implement_trait,
        reason = "it is no iterator: most arguments are read by their kind"
    )]
    pub fn next(&mut self) -> Option<&'a Arg> {
        let arg = self.all.get(self.next)?;
        self.next = self.next.saturating_add(1);
        Some(arg)
    }

    /// There must be no more.
    ///
    /// # Errors
    ///
    /// There are.
    pub fn end(&self) -> Result<(), ArgsError> {
        if self.has_more() {
            let (most, given) = (self.next, self.all.len());
            return Err(ArgsError(format!(
                "expected at most {most} arguments, found {given}"
            )));
        }
        Ok(())
    }

    /// A text.
    ///
    /// # Errors
    ///
    /// It is missing, or a number.
    pub fn text(&mut self, what: &str) -> Result<&'a str, ArgsError> {
        let arg = self.next();
        arg.and_then(Arg::as_text).ok_or_else(|| self.expected(what))
    }

    /// The rest, as texts.
    ///
    /// # Errors
    ///
    /// There is a number.
    pub fn texts(&mut self, what: &str) -> Result<Vec<&'a str>, ArgsError> {
        let mut texts = Vec::new();
        while self.has_more() {
            texts.push(self.text(what)?);
        }
        Ok(texts)
    }

    /// The rest, as texts: one or more.
    ///
    /// # Errors
    ///
    /// There is a number, or nothing.
    pub fn some_texts(&mut self, what: &str) -> Result<Vec<&'a str>, ArgsError> {
        if !self.has_more() {
            return Err(ArgsError(format!("expected {what}")));
        }
        self.texts(what)
    }

    /// A text with placeholders.
    ///
    /// # Errors
    ///
    /// It is missing, or a number.
    pub fn template(&mut self, what: &str) -> Result<Template, ArgsError> {
        self.text(what).map(Template::parse)
    }

    /// The name of a header field.
    ///
    /// # Errors
    ///
    /// It is missing, or is none.
    pub fn field_name(&mut self) -> Result<http::HeaderName, ArgsError> {
        let text = self.text("the name of a header field")?;
        text.parse()
            .map_err(|_| self.expected("the name of a header field"))
    }

    /// A regular expression.
    ///
    /// # Errors
    ///
    /// It is missing, or is none, or takes too much memory.
    pub fn regexp(&mut self) -> Result<Regex, ArgsError> {
        let text = self.text("a regular expression")?;
        let built = regex::RegexBuilder::new(text).size_limit(MOST_REGEXP).build();
        built.map_err(|error| {
            ArgsError(format!(
                "argument {} is no regular expression: {error}",
                self.next
            ))
        })
    }

    /// A number.
    ///
    /// # Errors
    ///
    /// It is missing, or a text that is none.
    pub fn number(&mut self, what: &str) -> Result<f64, ArgsError> {
        let number = self.next().and_then(|arg| match arg {
            Arg::Number(number) => Some(*number),
            Arg::Text(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        });
        number.ok_or_else(|| self.expected(what))
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    ///
    /// It is missing, is none, or does not fit.
    pub fn whole<N: TryFrom<u64>>(&mut self, what: &str) -> Result<N, ArgsError> {
        let number = self.number(what)?;
        // All whole numbers up to 2^53 are exact.
        let whole = (0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was checked"
        )]
        let fitting = whole
            .then_some(number as u64)
            .and_then(|number| N::try_from(number).ok());
        fitting.ok_or_else(|| self.expected(what))
    }

    /// A length of time: a number of milliseconds, or a text such as `1m30s`.
    ///
    /// # Errors
    ///
    /// It is missing, is none, or is negative.
    pub fn duration(&mut self, what: &str) -> Result<Duration, ArgsError> {
        let duration = self.next().and_then(|arg| match arg {
            Arg::Number(millis) => Duration::try_from_secs_f64(millis / 1000.0).ok(),
            Arg::Text(text) => duration(text),
        });
        duration.ok_or_else(|| self.expected(what))
    }

    /// A length of time with its unit, a text such as `1m30s`.
    ///
    /// # Errors
    ///
    /// It is missing, is none, or is a number.
    pub fn text_duration(&mut self, what: &str) -> Result<Duration, ArgsError> {
        duration(self.text(what)?).ok_or_else(|| self.expected(what))
    }

    /// The text `true` or `false`.
    ///
    /// # Errors
    ///
    /// It is missing, or another one.
    pub fn truth(&mut self) -> Result<bool, ArgsError> {
        match self.text(TRUTH)? {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.expected(TRUTH)),
        }
    }

    /// A status from 100 to 599.
    ///
    /// # Errors
    ///
    /// It is missing, or is none.
    pub fn status(&mut self) -> Result<http::StatusCode, ArgsError> {
        let number: u16 = self.whole("a status")?;
        let status = http::StatusCode::from_u16(number)
            .ok()
            .filter(|status| status.as_u16() < 600);
        status.ok_or_else(|| self.expected("a status"))
    }

    /// The mistake that the argument before is not `what`.
    #[must_use]
    pub fn expected(&self, what: &str) -> ArgsError {
        ArgsError(format!("argument {}: expected {what}", self.next.max(1)))
    }
}

/// A length of time as Go writes it: numbers with units, such as `1h`, `1.5s`, `300ms`, `2m30s`; `0` alone.
pub(super) fn duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (mut rest, mut total) = (text, 0.0_f64);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at_checked(end)?;
        let end = behind
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(behind.len());
        let (unit, behind) = behind.split_at_checked(end)?;
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * seconds;
        rest = behind;
    }
    if text.is_empty() {
        None
    } else {
        Duration::try_from_secs_f64(total).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_go_writes_them() {
        for (text, millis) in [
            ("300ms", 300),
            ("1.5s", 1500),
            ("1m30s", 90_000),
            ("1h", 3_600_000),
            ("0", 0),
        ] {
            assert_eq!(duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for wrong in ["", "1", "ms", "-1s", "1x", "1s2", "1..s", "s1"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_are_whole() {
        let whole = |arg: Arg| Args::new(&[arg]).whole::<u16>("a number");
        assert_eq!(whole(Arg::Number(7.0)), Ok(7));
        assert_eq!(whole(Arg::Text("7".to_owned())), Ok(7));
        for wrong in [
            Arg::Number(7.5),
            Arg::Number(-1.0),
            Arg::Number(70_000.0),
            Arg::Text("x".to_owned()),
        ] {
            assert_eq!(whole(wrong).unwrap_err().0, "argument 1: expected a number");
        }
    }
}
