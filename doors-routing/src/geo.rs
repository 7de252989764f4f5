//! Which visitors are sent to the site of their country.

use std::fmt;

use crate::{GeoError, is_system_path};

/// Codes are two letters: so many are possible.
pub const COUNTRY_CODES: usize = 26 * 26;

/// Where a certificate authority looks for the answer to its challenge (RFC 8555, section 8.3), from wherever in the world.
const ACME: &str = "/.well-known/acme-challenge/";

/// The code of a country: two letters of ASCII in upper case, as in ISO 3166-1 alpha-2.
pub type Country = [u8; 2];

/// A checked map from countries to the sites that their visitors belong to.
///
/// ```
/// use doors_routing::{GeoDecision, GeoRedirects, GeoRequest, Located, RedirectScheme};
///
/// let redirects = GeoRedirects::try_new([("eu.example.com", ["DE", "FR"])], RedirectScheme::Https)?;
/// let request = GeoRequest {
///     method: "GET",
///     target: "/docs?page=2",
///     host: "example.com",
///     is_https: true,
///     is_upgrade: false,
/// };
///
/// let GeoDecision::Redirect(redirect) = redirects.decide(&request, || Located::In(*b"DE")) else {
///     panic!("visitors from Germany belong elsewhere");
/// };
/// assert_eq!(redirect.location(), "https://eu.example.com/docs?page=2");
/// assert!(matches!(redirects.decide(&request, || Located::In(*b"US")), GeoDecision::Pass(_)));
/// # Ok::<(), doors_routing::GeoError>(())
/// ```
#[derive(Clone)]
pub struct GeoRedirects {
    sites: Vec<Site>,
    /// The number of a country's site, plus one; 0: it has none.
    by_country: Box<[u16; COUNTRY_CODES]>,
    scheme: RedirectScheme,
}

/// Where visitors are sent to.
#[derive(Clone, Debug)]
struct Site {
    /// Host and port as configured.
    authority: String,
    /// The host as hosts are compared.
    host: String,
}

/// The scheme that visitors are sent to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum RedirectScheme {
    /// Plain HTTP.
    Http,
    /// HTTPS, whatever the request came by: TLS may end in front of the proxy.
    #[default]
    Https,
    /// That of the request.
    Request,
}

/// What is known of a request before anybody asks where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct GeoRequest<'a> {
    /// As it came: methods have a case.
    pub method: &'a str,
    /// Path and query as they stand in the request, after dot segments were resolved, without scheme and host.
    pub target: &'a str,
    /// The host that was asked for, with or without a port, in any case; empty if there is none.
    pub host: &'a str,
    /// Whether the visitor speaks TLS: to the proxy, or to a trusted one in front of it.
    pub is_https: bool,
    /// Whether it asks for another protocol, such as a WebSocket's.
    pub is_upgrade: bool,
}

/// Where a client is, as far as that can be said.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Located {
    /// It has no address: it came by a unix socket.
    NoAddress,
    /// There is no data yet.
    NoData,
    /// Its address is in no country's networks.
    Unknown,
    /// It is in this country.
    In(Country),
}

/// What becomes of a request.
#[derive(Clone, Debug)]
pub enum GeoDecision<'a> {
    /// It goes on.
    Pass(PassReason),
    /// It is answered with a redirect.
    Redirect(Redirect<'a>),
}

/// Why a request passes. The reasons stand in the order in which they are looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PassReason {
    /// It is a system request of a Doors page: only the pod that has its session can answer.
    System,
    /// It is no GET.
    Method,
    /// A certificate authority asks for the answer to its challenge.
    Acme,
    /// It asks for another protocol.
    Upgrade,
    /// Its client has no address.
    NoAddress,
    /// There is no data yet.
    NoData,
    /// Its client's address is in no country's networks.
    UnknownCountry,
    /// This country has no site of its own.
    NoSite(Country),
    /// It came for the site of its country.
    AtHome(Country),
}

/// A visitor is sent to another site.
#[derive(Clone, Copy, Debug)]
pub struct Redirect<'a> {
    /// Where the client is.
    pub country: Country,
    scheme: &'static str,
    authority: &'a str,
    target: &'a str,
}

// === impl GeoRedirects ===

impl GeoRedirects {
    /// Domains with their countries. A domain is a host with or without a port; codes are read in any case.
    ///
    /// # Errors
    ///
    /// What is wrong first: a domain without countries, a code that is not two letters, a country with two domains, or no
    /// domain at all.
    pub fn try_new<D, C, S>(
        redirects: impl IntoIterator<Item = (D, C)>,
        scheme: RedirectScheme,
    ) -> Result<Self, GeoError>
    where
        D: Into<String>,
        C: IntoIterator<Item = S>,
        S: AsRef<str>,
    {
        let mut this = Self {
            sites: Vec::new(),
            by_country: Box::new([0; COUNTRY_CODES]),
            scheme,
        };
        for (domain, countries) in redirects {
            this.add(domain.into(), countries)?;
        }
        if this.sites.is_empty() {
            return Err(GeoError::NoDomain);
        }
        Ok(this)
    }

    fn add<S: AsRef<str>>(
        &mut self,
        authority: String,
        countries: impl IntoIterator<Item = S>,
    ) -> Result<(), GeoError> {
        let host = host_name(&authority).to_ascii_lowercase();
        if host.is_empty() || !authority.bytes().all(is_of_authority) {
            return Err(GeoError::Domain(authority));
        }
        let number = u16::try_from(self.sites.len().saturating_add(1)).unwrap_or(u16::MAX);
        let mut any = false;
        for code in countries {
            let code = code.as_ref();
            let place = country(code)
                .and_then(country_place)
                .and_then(|place| self.by_country.get_mut(place))
                .ok_or_else(|| GeoError::Country(code.to_owned()))?;
            if *place != 0 {
                return Err(GeoError::TwoDomains(code.to_ascii_uppercase()));
            }
            (*place, any) = (number, true);
        }
        if !any {
            return Err(GeoError::NoCountry(authority));
        }
        self.sites.push(Site { authority, host });
        Ok(())
    }

    /// Decides about one request. `locate` is asked only if nothing else lets the request pass.
    pub fn decide<'a>(
        &'a self,
        request: &GeoRequest<'a>,
        locate: impl FnOnce() -> Located,
    ) -> GeoDecision<'a> {
        if let Some(reason) = passes_anywhere(request) {
            return GeoDecision::Pass(reason);
        }
        let country = match locate() {
            Located::In(country) => country,
            Located::NoAddress => return GeoDecision::Pass(PassReason::NoAddress),
            Located::NoData => return GeoDecision::Pass(PassReason::NoData),
            Located::Unknown => return GeoDecision::Pass(PassReason::UnknownCountry),
        };
        let Some(site) = self.site(country) else {
            return GeoDecision::Pass(PassReason::NoSite(country));
        };
        if host_name(request.host).eq_ignore_ascii_case(&site.host) {
            return GeoDecision::Pass(PassReason::AtHome(country));
        }
        let is_https = match self.scheme {
            RedirectScheme::Http => false,
            RedirectScheme::Https => true,
            RedirectScheme::Request => request.is_https,
        };
        GeoDecision::Redirect(Redirect {
            country,
            scheme: if is_https { "https" } else { "http" },
            authority: &site.authority,
            target: request.target,
        })
    }

    /// The scheme that visitors are sent to. Only [`RedirectScheme::Request`] asks for that of the request.
    #[must_use]
    pub fn scheme(&self) -> RedirectScheme {
        self.scheme
    }

    /// The domain that visitors from `country` belong to, as configured.
    #[must_use]
    pub fn domain(&self, country: Country) -> Option<&str> {
        self.site(country).map(|site| site.authority.as_str())
    }

    fn site(&self, country: Country) -> Option<&Site> {
        let number = *self.by_country.get(country_place(country)?)?;
        self.sites.get(usize::from(number.checked_sub(1)?))
    }
}

impl fmt::Debug for GeoRedirects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GeoRedirects")
            .field("sites", &self.sites)
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

/// Why a request passes wherever it comes from.
fn passes_anywhere(request: &GeoRequest<'_>) -> Option<PassReason> {
    if is_system_path(request.target) {
        Some(PassReason::System)
    } else if request.method != "GET" {
        Some(PassReason::Method)
    } else if request.target.starts_with(ACME) {
        Some(PassReason::Acme)
    } else if request.is_upgrade {
        Some(PassReason::Upgrade)
    } else {
        None
    }
}

// === impl PassReason ===

impl PassReason {
    /// The country of the client, if that was found.
    #[must_use]
    pub fn country(self) -> Option<Country> {
        match self {
            Self::NoSite(country) | Self::AtHome(country) => Some(country),
            _ => None,
        }
    }
}

impl fmt::Display for PassReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, country) = match self {
            Self::System => ("it is a system request", None),
            Self::Method => ("it is no GET", None),
            Self::Acme => ("it is for a certificate authority", None),
            Self::Upgrade => ("it asks for another protocol", None),
            Self::NoAddress => ("its client has no address", None),
            Self::NoData => ("there is no data yet", None),
            Self::UnknownCountry => ("its address is in no country", None),
            Self::NoSite(country) => ("no domain is for", Some(country)),
            Self::AtHome(country) => ("it is at the domain for", Some(country)),
        };
        f.write_str(text)?;
        match country {
            Some(country) => write!(f, " {}", country.escape_ascii()),
            None => Ok(()),
        }
    }
}

// === impl Redirect ===

impl Redirect<'_> {
    /// The value of the field Location: the scheme, the configured domain, then path and query byte for byte. What could
    /// end a line or a path in some client's eyes (control and other bytes that are not printable ASCII, `\` and `#`) is
    /// percent-encoded. Whatever the path begins with, it is behind the domain and can't become part of it.
    #[must_use]
    pub fn location(&self) -> String {
        let slash = if self.target.starts_with('/') { "" } else { "/" };
        let parts = [self.scheme, "://", self.authority, slash];
        let length = parts
            .iter()
            .fold(self.target.len(), |sum, part| sum.saturating_add(part.len()));
        let mut location = String::with_capacity(length);
        location.extend(parts);
        if self.target.bytes().all(is_plain) {
            location.push_str(self.target);
            return location;
        }
        for byte in self.target.bytes() {
            if is_plain(byte) {
                location.push(char::from(byte));
            } else {
                location.push('%');
                location.extend([byte >> 4, byte & 0xf].map(hex));
            }
        }
        location
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'\\' && byte != b'#'
}

fn hex(half: u8) -> char {
    char::from_digit(half.into(), 16)
        .unwrap_or('0')
        .to_ascii_uppercase()
}

/// The code in upper case, if it is one.
fn country(code: &str) -> Option<Country> {
    let code: Country = code.as_bytes().try_into().ok()?;
    code.iter()
        .all(u8::is_ascii_alphabetic)
        .then(|| code.map(|letter| letter.to_ascii_uppercase()))
}

/// The place of a code among all possible ones in the order of the alphabet, below [`COUNTRY_CODES`]; `None` if it is not
/// two letters in upper case.
#[must_use]
pub fn country_place([first, second]: Country) -> Option<usize> {
    let number = |letter: u8| {
        letter
            .checked_sub(b'A')
            .filter(|number| *number < 26)
            .map(usize::from)
    };
    number(first)?.checked_mul(26)?.checked_add(number(second)?)
}

/// A host without its port, brackets and trailing dot; its case as it is.
fn host_name(authority: &str) -> &str {
    let name = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split_once(':').map_or(authority, |(name, _)| name),
    };
    name.strip_suffix('.').unwrap_or(name)
}

/// What stands in a host with its port, and nothing that could end it.
fn is_of_authority(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%:[]".contains(&byte) || !byte.is_ascii()
}
