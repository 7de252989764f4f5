//! The crate as its users see it.

#[cfg(test)]
mod desired;
#[cfg(test)]
mod document;
#[cfg(test)]
mod render;
#[cfg(feature = "sync")]
#[cfg(test)]
mod sync;
