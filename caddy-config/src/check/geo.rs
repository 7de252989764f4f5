//! Rules about redirects by country.

/// The codes of ISO 3166-1, which are assigned to countries.
const ASSIGNED: &str = "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR \
    BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES \
    ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN \
    IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG \
    MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL \
    PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF \
    TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW";

/// A country by its two letters; in upper case.
pub(crate) fn country(code: &str) -> Result<String, &'static str> {
    if code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        Ok(code.to_ascii_uppercase())
    } else {
        Err("a country is written as two letters, such as DE")
    }
}

/// Whether a code in upper case is assigned to a country.
pub(crate) fn is_assigned(code: &str) -> bool {
    ASSIGNED.split(' ').any(|assigned| assigned == code)
}

/// The statuses that a redirect by country may have.
pub(crate) const REDIRECT_STATUSES: [&str; 3] = ["302", "307", "308"];

/// The status of a redirect by country. 301 and 303 are none: the one changes methods and is kept by caches, the other is
/// for answers to POST.
pub(crate) fn redirect_status(status: u16) -> Result<u16, &'static str> {
    match status {
        302 | 307 | 308 => Ok(status),
        _ => Err("expected 302, 307 or 308"),
    }
}

/// Where visitors are sent to: a host, with a port if need be.
pub(crate) fn redirect_domain(domain: &str) -> Result<(), &'static str> {
    let (host, port) = match domain.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, Some(port)),
        _ => (domain, None),
    };
    let fits = |port: &str| port.parse::<u16>().is_ok_and(|port| port != 0);
    if super::host(host).is_ok() && port.is_none_or(fits) {
        Ok(())
    } else {
        Err("this is not a host name, or a host name and a port")
    }
}

/// Where something is fetched from.
pub(crate) fn download_url(url: &str) -> Result<(), &'static str> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let plain = |c: char| c.is_ascii_graphic() && !"{}\"<>\\^`|".contains(c);
    match rest {
        Some(rest) if !rest.is_empty() && !rest.starts_with('/') && rest.chars().all(plain) => Ok(()),
        _ => Err("this is not a URL that begins with https:// or http://"),
    }
}

#[cfg(test)]
mod tests {
    use super::{REDIRECT_STATUSES, country, download_url, is_assigned, redirect_domain, redirect_status};

    #[test]
    fn countries_have_two_letters() {
        assert_eq!(country("de").as_deref(), Ok("DE"));
        for code in ["", "D", "DEU", "D1", "\u{e9}"] {
            assert!(country(code).is_err(), "{code}");
        }
        assert!(is_assigned("DE") && is_assigned("ZW") && !is_assigned("EU") && !is_assigned("XX"));
    }

    #[test]
    fn statuses_are_those_that_keep_a_get_a_get() {
        let known: Vec<u16> = REDIRECT_STATUSES
            .iter()
            .map(|status| status.parse().unwrap())
            .collect();
        let taken: Vec<u16> = (0..=999)
            .filter(|status| redirect_status(*status).is_ok())
            .collect();
        assert_eq!(taken, known);
    }

    #[test]
    fn targets_are_hosts_and_urls() {
        assert!(redirect_domain("eu.example.com").is_ok() && redirect_domain("localhost:8080").is_ok());
        for domain in ["", "a b", "https://a", "a:0", "a:b", "a/b"] {
            assert!(redirect_domain(domain).is_err(), "{domain}");
        }
        assert!(download_url("https://a.test/x.tar.gz?y=1").is_ok());
        for url in [
            "",
            "https://",
            "ftp://a",
            "https:///x",
            "https://a b",
            "{env.URL}",
        ] {
            assert!(download_url(url).is_err(), "{url}");
        }
    }
}
