//! `Accept-Encoding`: which coding a client likes best (RFC 9110, section 12.5.3).

use http::header::{self, HeaderMap};

use super::Coding;

/// What is done for a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// The best coding of those offered. `None`: the client takes none of them.
    pub(super) coding: Option<Coding>,
    /// The client refuses the plain form, and takes `coding`.
    pub(super) not_plain: bool,
}

/// How much a client likes something, in thousandths.
type Quality = u16;

const BEST: Quality = 1000;

/// What the client said, as far as it concerns the codings on offer.
struct Wishes<'h> {
    headers: &'h HeaderMap,
}

/// Chooses among `offered`, which are in order of preference.
pub(super) fn choose(headers: &HeaderMap, offered: &[Coding]) -> Choice {
    let wishes = Wishes { headers };
    let any = wishes.quality("*");
    let mut best: Option<(Quality, Coding)> = None;
    for coding in offered {
        let quality = wishes.quality(coding.name()).or(any).unwrap_or(0);
        if quality > best.map_or(0, |(best, _)| best) {
            best = Some((quality, *coding));
        }
    }
    let plain = wishes.quality("identity").or_else(|| any.filter(|any| *any == 0));
    Choice {
        coding: best.map(|(_, coding)| coding),
        not_plain: best.is_some() && plain == Some(0),
    }
}

// === impl Wishes ===

impl Wishes<'_> {
    /// The quality of a coding by its name, if it was named.
    fn quality(&self, name: &str) -> Option<Quality> {
        let values = self.headers.get_all(header::ACCEPT_ENCODING).iter();
        let items = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        let named = items.filter_map(|item| {
            let mut parts = item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let coding = parts.next().unwrap_or_default();
            // An old name of the same thing.
            let coding = if coding.eq_ignore_ascii_case(b"x-gzip") {
                b"gzip"
            } else {
                coding
            };
            coding
                .eq_ignore_ascii_case(name.as_bytes())
                .then(|| parts.find_map(quality).unwrap_or(BEST))
        });
        named.max()
    }
}

/// The value of a parameter `q`; what is no quality counts as none given.
fn quality(parameter: &[u8]) -> Option<Quality> {
    let (name, value) = std::str::from_utf8(parameter).ok()?.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let value: f32 = value.trim().parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be from 0 to 1"
    )]
    (0.0..=1.0)
        .contains(&value)
        .then(|| (value * f32::from(BEST)).round() as Quality)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const ALL: [Coding; 3] = [Coding::ZSTD, Coding::BROTLI, Coding::GZIP];

    fn chosen(lines: &[&'static str]) -> (Option<&'static str>, bool) {
        let fields = lines
            .iter()
            .map(|line| (header::ACCEPT_ENCODING, HeaderValue::from_static(line)));
        let choice = choose(&HeaderMap::from_iter(fields), &ALL);
        (choice.coding.map(Coding::name), choice.not_plain)
    }

    #[test]
    fn the_best_quality_wins_and_then_our_preference() {
        for (line, expected) in [
            ("gzip, deflate, br, zstd", Some("zstd")),
            ("gzip, br", Some("br")),
            ("gzip;q=1, br;q=0.9, zstd;q=0.5", Some("gzip")),
            ("GZIP ; Q=0.5", Some("gzip")),
            ("x-gzip", Some("gzip")),
            ("deflate", None),
            ("", None),
            ("gzip;q=0", None),
            ("gzip;q=0.0001", None),
            ("gzip;q=nonsense", Some("gzip")),
            ("gzip;q=7", Some("gzip")),
            ("gzip;foo=1;q=0", None),
            (",,;q=1, ;, gzip", Some("gzip")),
        ] {
            assert_eq!(chosen(&[line]), (expected, false), "{line}");
        }
    }

    #[test]
    fn a_star_stands_for_every_coding_that_is_not_named() {
        for (line, expected) in [
            ("*", Some("zstd")),
            ("zstd;q=0, *", Some("br")),
            ("gzip, *;q=0.1", Some("gzip")),
            ("*;q=0.5, br;q=0.4", Some("zstd")),
        ] {
            assert_eq!(chosen(&[line]), (expected, false), "{line}");
        }
    }

    #[test]
    fn the_plain_form_may_be_refused() {
        for (line, expected) in [
            ("gzip, identity;q=0", (Some("gzip"), true)),
            ("gzip, *;q=0", (Some("gzip"), true)),
            ("gzip, identity;q=0.1, *;q=0", (Some("gzip"), false)),
            ("identity;q=0", (None, false)),
            ("identity", (None, false)),
        ] {
            assert_eq!(chosen(&[line]), expected, "{line}");
        }
    }

    #[test]
    fn several_lines_are_one_list() {
        assert_eq!(chosen(&["gzip", "br"]), (Some("br"), false));
        assert_eq!(chosen(&[]), (None, false));
    }
}
