//! Where a store stands.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Which life of a store a number belongs to: one that has lost its data begins another.
///
/// 128 random bits, written as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Epoch(u128);

/// Where a store stands: each write adds one to the number.
///
/// Numbers of different epochs have nothing to do with each other, so there is no order.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Revision {
    /// The life of the store.
    pub epoch: Epoch,
    /// How many writes there were in it.
    pub number: u64,
}

/// No epoch: not 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("an epoch has 32 hexadecimal digits")]
pub struct EpochError;

// === impl Epoch ===

impl Epoch {
    /// One that was never there before.
    ///
    /// # Errors
    ///
    /// If the system gives no random numbers.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(u128::from_be_bytes(bytes)))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Epoch {
    type Err = EpochError;

    fn from_str(text: &str) -> Result<Self, EpochError> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex);
        number.map(Self).ok_or(EpochError)
    }
}

impl TryFrom<String> for Epoch {
    type Error = EpochError;

    fn try_from(text: String) -> Result<Self, EpochError> {
        text.parse()
    }
}

impl From<Epoch> for String {
    fn from(epoch: Epoch) -> Self {
        epoch.to_string()
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.epoch, self.number)
    }
}
