//! One line of a log, in the form of JSON or for people.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime as Rfc3339};

/// The form of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    /// For people.
    Console { coloured: bool },
    /// One JSON object.
    Json,
}

/// What an event says.
#[derive(Debug)]
pub(super) struct Line {
    level: Level,
    since_epoch: Duration,
    logger: Cow<'static, str>,
    message: String,
    fields: Map<String, Value>,
}

// === impl Line ===

impl Line {
    /// Takes the event apart. The logger's name is the field `logger` if there is one, else the event's target with
    /// dots between its parts.
    pub(super) fn new(event: &Event<'_>, now: SystemTime) -> Self {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let target = event.metadata().target();
        Self {
            level: *event.metadata().level(),
            since_epoch: now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(),
            logger: match fields.logger {
                Some(name) => Cow::Owned(name),
                None if target.contains("::") => Cow::Owned(target.replace("::", ".")),
                None => Cow::Borrowed(target),
            },
            message: fields.message,
            fields: fields.others,
        }
    }

    /// The name that `include` and `exclude` of the configuration mean.
    pub(super) fn logger(&self) -> &str {
        &self.logger
    }

    /// How serious it is.
    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// The whole line with its line feed.
    pub(super) fn in_form(&self, form: Form) -> String {
        match form {
            Form::Console { coloured } => self.console(coloured),
            Form::Json => self.json(),
        }
    }

    fn json(&self) -> String {
        let level = match self.level {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO => "info",
            _ => "debug",
        };
        let (seconds, micros) = (self.since_epoch.as_secs(), self.since_epoch.subsec_micros());
        let (logger, message) = (
            Value::from(self.logger.as_ref()),
            Value::from(self.message.as_str()),
        );
        let mut line =
            format!(r#"{{"level":"{level}","ts":{seconds}.{micros:06},"logger":{logger},"msg":{message}"#);
        for (name, value) in &self.fields {
            // Writing to a string cannot fail.
            let _infallible = write!(line, ",{}:{value}", Value::from(name.as_str()));
        }
        line.push_str("}\n");
        line
    }

    fn console(&self, coloured: bool) -> String {
        let (on, off) = if coloured {
            (colour(self.level), "\x1b[0m")
        } else {
            ("", "")
        };
        let (time, level, logger) = (self.rfc3339(), self.level.as_str(), &self.logger);
        let message = printable(&self.message);
        let mut line = format!("{time} {on}{level:5}{off} {logger}: {message}");
        for (name, value) in &self.fields {
            let value = match value {
                Value::String(text) => quoted_if_needed(text),
                other => Cow::Owned(other.to_string()),
            };
            let _infallible = write!(line, " {name}={value}");
        }
        line.push('\n');
        line
    }

    fn rfc3339(&self) -> String {
        let mut text = String::new();
        // The formatter reads the clock itself; an error would only leave the text empty.
        let _infallible = Rfc3339.format_time(&mut Writer::new(&mut text));
        text
    }
}

/// The fields of an event, the two with a meaning apart.
#[derive(Debug, Default)]
struct Fields {
    message: String,
    logger: Option<String>,
    others: Map<String, Value>,
}

// === impl Fields ===

impl Fields {
    fn insert(&mut self, field: &Field, value: Value) {
        self.others.insert(field.name().to_owned(), value);
    }

    fn insert_text(&mut self, field: &Field, text: String) {
        match field.name() {
            "message" => self.message = text,
            "logger" => self.logger = Some(text),
            _ => self.insert(field, Value::from(text)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.insert_text(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert_text(field, value.to_owned());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, Value::from(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, Value::from(value));
    }
}

fn colour(level: Level) -> &'static str {
    match level {
        Level::ERROR => "\x1b[31m",
        Level::WARN => "\x1b[33m",
        Level::INFO => "\x1b[32m",
        _ => "\x1b[2m",
    }
}

/// `text` without control characters: a stranger's bytes must not move the cursor or begin a line.
fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(char::is_control) {
        return Cow::Owned(text.escape_debug().to_string());
    }
    Cow::Borrowed(text)
}

fn quoted_if_needed(text: &str) -> Cow<'_, str> {
    let plain = |character: char| !character.is_control() && !character.is_whitespace() && character != '"';
    if !text.is_empty() && text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{text:?}"))
}
