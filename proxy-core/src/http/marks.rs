//! Which fields are there that the proxy itself looks for. One look at all names costs less than a search for each of
//! many that most requests do not have.

use http::header::{self, HeaderMap, HeaderName};

use super::forwarded;

/// The fields of a request's head that the proxy looks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(u16);

// === impl Marks ===

impl Marks {
    pub(crate) const EXPECT: Self = Self(1);
    pub(crate) const CONNECTION: Self = Self(1 << 1);
    pub(crate) const TE: Self = Self(1 << 2);
    pub(crate) const UPGRADE: Self = Self(1 << 3);
    /// Another field that concerns one connection only.
    pub(crate) const HOP_BY_HOP: Self = Self(1 << 4);
    pub(crate) const COOKIE: Self = Self(1 << 5);
    pub(crate) const VIA: Self = Self(1 << 6);
    /// A field that says who the client is.
    pub(crate) const FORWARDED: Self = Self(1 << 7);
    /// A name that could be taken for one of a forwarding field.
    pub(crate) const ALIAS: Self = Self(1 << 8);

    /// Looks at all names of `headers`.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        headers
            .keys()
            .fold(Self::default(), |marks, name| marks.and(of(name)))
    }

    /// Whether any of `wanted` is there.
    pub(crate) fn any(self, wanted: Self) -> bool {
        self.0 & wanted.0 != 0
    }

    /// These, but not `less`.
    pub(crate) const fn without(self, less: Self) -> Self {
        Self(self.0 & !less.0)
    }

    /// These and `more`.
    pub(crate) const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }
}

fn of(name: &HeaderName) -> Marks {
    match *name {
        header::EXPECT => Marks::EXPECT,
        header::CONNECTION => Marks::CONNECTION,
        header::TE => Marks::TE,
        header::UPGRADE => Marks::UPGRADE,
        header::TRANSFER_ENCODING | header::PROXY_AUTHORIZATION => Marks::HOP_BY_HOP,
        header::COOKIE => Marks::COOKIE,
        header::VIA => Marks::VIA,
        header::FORWARDED => Marks::FORWARDED,
        _ => of_text(name),
    }
}

fn of_text(name: &HeaderName) -> Marks {
    match name.as_str() {
        "keep-alive" | "proxy-connection" => Marks::HOP_BY_HOP,
        "x-real-ip" | "x-forwarded-for" | "x-forwarded-proto" | "x-forwarded-host" => Marks::FORWARDED,
        _ if forwarded::is_alias(name) => Marks::ALIAS,
        _ => Marks::default(),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn marks(names: &[&'static str]) -> Marks {
        let fields = names
            .iter()
            .map(|name| (HeaderName::from_static(name), HeaderValue::from_static("x")));
        Marks::of(&HeaderMap::from_iter(fields))
    }

    #[test]
    fn every_field_that_the_proxy_looks_for_leaves_its_mark() {
        for (name, mark) in [
            ("expect", Marks::EXPECT),
            ("connection", Marks::CONNECTION),
            ("te", Marks::TE),
            ("upgrade", Marks::UPGRADE),
            ("transfer-encoding", Marks::HOP_BY_HOP),
            ("keep-alive", Marks::HOP_BY_HOP),
            ("proxy-connection", Marks::HOP_BY_HOP),
            ("proxy-authorization", Marks::HOP_BY_HOP),
            ("cookie", Marks::COOKIE),
            ("via", Marks::VIA),
            ("forwarded", Marks::FORWARDED),
            ("x-real-ip", Marks::FORWARDED),
            ("x-forwarded-for", Marks::FORWARDED),
            ("x-forwarded-proto", Marks::FORWARDED),
            ("x-forwarded-host", Marks::FORWARDED),
            ("x_forwarded_for", Marks::ALIAS),
            ("x.forwarded.for", Marks::ALIAS),
        ] {
            assert_eq!(marks(&["host", name, "accept"]), mark, "{name}");
        }
    }

    #[test]
    fn other_fields_leave_none() {
        assert_eq!(
            marks(&["host", "user-agent", "x-forwarded-port", "x-custom"]),
            Marks::default()
        );
    }
}
