//! Where clients are: the databases that `doors_geo`, `geo_country` and `{geo.country}` ask, and what is counted.

mod counts;
mod source;
mod sources;

pub(crate) use self::counts::{Counts, Outcome};
pub(crate) use self::source::{Source, Terms};
pub(crate) use self::sources::{Asking, Sources};
