//! A country's file in the archive: JSON with the country's code and its prefixes.
//!
//! ```json
//! {"country": "Andorra", "countryCode": "AD", "prefixes": {"ipv4": ["2.152.216.0/21"], "ipv6": ["2a00::/40"]}}
//! ```

use std::fmt;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::{
    CountryCode,
    archive::{Limits, Problem},
    table::Builder,
};

/// Adds the prefixes of the file of `country` to `builder`. Fields that nobody asked for are passed over.
///
/// # Errors
///
/// If the file is not such JSON, is another country's, or one of its prefixes is bad. The builder is of no use then.
pub(crate) fn read(
    file: &[u8],
    country: CountryCode,
    builder: &mut Builder,
    limits: &Limits,
) -> Result<(), Problem> {
    let id = builder.country(country).map_err(Problem::Table)?;
    let mut sink = Sink { builder, id, limits };
    let mut json = serde_json::Deserializer::from_slice(file);
    let file = File {
        country,
        sink: &mut sink,
    };
    json.deserialize_map(file)
        .and_then(|()| json.end())
        .map_err(Problem::Content)
}

/// Where prefixes go as soon as they are read.
struct Sink<'a> {
    builder: &'a mut Builder,
    id: u8,
    limits: &'a Limits,
}

/// The whole file.
struct File<'a, 'b> {
    country: CountryCode,
    sink: &'a mut Sink<'b>,
}

#[derive(Deserialize)]
#[serde(field_identifier)]
enum FileField {
    #[serde(rename = "countryCode")]
    Code,
    #[serde(rename = "prefixes")]
    Prefixes,
    #[serde(other)]
    Other,
}

/// The lists of both families.
struct Prefixes<'a, 'b>(&'a mut Sink<'b>);

#[derive(Deserialize)]
#[serde(field_identifier)]
enum FamilyField {
    #[serde(rename = "ipv4")]
    Ipv4,
    #[serde(rename = "ipv6")]
    Ipv6,
    #[serde(other)]
    Other,
}

/// Adds one prefix, or says what is wrong with it.
type Add = fn(&mut Sink<'_>, &str) -> Result<(), String>;

/// The list of one family.
struct List<'a, 'b> {
    sink: &'a mut Sink<'b>,
    add: Add,
}

/// One prefix of a list.
struct Prefix<'a, 'b> {
    sink: &'a mut Sink<'b>,
    add: Add,
}

// === impl File ===

impl<'de> Visitor<'de> for File<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a country with its code and prefixes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut code_read, mut prefixes_read) = (false, false);
        while let Some(field) = map.next_key()? {
            match field {
                FileField::Code if code_read => return Err(A::Error::duplicate_field("countryCode")),
                FileField::Code => {
                    let code: String = map.next_value()?;
                    if code.parse() != Ok(self.country) {
                        let (code, country) = (excerpt(&code), self.country);
                        return Err(A::Error::custom(format_args!(
                            "countryCode {code} is not {country}"
                        )));
                    }
                    code_read = true;
                }
                FileField::Prefixes if prefixes_read => {
                    return Err(A::Error::duplicate_field("prefixes"));
                }
                FileField::Prefixes => {
                    map.next_value_seed(Prefixes(&mut *self.sink))?;
                    prefixes_read = true;
                }
                FileField::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if !code_read {
            return Err(A::Error::missing_field("countryCode"));
        }
        if !prefixes_read {
            return Err(A::Error::missing_field("prefixes"));
        }
        Ok(())
    }
}

// === impl Prefixes ===

impl<'de> DeserializeSeed<'de> for Prefixes<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Prefixes<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lists ipv4 and ipv6")
    }

    /// A list that is not there is empty.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut ipv4_read, mut ipv6_read) = (false, false);
        while let Some(field) = map.next_key()? {
            let (read, add): (&mut bool, Add) = match field {
                FamilyField::Ipv4 => (&mut ipv4_read, add_ipv4),
                FamilyField::Ipv6 => (&mut ipv6_read, add_ipv6),
                FamilyField::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if std::mem::replace(read, true) {
                return Err(A::Error::custom("a family has two lists"));
            }
            map.next_value_seed(List {
                sink: &mut *self.0,
                add,
            })?;
        }
        Ok(())
    }
}

// === impl List ===

impl<'de> DeserializeSeed<'de> for List<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of prefixes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let add = self.add;
        loop {
            let sink = &mut *self.sink;
            if list.next_element_seed(Prefix { sink, add })?.is_none() {
                return Ok(());
            }
        }
    }
}

// === impl Prefix ===

impl<'de> DeserializeSeed<'de> for Prefix<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Prefix<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a prefix")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        (self.add)(self.sink, text).map_err(E::custom)
    }
}

// === impl Sink ===

impl Sink<'_> {
    fn check(&self, prefix: IpNet) -> Result<(), String> {
        if prefix.prefix_len() == 0 && !self.limits.allow_everything {
            return Err(format!("{prefix} is all addresses"));
        }
        if self.builder.len() >= self.limits.prefixes {
            return Err(format!("more than {} prefixes", self.limits.prefixes));
        }
        Ok(())
    }
}

fn add_ipv4(sink: &mut Sink<'_>, text: &str) -> Result<(), String> {
    let Ok(prefix) = text.parse::<Ipv4Net>() else {
        return Err(format!("{} is no IPv4 prefix", excerpt(text)));
    };
    sink.check(prefix.into())?;
    sink.builder.add_ipv4(prefix, sink.id);
    Ok(())
}

fn add_ipv6(sink: &mut Sink<'_>, text: &str) -> Result<(), String> {
    let Ok(prefix) = text.parse::<Ipv6Net>() else {
        return Err(format!("{} is no IPv6 prefix", excerpt(text)));
    };
    sink.check(prefix.into())?;
    sink.builder
        .add_ipv6(prefix, sink.id)
        .map_err(|error| error.to_string())
}

/// A stranger's text, quoted, printable and short.
fn excerpt(text: &str) -> String {
    let short: String = text.chars().take(50).collect();
    format!("{short:?}")
}
