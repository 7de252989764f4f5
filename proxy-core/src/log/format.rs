//! The form of a line: JSON, or columns for people.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::filter::{Filtered, Filters};
use super::json::{JsonFields, push_string};
use super::time::{DurationFormat, TimeFormat};

/// How serious a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// What is logged.
pub(crate) trait Record {
    fn level(&self) -> Level;
    fn at(&self) -> SystemTime;
    fn message(&self) -> &str;
    /// Gives every field, in the order in which they are written.
    fn fields(&self, fields: &mut dyn Fields);
}

/// Takes the fields of a record.
pub(crate) trait Fields {
    fn text(&mut self, key: &str, value: &str);
    fn number(&mut self, key: &str, value: u64);
    fn duration(&mut self, key: &str, value: Duration);
    fn list(&mut self, key: &str, values: &mut dyn Iterator<Item = Cow<'_, str>>);
    fn value(&mut self, key: &str, value: &Value);
    /// Begins an object, which lasts until [`Fields::close`].
    fn open(&mut self, key: &str);
    fn close(&mut self);
}

/// The form of the lines of one log.
#[derive(Debug)]
pub(crate) struct Format {
    pub(crate) style: Style,
    pub(crate) keys: Keys,
    pub(crate) time: TimeFormat,
    pub(crate) duration: DurationFormat,
    pub(crate) level: LevelFormat,
    /// What ends a line.
    pub(crate) line_end: String,
    pub(crate) filters: Option<Filters>,
    /// Fields that each line has besides its own.
    pub(crate) append: Vec<(String, Value)>,
}

/// Whom lines are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Programs: one JSON object.
    Json,
    /// People: columns, with the fields as JSON behind them.
    Console,
}

/// The names of what every line has; an empty one leaves it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) level: String,
    pub(crate) time: String,
    pub(crate) name: String,
    pub(crate) message: String,
}

/// How levels are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LevelFormat {
    Lower,
    Upper,
    /// In capitals, with colours for a terminal.
    Colour,
}

// === impl Level ===

impl Level {
    fn lower(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    fn upper(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        }
    }

    fn coloured(self) -> &'static str {
        match self {
            Self::Debug => "\u{1b}[35mDEBUG\u{1b}[0m",
            Self::Info => "\u{1b}[34mINFO\u{1b}[0m",
            Self::Warn => "\u{1b}[33mWARN\u{1b}[0m",
            Self::Error => "\u{1b}[31mERROR\u{1b}[0m",
        }
    }

    fn in_format(self, format: LevelFormat) -> &'static str {
        match format {
            LevelFormat::Lower => self.lower(),
            LevelFormat::Upper => self.upper(),
            LevelFormat::Colour => self.coloured(),
        }
    }
}

// === impl Keys ===

impl Default for Keys {
    /// Those of Caddy.
    fn default() -> Self {
        Self {
            level: "level".to_owned(),
            time: "ts".to_owned(),
            name: "logger".to_owned(),
            message: "msg".to_owned(),
        }
    }
}

// === impl Format ===

impl Format {
    /// Lines of JSON as Caddy writes them.
    pub(crate) fn json() -> Self {
        Self {
            style: Style::Json,
            keys: Keys::default(),
            time: TimeFormat::Seconds,
            duration: DurationFormat::Seconds,
            level: LevelFormat::Lower,
            line_end: "\n".to_owned(),
            filters: None,
            append: Vec::new(),
        }
    }

    /// Lines for people as Caddy writes them.
    pub(crate) fn console(level: LevelFormat) -> Self {
        Self {
            style: Style::Console,
            time: TimeFormat::named("wall_milli", false),
            level,
            ..Self::json()
        }
    }

    /// The same in another style.
    pub(crate) fn in_style(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// The whole line of what the logger `name` says.
    pub(crate) fn line(&self, record: &dyn Record, name: &str) -> String {
        let mut line = String::with_capacity(1024);
        match self.style {
            Style::Json => self.json_line(record, name, &mut line),
            Style::Console => self.console_line(record, name, &mut line),
        }
        line.push_str(&self.line_end);
        line
    }

    fn json_line(&self, record: &dyn Record, name: &str, line: &mut String) {
        let keys = &self.keys;
        line.push('{');
        let mut fields = JsonFields::new(line, self.duration, false, false);
        if !keys.level.is_empty() {
            fields.text(&keys.level, record.level().in_format(self.level));
        }
        if !keys.time.is_empty() {
            let out = fields.key(&keys.time);
            if self.time.is_text() {
                let mut text = String::new();
                self.time.write(record.at(), &mut text);
                push_string(out, &text);
            } else {
                self.time.write(record.at(), out);
            }
        }
        if !keys.name.is_empty() {
            fields.text(&keys.name, name);
        }
        if !keys.message.is_empty() {
            fields.text(&keys.message, record.message());
        }
        self.fields(record, &mut fields);
        line.push('}');
    }

    fn console_line(&self, record: &dyn Record, name: &str, line: &mut String) {
        let keys = &self.keys;
        if !keys.time.is_empty() {
            self.time.write(record.at(), line);
            line.push('\t');
        }
        if !keys.level.is_empty() {
            line.push_str(record.level().in_format(self.level));
            line.push('\t');
        }
        if !keys.name.is_empty() {
            line.push_str(name);
            line.push('\t');
        }
        if !keys.message.is_empty() {
            line.push_str(record.message());
            line.push('\t');
        }
        line.push('{');
        self.fields(record, &mut JsonFields::new(line, self.duration, true, false));
        line.push('}');
    }

    fn fields(&self, record: &dyn Record, fields: &mut JsonFields<'_>) {
        match &self.filters {
            None => record.fields(fields),
            Some(filters) => record.fields(&mut Filtered::new(filters, fields)),
        }
        for (key, value) in &self.append {
            fields.value(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    struct Something;

    impl Record for Something {
        fn level(&self) -> Level {
            Level::Error
        }

        fn at(&self) -> SystemTime {
            UNIX_EPOCH + Duration::from_millis(1500)
        }

        fn message(&self) -> &str {
            "a \"b\""
        }

        fn fields(&self, fields: &mut dyn Fields) {
            fields.number("n", 1);
            fields.duration("d", Duration::from_millis(2));
        }
    }

    #[test]
    fn lines_have_the_shape_of_caddys() {
        assert_eq!(
            Format::json().line(&Something, "http"),
            "{\"level\":\"error\",\"ts\":1.500000,\"logger\":\"http\",\"msg\":\"a \\\"b\\\"\",\"n\":1,\"d\":0.002000000}\n"
        );
        assert_eq!(
            Format::console(LevelFormat::Colour).line(&Something, "http"),
            "1970/01/01 00:00:01.500\t\u{1b}[31mERROR\u{1b}[0m\thttp\ta \"b\"\t{\"n\": 1, \"d\": 0.002000000}\n"
        );
    }

    #[test]
    fn names_and_forms_can_be_set_or_left_out() {
        let format = Format {
            keys: Keys {
                level: "severity".to_owned(),
                time: "@t".to_owned(),
                name: String::new(),
                message: "message".to_owned(),
            },
            time: TimeFormat::named("rfc3339", false),
            duration: DurationFormat::Text,
            level: LevelFormat::Upper,
            line_end: "\r\n".to_owned(),
            append: vec![("a".to_owned(), "b".into())],
            ..Format::json()
        };
        assert_eq!(
            format.line(&Something, "http"),
            "{\"severity\":\"ERROR\",\"@t\":\"1970-01-01T00:00:01Z\",\"message\":\"a \\\"b\\\"\",\"n\":1,\"d\":\"2ms\",\"a\":\"b\"}\r\n"
        );
    }
}
