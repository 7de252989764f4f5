//! Values of fields in base64, and in other character sets than UTF-8.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use encoding_rs::Encoding;
use http::header::{HeaderName, HeaderValue};

use super::args::Args;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::headers::{Side, text};
use super::registry::Filters;
use crate::Arg;
use crate::routing::ArgsError;

/// Encodes or decodes the first value of a field, or one of its words. What cannot be decoded stays.
#[derive(Debug)]
struct Base64 {
    side: Side,
    way: Way,
    name: HeaderName,
    /// Which of the words between white space; `None`: the whole value.
    word: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Encode,
    Decode,
}

/// Writes the first value of a field in a character set. A value with a character that it has not stays.
#[derive(Debug)]
struct Encode {
    side: Side,
    name: HeaderName,
    charset: Charset,
}

/// A character set with one byte for each character.
#[derive(Clone, Copy, Debug)]
enum Charset {
    /// The first 256 characters. The standard for the web has Windows-1252 in its place.
    Latin1,
    /// The same with six Turkish letters. The standard for the web has Windows-1254 in its place.
    Latin5,
    /// One of that standard.
    Web(&'static Encoding),
}

/// Character sets as the filters name them.
const CHARSETS: &[(&str, &Encoding)] = &[
    ("ISO8859_2", encoding_rs::ISO_8859_2),
    ("ISO8859_3", encoding_rs::ISO_8859_3),
    ("ISO8859_4", encoding_rs::ISO_8859_4),
    ("ISO8859_5", encoding_rs::ISO_8859_5),
    ("ISO8859_6", encoding_rs::ISO_8859_6),
    ("ISO8859_7", encoding_rs::ISO_8859_7),
    ("ISO8859_8", encoding_rs::ISO_8859_8),
    ("ISO8859_10", encoding_rs::ISO_8859_10),
    ("ISO8859_13", encoding_rs::ISO_8859_13),
    ("ISO8859_14", encoding_rs::ISO_8859_14),
    ("ISO8859_15", encoding_rs::ISO_8859_15),
    ("ISO8859_16", encoding_rs::ISO_8859_16),
    ("KOI8R", encoding_rs::KOI8_R),
    ("KOI8U", encoding_rs::KOI8_U),
    ("Macintosh", encoding_rs::MACINTOSH),
    ("MacintoshCyrillic", encoding_rs::X_MAC_CYRILLIC),
    ("Windows1250", encoding_rs::WINDOWS_1250),
    ("Windows1251", encoding_rs::WINDOWS_1251),
    ("Windows1252", encoding_rs::WINDOWS_1252),
    ("Windows1253", encoding_rs::WINDOWS_1253),
    ("Windows1254", encoding_rs::WINDOWS_1254),
    ("Windows1255", encoding_rs::WINDOWS_1255),
    ("Windows1256", encoding_rs::WINDOWS_1256),
    ("Windows1257", encoding_rs::WINDOWS_1257),
    ("Windows1258", encoding_rs::WINDOWS_1258),
    ("Windows874", encoding_rs::WINDOWS_874),
];

/// The letters that ISO-8859-9 has in other places than ISO-8859-1, and where.
const TURKISH: [(char, u8); 6] = [
    ('Ğ', 0xD0),
    ('İ', 0xDD),
    ('Ş', 0xDE),
    ('ğ', 0xF0),
    ('ı', 0xFD),
    ('ş', 0xFE),
];

pub(super) fn add(all: &mut Filters) {
    for (name, side, way, does, example) in [
        (
            "encodeBase64RequestHeader",
            Side::Request,
            Way::Encode,
            "writes a field of the request in base64, or with a second argument one of its words, counted from 0",
            r#"encodeBase64RequestHeader("X-Filter")"#,
        ),
        (
            "decodeBase64RequestHeader",
            Side::Request,
            Way::Decode,
            "decodes the base64 of a field of the request, or with a second argument of one of its words, counted from 0",
            r#"decodeBase64RequestHeader("Authorization", 1)"#,
        ),
        (
            "encodeBase64ResponseHeader",
            Side::Response,
            Way::Encode,
            "writes a field of the answer in base64, or with a second argument one of its words, counted from 0",
            r#"encodeBase64ResponseHeader("X-State")"#,
        ),
        (
            "decodeBase64ResponseHeader",
            Side::Response,
            Way::Decode,
            "decodes the base64 of a field of the answer, or with a second argument of one of its words, counted from 0",
            r#"decodeBase64ResponseHeader("X-State")"#,
        ),
    ] {
        all.add(name, (does, example), move |args| Base64::create(args, side, way));
    }
    for (name, side, does, example) in [
        (
            "encodeRequestHeader",
            Side::Request,
            "writes a field of the request in a character set such as `ISO8859_1`, `KOI8R` or `Windows1252`",
            r#"encodeRequestHeader("X-Name", "ISO8859_1")"#,
        ),
        (
            "encodeResponseHeader",
            Side::Response,
            "writes a field of the answer in a character set such as `ISO8859_1`, `KOI8R` or `Windows1252`",
            r#"encodeResponseHeader("X-Name", "Windows1251")"#,
        ),
    ] {
        all.add(name, (does, example), move |args| Encode::create(args, side));
    }
}

// === impl Base64 ===

impl Base64 {
    fn create(args: &[Arg], side: Side, way: Way) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let name = args.field_name()?;
        let word = if args.has_more() {
            Some(args.whole("the index of a word")?)
        } else {
            None
        };
        args.end()?;
        Ok(Self {
            side,
            way,
            name,
            word,
        })
    }

    fn run(&self, cx: &mut FilterContext<'_>) -> Flow {
        let value = self.side.first(&self.name, cx);
        if let Some(value) = value.and_then(|value| self.change(value.as_bytes())) {
            self.side.set(&self.name, value, cx);
        }
        Flow::Next
    }

    fn change(&self, value: &[u8]) -> Option<HeaderValue> {
        let changed = match self.word {
            None => self.way.run(value)?,
            Some(index) => {
                let is_space = |byte: &u8| byte.is_ascii_whitespace();
                let words = value.split(is_space).filter(|word| !word.is_empty());
                let mut words: Vec<Vec<u8>> = words.map(<[u8]>::to_vec).collect();
                let word = words.get_mut(index)?;
                *word = self.way.run(word)?;
                words.join(&b' ')
            }
        };
        HeaderValue::try_from(changed).ok()
    }
}

impl Filter for Base64 {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn wants(&self) -> Wants {
        self.side.wants()
    }
}

// === impl Way ===

impl Way {
    fn run(self, data: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Encode => Some(STANDARD.encode(data).into_bytes()),
            Self::Decode => STANDARD.decode(data).ok(),
        }
    }
}

// === impl Encode ===

impl Encode {
    fn create(args: &[Arg], side: Side) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (name, charset) = (args.field_name()?, args.text("a character set")?);
        let charset = Charset::of(charset)
            .ok_or_else(|| args.expected("a character set, such as ISO8859_1, KOI8R or Windows1252"))?;
        args.end()?;
        Ok(Self { side, name, charset })
    }

    fn run(&self, cx: &mut FilterContext<'_>) -> Flow {
        let value = self.side.first(&self.name, cx);
        let encoded = value
            .filter(|value| !value.as_bytes().is_ascii())
            .and_then(|value| HeaderValue::try_from(self.charset.encode(text(&value)?)?).ok());
        if let Some(value) = encoded {
            self.side.set(&self.name, value, cx);
        }
        Flow::Next
    }
}

impl Filter for Encode {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn wants(&self) -> Wants {
        self.side.wants()
    }
}

// === impl Charset ===

impl Charset {
    fn of(name: &str) -> Option<Self> {
        match name {
            "ISO8859_1" => Some(Self::Latin1),
            "ISO8859_9" => Some(Self::Latin5),
            _ => {
                let found = CHARSETS.iter().find(|(known, _)| *known == name);
                found.map(|(_, encoding)| Self::Web(encoding))
            }
        }
    }

    /// `None` if there is a character that it has not.
    fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Latin1 => text.chars().map(|c| u8::try_from(c).ok()).collect(),
            Self::Latin5 => text.chars().map(latin5).collect(),
            Self::Web(encoding) => {
                let (encoded, _, had_errors) = encoding.encode(text);
                (!had_errors).then(|| encoded.into_owned())
            }
        }
    }
}

fn latin5(c: char) -> Option<u8> {
    match TURKISH.iter().find(|(letter, _)| *letter == c) {
        Some((_, byte)) => Some(*byte),
        None => {
            let byte = u8::try_from(c).ok()?;
            (!TURKISH.iter().any(|(_, taken)| *taken == byte)).then_some(byte)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::trial::Trial;

    #[test]
    fn fields_are_written_in_base64_and_read() {
        let mut trial = Trial::get("/")
            .with("x", "user:secret")
            .with("y", "Basic dTpw")
            .answered_with("x", "a  b")
            .answered_with("y", "YQ==");
        trial.run(
            r#"encodeBase64RequestHeader("X") -> decodeBase64RequestHeader("Y", 1) ->
            encodeBase64ResponseHeader("X", 1) -> decodeBase64ResponseHeader("Y")"#,
        );
        assert_eq!(trial.field("x"), ["dXNlcjpzZWNyZXQ="]);
        assert_eq!(trial.field("y"), ["Basic u:p"]);
        assert_eq!(trial.answer_field("x"), ["a Yg=="]);
        assert_eq!(trial.answer_field("y"), ["a"]);
    }

    #[test]
    fn what_cannot_be_decoded_stays() {
        let mut trial = Trial::get("/").with("x", "?").with("y", "Cg==").with("z", "YQ==");
        trial.request(
            r#"decodeBase64RequestHeader("X") -> decodeBase64RequestHeader("Y") -> decodeBase64RequestHeader("Z", 1)"#,
        );
        assert_eq!(trial.field("x"), ["?"]);
        assert_eq!(trial.field("y"), ["Cg=="], "a line feed is no value");
        assert_eq!(trial.field("z"), ["YQ=="], "there is no second word");
    }

    #[test]
    fn characters_are_written_as_the_set_says() {
        for (charset, text, bytes) in [
            ("ISO8859_1", "ä\u{80}", &[0xE4, 0x80][..]),
            ("ISO8859_9", "äŞ", &[0xE4, 0xDE]),
            ("ISO8859_15", "€", &[0xA4]),
            ("ISO8859_5", "я", &[0xEF]),
            ("KOI8R", "я", &[0xD1]),
            ("Windows1252", "€", &[0x80]),
            ("Windows1251", "я", &[0xFF]),
        ] {
            let mut trial = Trial::get("/").with("x", text).answered_with("x", text);
            trial.run(&format!(
                r#"encodeRequestHeader("X", "{charset}") -> encodeResponseHeader("X", "{charset}")"#
            ));
            assert_eq!(trial.parts.headers["x"].as_bytes(), bytes, "{charset}");
            assert_eq!(trial.headers["x"].as_bytes(), bytes, "{charset}");
        }
    }

    #[test]
    fn a_value_with_a_character_that_the_set_has_not_stays() {
        for charset in ["ISO8859_1", "ISO8859_9", "ISO8859_2"] {
            let mut trial = Trial::get("/").with("x", "я");
            trial.request(&format!(r#"encodeRequestHeader("X", "{charset}")"#));
            assert_eq!(trial.parts.headers["x"].as_bytes(), "я".as_bytes(), "{charset}");
        }
        assert_eq!(Charset::Latin5.encode("Ð"), None);
    }

    #[test]
    fn a_set_that_nobody_knows_is_a_mistake() {
        let mistake = Trial::mistake(r#"encodeRequestHeader("X", "UTF8")"#);
        assert!(
            mistake.contains("argument 2: expected a character set"),
            "{mistake}"
        );
    }
}
