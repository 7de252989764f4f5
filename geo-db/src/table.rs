//! The table: which country an address belongs to.
//!
//! Prefixes nest, and the longest that holds an address decides. That question is answered once, when the table is
//! built: it keeps the disjoint ranges that the prefixes come down to, so that a look-up is one search for the last
//! range that begins at or before the address.

mod build;
mod ipv4;
mod ipv6;

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use ipnet::IpNet;

pub(crate) use self::build::Builder;
use self::{ipv4::Ipv4Ranges, ipv6::Ipv6Ranges};
use crate::CountryCode;

/// How many countries one table can tell apart.
pub const MAX_COUNTRIES: usize = 254;

/// The longest IPv6 prefix that a table can hold.
pub const MAX_IPV6_PREFIX: u8 = 64;

/// An address's country as the ranges hold it: 0 for none, else the country's place in [`Table::countries`] plus one.
type Id = u8;

/// The ranges without a country.
const NONE: Id = 0;

/// Which country an address belongs to, for IPv4 and IPv6. Immutable: an update is a new table.
pub struct Table {
    ipv4: Ipv4Ranges,
    ipv6: Ipv6Ranges,
    /// By [`Id`], so that no look-up needs a check.
    codes: [Option<CountryCode>; 256],
    /// In the order of the codes.
    counts: Box<[(CountryCode, Counts)]>,
}

/// How many prefixes of each family were given; one that was given twice counts twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// IPv4 prefixes.
    pub ipv4: usize,
    /// IPv6 prefixes.
    pub ipv6: usize,
}

/// What the layout of a [`Table`] cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// More than [`MAX_COUNTRIES`].
    #[error("more than {MAX_COUNTRIES} countries")]
    Countries,
    /// An IPv6 prefix longer than [`MAX_IPV6_PREFIX`].
    #[error("{prefix} is longer than /{MAX_IPV6_PREFIX}")]
    TooLong {
        /// The prefix as it was given.
        prefix: ipnet::Ipv6Net,
    },
    /// More prefixes of one family than 32 bits can count.
    #[error("too many prefixes")]
    Prefixes,
}

// === impl Table ===

impl Table {
    /// A table of `prefixes`. The longest prefix that holds an address decides; of equal ones, the later. Bits behind
    /// a prefix are ignored.
    ///
    /// # Errors
    ///
    /// If there are more than [`MAX_COUNTRIES`], or an IPv6 prefix is longer than [`MAX_IPV6_PREFIX`].
    pub fn new(prefixes: impl IntoIterator<Item = (IpNet, CountryCode)>) -> Result<Self, TableError> {
        let mut builder = Builder::default();
        for (prefix, country) in prefixes {
            let id = builder.country(country)?;
            builder.add(prefix, id)?;
        }
        builder.build()
    }

    /// The country of an address; `None` if no prefix holds it. An IPv4-mapped address is IPv4.
    pub fn lookup(&self, address: IpAddr) -> Option<CountryCode> {
        match address {
            IpAddr::V4(address) => self.lookup_ipv4(address),
            IpAddr::V6(address) => self.lookup_ipv6(address),
        }
    }

    /// The country of an IPv4 address.
    pub fn lookup_ipv4(&self, address: Ipv4Addr) -> Option<CountryCode> {
        self.code(self.ipv4.lookup(address.to_bits()))
    }

    /// The country of an IPv6 address, or of the IPv4 address that is mapped into it.
    pub fn lookup_ipv6(&self, address: Ipv6Addr) -> Option<CountryCode> {
        match address.to_ipv4_mapped() {
            Some(address) => self.lookup_ipv4(address),
            None => self.code(self.ipv6.lookup((address.to_bits() >> 64) as u64)),
        }
    }

    /// All countries with a prefix, in the order of their codes.
    pub fn countries(&self) -> impl ExactSizeIterator<Item = (CountryCode, Counts)> + '_ {
        self.counts.iter().copied()
    }

    /// How many prefixes the table was made of.
    pub fn counts(&self) -> Counts {
        self.counts
            .iter()
            .fold(Counts::default(), |sum, (_, counts)| sum.plus(*counts))
    }

    /// Whether the table was made of no prefix at all.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many bytes of memory the table takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            .saturating_add(self.ipv4.bytes())
            .saturating_add(self.ipv6.bytes())
            .saturating_add(size_of_val(&*self.counts))
    }

    fn code(&self, id: Id) -> Option<CountryCode> {
        self.codes.get(usize::from(id)).copied().flatten()
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("countries", &self.counts.len())
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

// === impl Counts ===

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            ipv4: self.ipv4.saturating_add(other.ipv4),
            ipv6: self.ipv6.saturating_add(other.ipv6),
        }
    }

    /// Both families together.
    pub fn total(self) -> usize {
        self.ipv4.saturating_add(self.ipv6)
    }
}

#[cfg(test)]
mod tests;
