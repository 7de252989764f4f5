//! Where requests to a `<dynamic>` backend go.

use http::uri::{Authority, Scheme};
use http::{HeaderName, Uri};

use super::args::Args;
use super::context::FilterContext;
use super::exchange::DynamicTarget;
use super::filter::{Filter, Flow, Wants};
use super::registry::Filters;
use crate::Arg;
use crate::routing::ArgsError;

/// Says a part of the target.
#[derive(Debug)]
enum SetTarget {
    /// Always the same.
    Fixed(Said),
    /// What a field of the request says. Host is no such field, unless a filter has set it.
    Field(Part, HeaderName),
}

/// Which part.
#[derive(Clone, Copy, Debug)]
enum Part {
    Url,
    Host,
    Scheme,
}

/// What is said of the target.
#[derive(Clone, Debug)]
enum Said {
    Url(Scheme, Authority),
    Host(Authority),
    Scheme(Scheme),
}

pub(super) fn add(all: &mut Filters) {
    for (part, name, about) in [
        (
            Part::Url,
            "setDynamicBackendUrl",
            (
                "says scheme, host and port for a `<dynamic>` backend, whatever filters of host and scheme say",
                r#"setDynamicBackendUrl("https://www.example.org:8443")"#,
            ),
        ),
        (
            Part::Host,
            "setDynamicBackendHost",
            (
                "says host and port for a `<dynamic>` backend, which is asked by http unless a scheme is set",
                r#"setDynamicBackendHost("www.example.org:8080")"#,
            ),
        ),
        (
            Part::Scheme,
            "setDynamicBackendScheme",
            (
                "says http or https for a `<dynamic>` backend",
                r#"setDynamicBackendScheme("https")"#,
            ),
        ),
    ] {
        all.add(name, about, move |args| SetTarget::fixed(args, part));
    }
    for (part, name, about) in [
        (
            Part::Url,
            "setDynamicBackendUrlFromHeader",
            (
                "as `setDynamicBackendUrl`, from a field: whoever sends it reaches all that the proxy can",
                r#"setDynamicBackendUrlFromHeader("X-Backend-Url")"#,
            ),
        ),
        (
            Part::Host,
            "setDynamicBackendHostFromHeader",
            (
                "as `setDynamicBackendHost`, from a field: whoever sends it reaches all that the proxy can",
                r#"setDynamicBackendHostFromHeader("X-Backend-Host")"#,
            ),
        ),
        (
            Part::Scheme,
            "setDynamicBackendSchemeFromHeader",
            (
                "as `setDynamicBackendScheme`, from a field of the request",
                r#"setDynamicBackendSchemeFromHeader("X-Backend-Scheme")"#,
            ),
        ),
    ] {
        all.add(name, about, move |args| SetTarget::field(args, part));
    }
}

// === impl SetTarget ===

impl SetTarget {
    fn fixed(args: &[Arg], part: Part) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let text = args.text(part.what())?;
        let said = part.said(text).ok_or_else(|| args.expected(part.what()))?;
        args.end()?;
        Ok(Self::Fixed(said))
    }

    fn field(args: &[Arg], part: Part) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let name = args.field_name()?;
        args.end()?;
        Ok(Self::Field(part, name))
    }

    fn said(&self, cx: &FilterContext<'_>) -> Option<Said> {
        match self {
            Self::Fixed(said) => Some(said.clone()),
            Self::Field(part, name) => part.said(cx.request.headers.get(name)?.to_str().ok()?),
        }
    }
}

impl Filter for SetTarget {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        // What says nothing is passed over. A target that is not set then makes the request fail later.
        if let Some(said) = self.said(cx) {
            said.apply(cx);
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

// === impl Part ===

impl Part {
    fn what(self) -> &'static str {
        match self {
            Self::Url => "a URL of http or https",
            Self::Host => "a host, perhaps with a port",
            Self::Scheme => "http or https",
        }
    }

    fn said(self, text: &str) -> Option<Said> {
        match self {
            Self::Url => {
                let url = text.parse::<Uri>().ok()?;
                Some(Said::Url(
                    scheme(url.scheme_str()?)?,
                    authority(url.authority()?.as_str())?,
                ))
            }
            Self::Host => authority(text).map(Said::Host),
            Self::Scheme => scheme(text).map(Said::Scheme),
        }
    }
}

fn scheme(text: &str) -> Option<Scheme> {
    match text {
        _ if text.eq_ignore_ascii_case("http") => Some(Scheme::HTTP),
        _ if text.eq_ignore_ascii_case("https") => Some(Scheme::HTTPS),
        _ => None,
    }
}

/// A host and perhaps a port. A user's name before the host is a way to hide where a request goes, so it is refused.
fn authority(text: &str) -> Option<Authority> {
    let authority: Authority = text.parse().ok()?;
    let host = authority.host();
    let is_whole = authority.as_str() == host || authority.port_u16().is_some();
    let is_plain = !host.is_empty() && !text.contains('@');
    (is_whole && is_plain).then_some(authority)
}

// === impl Said ===

impl Said {
    /// A URL comes before host and scheme, whichever is said first, and so does the Host that goes with it.
    fn apply(self, cx: &mut FilterContext<'_>) {
        let target = &mut cx.exchange.dynamic;
        match self {
            Self::Url(scheme, authority) => {
                cx.set_outgoing_host(authority.as_str());
                cx.exchange.dynamic = DynamicTarget {
                    scheme: Some(scheme.as_str().to_owned()),
                    authority: Some(authority),
                    is_url: true,
                };
            }
            Self::Host(_) | Self::Scheme(_) if target.is_url => {}
            Self::Host(authority) => {
                target.authority = Some(authority.clone());
                cx.set_outgoing_host(authority.as_str());
            }
            Self::Scheme(scheme) => target.scheme = Some(scheme.as_str().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::trial::Trial;

    /// Where a request goes, and the Host that it has there.
    fn target(trial: &mut Trial, filters: &str) -> (Option<String>, Option<String>) {
        trial.request(filters);
        let exchange = &trial.exchange;
        let target = exchange.dynamic.authority.is_some();
        let host = exchange.outgoing_host.as_ref();
        (
            target.then(|| exchange.dynamic.to_string()),
            host.map(|host| host.to_str().unwrap().to_owned()),
        )
    }

    fn some(target: &str, host: &str) -> (Option<String>, Option<String>) {
        (Some(target.to_owned()), Some(host.to_owned()))
    }

    #[test]
    fn only_scheme_and_host_of_a_url_count() {
        let filters = r#"setDynamicBackendUrl("HTTPS://a:8443/path?query")"#;
        assert_eq!(
            target(&mut Trial::get("/"), filters),
            some("https://a:8443", "a:8443")
        );
    }

    #[test]
    fn host_and_scheme_can_be_said_apart() {
        assert_eq!(
            target(&mut Trial::get("/"), r#"setDynamicBackendHost("a")"#),
            some("http://a", "a")
        );
        assert_eq!(
            target(
                &mut Trial::get("/"),
                r#"setDynamicBackendScheme("https") -> setDynamicBackendHost("[::1]:80")"#
            ),
            some("https://[::1]:80", "[::1]:80")
        );
    }

    #[test]
    fn a_url_comes_before_host_and_scheme_in_any_order() {
        let (url, host) = (
            r#"setDynamicBackendUrl("http://a")"#,
            r#"setDynamicBackendHost("b") -> setDynamicBackendScheme("https")"#,
        );
        for filters in [format!("{url} -> {host}"), format!("{host} -> {url}")] {
            assert_eq!(
                target(&mut Trial::get("/"), &filters),
                some("http://a", "a"),
                "{filters}"
            );
        }
    }

    #[test]
    fn fields_of_the_request_say_it_too() {
        let mut trial = Trial::get("/").with("x-url", "https://a/b");
        assert_eq!(
            target(&mut trial, r#"setDynamicBackendUrlFromHeader("X-Url")"#),
            some("https://a", "a")
        );
        let mut trial = Trial::get("/").with("x-host", "b:1").with("x-scheme", "https");
        assert_eq!(
            target(
                &mut trial,
                r#"setDynamicBackendHostFromHeader("X-Host") -> setDynamicBackendSchemeFromHeader("X-Scheme")"#
            ),
            some("https://b:1", "b:1")
        );
    }

    #[test]
    fn what_says_nothing_leaves_the_target_unset() {
        for (filter, value) in [
            ("setDynamicBackendUrlFromHeader", "ftp://a"),
            ("setDynamicBackendUrlFromHeader", "//a"),
            ("setDynamicBackendUrlFromHeader", "/a"),
            ("setDynamicBackendUrlFromHeader", "http://user@a"),
            ("setDynamicBackendUrlFromHeader", ""),
            ("setDynamicBackendHostFromHeader", "user@a"),
            ("setDynamicBackendHostFromHeader", "a/b"),
            ("setDynamicBackendHostFromHeader", "a:99999"),
            ("setDynamicBackendHostFromHeader", "a:"),
            ("setDynamicBackendHostFromHeader", ":80"),
            ("setDynamicBackendHostFromHeader", ""),
        ] {
            let mut trial = Trial::get("/").with("x", value);
            let filters = format!(r#"{filter}("X")"#);
            assert_eq!(target(&mut trial, &filters), (None, None), "{filter} {value:?}");
        }
        let mut trial = Trial::get("/").with("x", "gopher");
        trial.request(r#"setDynamicBackendSchemeFromHeader("X")"#);
        assert_eq!(trial.exchange.dynamic, DynamicTarget::default());
    }

    #[test]
    fn the_host_of_the_client_is_never_the_target() {
        let filters = r#"setDynamicBackendHostFromHeader("Host")"#;
        assert_eq!(target(&mut Trial::get("/"), filters), (None, None));
    }

    #[test]
    fn what_a_route_says_wrongly_is_a_mistake() {
        for wrong in [
            r#"setDynamicBackendUrl("ftp://a")"#,
            r#"setDynamicBackendUrl("a")"#,
            r#"setDynamicBackendHost("http://a")"#,
            r#"setDynamicBackendScheme("h2c")"#,
            r#"setDynamicBackendHost("a", "b")"#,
            "setDynamicBackendUrlFromHeader()",
            r#"setDynamicBackendHostFromHeader("a b")"#,
        ] {
            assert!(
                Trial::mistake(wrong).starts_with("invalid_filter_params"),
                "{wrong}"
            );
        }
    }
}
