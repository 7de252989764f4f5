//! `authentication`: who may pass.

use std::sync::Arc;

use caddy_config as model;

use super::compile::Compiler;
use super::error::BuildError;
use crate::auth::{self, BasicAuth, PasswordAlgorithm, PasswordHash};

/// Compiles the accounts of one handler. `None` if something is wrong with them, which is noted.
pub(super) fn basic(compiler: &mut Compiler<'_>, basic: &model::HttpBasic) -> Option<BasicAuth> {
    let algorithm = match basic.hash {
        None | Some(model::HashAlgorithm::Bcrypt) => PasswordAlgorithm::Bcrypt,
        Some(model::HashAlgorithm::Argon2id) => PasswordAlgorithm::Argon2id,
        Some(_) => return compiler.unsupported("this hash of passwords", "use bcrypt or argon2id"),
    };
    let accounts: Vec<_> = basic
        .accounts
        .iter()
        .filter_map(|one| account(compiler, one, algorithm))
        .collect();
    if accounts.len() < basic.accounts.len() {
        return None;
    }
    let realm = basic.realm.as_deref().unwrap_or(auth::REALM);
    let verifier = Arc::clone(&compiler.surroundings.passwords);
    let auth = BasicAuth::try_new(accounts, algorithm, realm, basic.hash_cache, verifier);
    if auth.is_err() {
        compiler.wrong("a realm of basic_auth that cannot stand in a header field", realm);
    }
    auth.ok()
}

fn account(
    compiler: &mut Compiler<'_>,
    account: &model::Account,
    algorithm: PasswordAlgorithm,
) -> Option<(String, PasswordHash)> {
    let user = fixed(compiler, &account.username)?;
    let text = fixed(compiler, account.password.expose())?;
    match PasswordHash::parse(&text, algorithm) {
        Ok(hash) => Some((user, hash)),
        Err(source) => {
            compiler.errors.push(BuildError::Password {
                server: compiler.server.clone(),
                user,
                source,
            });
            None
        }
    }
}

/// A text that may name what is known when the configuration is loaded, such as `{env.USER}`.
fn fixed(compiler: &mut Compiler<'_>, text: &str) -> Option<String> {
    // A hash holds no braces, and is not to be shown in an error.
    if !text.contains('{') {
        return Some(text.to_owned());
    }
    let fixed = compiler.template(text).as_static().map(str::to_owned);
    if fixed.is_none() {
        compiler.unsupported::<()>(
            "a placeholder in an account of basic_auth that differs from request to request",
            "write the value itself, or {$NAME} or {env.NAME}",
        );
    }
    fixed
}
