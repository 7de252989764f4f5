//! `doorway token`: secrets and pod-IP tokens.

use std::fs;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use doors_token::{DecodeError, TokenCipher};

use crate::args::{SecretArgs, TokenCommand};
use crate::exit::{Failure, Outcome};
use crate::output;
use crate::settings::Environment;

/// Carries out one of the token commands.
pub(crate) fn token(command: &TokenCommand, environment: &Environment) -> Outcome {
    match command {
        TokenCommand::Secret => secret(),
        TokenCommand::Encode { address, secrets } => encode(*address, secrets, environment),
        TokenCommand::Decode { token, secrets } => decode(token, secrets, environment),
    }
}

fn secret() -> Outcome {
    output::print_line(doors_token::generate_secret().map_err(anyhow::Error::new)?)
}

fn encode(address: IpAddr, secrets: &SecretArgs, environment: &Environment) -> Outcome {
    output::print_line(cipher(secrets, environment)?.encode(address))
}

fn decode(token: &str, secrets: &SecretArgs, environment: &Environment) -> Outcome {
    let from_input = token == "-";
    if from_input && secrets.secret_file.iter().any(|file| is_stdin(file)) {
        return Err(Failure::Usage(
            "standard input cannot hold both the token and a secret".to_owned(),
        ));
    }
    let cipher = cipher(secrets, environment)?;
    let token = if from_input {
        read_stdin("the token")?
    } else {
        token.to_owned()
    };
    let address = cipher
        .decode(token.trim())
        .map_err(|error| anyhow!("{}: {error}", kind(error)))?;
    output::print_line(address)
}

/// The kind of a decoding error, one word for scripts.
fn kind(error: DecodeError) -> &'static str {
    match error {
        DecodeError::Base64 => "base64",
        DecodeError::Cipher => "cipher",
        DecodeError::Address => "address",
        _ => "token",
    }
}

/// The cipher of all given secrets, those from files first; without any, of the variable `SECRET`.
fn cipher(args: &SecretArgs, environment: &Environment) -> Result<TokenCipher, Failure> {
    if args.secret_file.iter().filter(|file| is_stdin(file)).count() > 1 {
        return Err(Failure::Usage(
            "standard input can hold one secret only".to_owned(),
        ));
    }
    let mut secrets = Vec::new();
    for file in &args.secret_file {
        secrets.push((format!("the secret of {}", file.display()), read_secret(file)?));
    }
    let default = ["SECRET".to_owned()];
    let none_given = args.secret_file.is_empty() && args.secret_env.is_empty();
    let names = if none_given {
        default.as_slice()
    } else {
        args.secret_env.as_slice()
    };
    for name in names {
        let secret = environment
            .get(name)
            .ok_or_else(|| missing_variable(name, none_given))?;
        secrets.push((format!("the secret of the variable {name}"), secret.to_owned()));
    }
    for (origin, secret) in &secrets {
        TokenCipher::new(secret).with_context(|| format!("{origin} cannot be used"))?;
    }
    let all = secrets.iter().map(|(_, secret)| secret.as_str());
    Ok(TokenCipher::with_secrets(all).map_err(anyhow::Error::new)?)
}

fn missing_variable(name: &str, is_default: bool) -> Failure {
    Failure::Usage(if is_default {
        "no secret: give one with --secret-file or --secret-env, or in the variable SECRET\n\
         (there is no option for the secret itself: other users of the machine would see it)"
            .to_owned()
    } else {
        format!("the environment has no variable {name}")
    })
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

fn read_secret(file: &Path) -> anyhow::Result<String> {
    if is_stdin(file) {
        return read_stdin("the secret");
    }
    fs::read_to_string(file).with_context(|| format!("cannot read the secret file {}", file.display()))
}

/// At most 64 KiB: neither a secret nor a token is longer.
fn read_stdin(what: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    let input = io::stdin().lock().take(64 * 1024).read_to_string(&mut text);
    input.with_context(|| format!("cannot read {what} from standard input"))?;
    Ok(text)
}
