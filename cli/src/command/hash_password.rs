//! `doorway hash-password`: the hash of a password for `basic_auth`.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use anyhow::{Context as _, anyhow};
use proxy_core::PasswordAlgorithm;

use crate::args::{HashAlgorithm, HashPasswordArgs};
use crate::exit::{Outcome, say};
use crate::output;

/// The longest line that is read, in bytes. Argon2id would take more, but nobody types it.
const LIMIT: u64 = 64 * 1024;

/// Prints the hash.
pub(crate) fn hash_password(args: &HashPasswordArgs) -> Outcome {
    let algorithm = match args.algorithm {
        HashAlgorithm::Argon2id => PasswordAlgorithm::Argon2id,
        HashAlgorithm::Bcrypt => PasswordAlgorithm::Bcrypt,
    };
    let password = match &args.plaintext {
        Some(password) => password.clone(),
        None if io::stdin().is_terminal() => ask()?,
        None => read_line()?,
    };
    let hash = proxy_core::hash_password(algorithm, password.as_bytes());
    output::print_line(hash.map_err(anyhow::Error::new)?)
}

/// Asks twice, so that nobody is locked out by a slip of the finger that was not seen.
fn ask() -> anyhow::Result<String> {
    let _hidden = Hidden::begin();
    say("Password:");
    let password = read_line()?;
    say("The same again:");
    if read_line()? == password {
        Ok(password)
    } else {
        Err(anyhow!("the two passwords differ"))
    }
}

/// The first line of standard input, without its end.
fn read_line() -> anyhow::Result<String> {
    let mut line = String::new();
    let read = io::stdin().lock().take(LIMIT).read_line(&mut line);
    read.context("cannot read the password from standard input")?;
    if line.ends_with('\n') {
        line.pop();
        if line.ends_with('\r') {
            line.pop();
        }
    }
    Ok(line)
}

/// While it lives the terminal does not show what is typed.
struct Hidden {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

// === impl Hidden ===

#[cfg(unix)]
impl Hidden {
    fn begin() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(io::stdin()).ok();
        if let Some(mut hidden) = before.clone() {
            hidden.local_modes.remove(LocalModes::ECHO);
            let done = tcsetattr(io::stdin(), OptionalActions::Flush, &hidden);
            if done.is_err() {
                say("(what you type is shown)");
            }
        }
        Self { before }
    }
}

#[cfg(not(unix))]
impl Hidden {
    fn begin() -> Self {
        say("(what you type is shown)");
        Self {}
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            let restored =
                rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, before);
            if restored.is_err() {
                say("the terminal may still hide what you type; `stty echo` shows it again");
            }
        }
    }
}
