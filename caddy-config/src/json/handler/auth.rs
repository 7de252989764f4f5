//! Who may pass.

use crate::{
    check,
    json::{
        decode::{Cx, Object},
        reader::Node,
        scalar::word,
    },
    model::{Account, Authentication, AuthenticationProviders, HashAlgorithm, HttpBasic},
};

pub(super) fn authentication<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> Authentication {
    Authentication {
        providers: object.require("providers", cx, providers).unwrap_or_default(),
    }
}

fn providers<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<AuthenticationProviders> {
    let mut object = Object::open(node, cx)?;
    let providers = AuthenticationProviders {
        http_basic: object.get("http_basic", cx, http_basic),
    };
    object.finish(cx);
    Some(providers)
}

fn http_basic<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<HttpBasic> {
    let mut object = Object::open(node, cx)?;
    let hash = object.get("hash", cx, hash);
    let algorithm = hash.unwrap_or(HashAlgorithm::Bcrypt);
    let basic = HttpBasic {
        hash,
        accounts: object.list("accounts", cx, |node, cx| account(algorithm, node, cx)),
        realm: object.get("realm", cx, |node, cx| {
            let realm = word(node, cx)?;
            cx.check_value(node, check::no_control(&realm))?;
            Some(realm)
        }),
        hash_cache: object.get("hash_cache", cx, empty).is_some(),
    };
    let mut names = std::collections::BTreeSet::new();
    if !basic
        .accounts
        .iter()
        .all(|account| names.insert(&account.username))
    {
        cx.error(object.span(), "a name occurs twice among the accounts", None);
    }
    object.finish(cx);
    Some(basic)
}

fn hash<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<HashAlgorithm> {
    let mut object = Object::open(node, cx)?;
    let algorithm = object.require("algorithm", cx, |node, cx| {
        let name = cx.string(node)?;
        let algorithm = HashAlgorithm::named(&name);
        cx.check(node, algorithm.ok_or("expected `argon2id` or `bcrypt`"))
    });
    object.finish(cx);
    algorithm
}

fn account<'n>(algorithm: HashAlgorithm, node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Account> {
    let mut object = Object::open(node, cx)?;
    let username = object.require("username", cx, |node, cx| {
        let name = cx.string(node)?;
        cx.check(node, check::user_name(&name))?;
        Some(name)
    });
    let password = object.require("password", cx, |node, cx| {
        let hash = cx.string(node)?;
        if let Err(message) = check::password_hash(algorithm, &hash) {
            cx.error(node.span, message, check::HASH_HELP.to_owned());
            return None;
        }
        Some(hash.into())
    });
    object.finish(cx);
    Some(Account {
        username: username?,
        password: password?,
    })
}

/// `{}`, which stands for itself.
fn empty<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<()> {
    Object::open(node, cx).map(|object| object.finish(cx))
}
