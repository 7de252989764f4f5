//! The token that goes with requests.

use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use reqwest::header::HeaderValue;

use crate::error::LookupError;
use crate::secret::Secret;
use crate::settings::is_field_value;

/// A longer file is not that of a token.
const LONGEST: u64 = 4096;

/// Where the token comes from.
pub(super) struct Tokens {
    given: Option<HeaderValue>,
    file: Option<PathBuf>,
    /// What the file held when it was last read.
    read: Mutex<Option<(Stamp, Option<HeaderValue>)>>,
}

/// Tells whether a file has changed.
type Stamp = (Option<SystemTime>, u64);

// === impl Tokens ===

impl Tokens {
    pub(super) fn new(token: Option<&Secret>, file: Option<&Path>) -> Self {
        Self {
            given: token.and_then(|token| value(token.expose())),
            file: file.map(Into::into),
            read: Mutex::default(),
        }
    }

    /// The token now. Its file, a small one of this machine, is looked at each time and read when it has changed.
    pub(super) fn current(&self) -> Result<Option<HeaderValue>, LookupError> {
        let Some(file) = &self.file else {
            return Ok(self.given.clone());
        };
        let unreadable = |error: io::Error| LookupError::Token(error.to_string().into());
        let metadata = fs::metadata(file).map_err(unreadable)?;
        let stamp = (metadata.modified().ok(), metadata.len());
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, token)) = read.as_ref().filter(|(known, _)| *known == stamp) {
            return Ok(token.clone().or_else(|| self.given.clone()));
        }
        let unusable = |why: &str| LookupError::Token(why.into());
        if !metadata.is_file() {
            return Err(unusable("it is to be in a regular file"));
        }
        let mut text = String::new();
        let opened = fs::File::open(file).map_err(unreadable)?;
        opened
            .take(LONGEST + 1)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        if text.len() as u64 > LONGEST {
            return Err(unusable("its file is too long"));
        }
        let text = text.trim();
        if text.is_empty() && self.given.is_none() {
            // Who writes it may be half done. Without a token Consul would answer that there are no instances.
            return Err(unusable("its file is empty"));
        }
        if !is_field_value(text) {
            return Err(unusable("its file holds characters that no token has"));
        }
        let token = value(text);
        *read = Some((stamp, token.clone()));
        Ok(token.or_else(|| self.given.clone()))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("given", &self.given.is_some())
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

fn value(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok().filter(|_| !text.is_empty())?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tokens: &Tokens) -> Option<String> {
        let token = tokens.current().unwrap()?;
        Some(token.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_file_goes_before_the_token_and_is_read_again_when_it_changes() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        fs::write(&file, " first\n").unwrap();
        let tokens = Tokens::new(Some(&"given".into()), Some(&file));
        assert_eq!(shown(&tokens).as_deref(), Some("first"));
        fs::write(&file, "second one has another length").unwrap();
        assert!(tokens.current().is_err(), "spaces");
        fs::write(&file, "the-second").unwrap();
        assert_eq!(shown(&tokens).as_deref(), Some("the-second"));
        fs::write(&file, "").unwrap();
        assert_eq!(shown(&tokens).as_deref(), Some("given"));
        fs::remove_file(&file).unwrap();
        assert!(matches!(tokens.current(), Err(LookupError::Token(_))));
        assert!(!format!("{tokens:?}").contains("given\""));
    }

    #[test]
    fn a_file_without_a_token_is_an_error_and_no_request_without_one() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        let tokens = Tokens::new(None, Some(&file));
        let is_refused = || matches!(tokens.current(), Err(LookupError::Token(_)));
        for text in ["", " \n", &"a".repeat(4097)] {
            fs::write(&file, text).unwrap();
            assert!(is_refused(), "{} bytes", text.len());
        }
        fs::write(&file, "a".repeat(4096)).unwrap();
        assert_eq!(shown(&tokens).unwrap().len(), 4096);
        let endless = Tokens::new(None, Some(Path::new("/dev/zero")));
        assert!(matches!(endless.current(), Err(LookupError::Token(_))));
    }

    #[test]
    fn without_either_there_is_none() {
        assert_eq!(shown(&Tokens::new(None, None)), None);
        assert_eq!(shown(&Tokens::new(Some(&"".into()), None)), None);
    }
}
