//! `basic_auth [matcher] [bcrypt|argon2id [REALM]] { USER HASH }`: lets known users pass.

use super::super::{args::Args, cx::Cx, values::Once};
use crate::{
    caddyfile::parser::Line,
    check,
    model::{Account, Authentication, AuthenticationProviders, Handler, HashAlgorithm, HttpBasic},
};

pub(super) fn read(mut args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    if args.name().text == "basicauth" {
        let help = "write `basic_auth`".to_owned();
        cx.warn(
            args.name().span,
            "`basicauth` is the old name of this directive",
            help,
        );
    }
    let algorithm = match args.next() {
        None => HashAlgorithm::Bcrypt,
        Some(name) => {
            let known = HashAlgorithm::named(&name.text);
            if known.is_none() {
                cx.unknown(name, "hash algorithm", &["argon2id", "bcrypt"]);
            }
            known?
        }
    };
    let realm = args.next();
    if let Some(realm) = realm {
        cx.check_value(realm, check::no_control(&realm.text));
    }
    args.finish(cx);
    let mut basic = HttpBasic {
        hash: Some(algorithm),
        accounts: Vec::new(),
        realm: realm
            .map(|realm| realm.text.clone())
            .filter(|realm| !realm.is_empty()),
        hash_cache: true,
    };
    let mut once = Once::default();
    for line in args.block() {
        once.note(&line.name, cx);
        basic.accounts.extend(account(line, algorithm, cx));
    }
    if args.block().is_empty() {
        let help = "add lines `USER HASH` in a block".to_owned();
        cx.warn(args.name().span, "no users, so nobody passes", help);
    }
    Some(Handler::Authentication(Authentication {
        providers: AuthenticationProviders {
            http_basic: Some(basic),
        },
    }))
}

/// `USER HASH`. Nothing of the hash may be shown: it could be a password.
fn account(line: &Line, algorithm: HashAlgorithm, cx: &mut Cx<'_>) -> Option<Account> {
    line.args.iter().for_each(|arg| cx.mask(arg));
    cx.no_block(line);
    cx.check(&line.name, check::user_name(&line.name.text));
    let [hash] = line.args.as_slice() else {
        cx.error(
            line.name.span,
            "a user needs one word behind the name, the hash of the password",
            check::HASH_HELP.to_owned(),
        );
        return None;
    };
    if let Err(message) = check::password_hash(algorithm, &hash.text) {
        cx.error(hash.span, message, check::HASH_HELP.to_owned());
        return None;
    }
    Some(Account {
        username: line.name.text.clone(),
        password: hash.text.clone().into(),
    })
}
