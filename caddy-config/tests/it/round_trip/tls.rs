//! Certificates and connection policies.

use std::path::PathBuf;

use caddy_config::{
    AcmeChallenge, AcmeChallenges, AcmeIssuer, Automation, AutomationPolicy, CertificateFile,
    CertificateSelection, Certificates, ChainPreference, ClientAuthMode, ClientAuthentication,
    ClientVerifier, ExternalAccount, InternalIssuer, Issuer, KeyType, LeafLoader, OnDemand,
    OnDemandPermission, TlsApp, TlsConnectionPolicy, TlsMatcher, TlsVersion,
};
use proptest::{collection::vec, option, prelude::*, sample::select};

use super::{
    duration, name,
    proxy::{ca_pool, certificate},
};

fn names() -> impl Strategy<Value = Vec<String>> {
    vec(name(), 0..3)
}

fn files() -> impl Strategy<Value = Vec<PathBuf>> {
    vec(name().prop_map(PathBuf::from), 0..3)
}

fn url() -> impl Strategy<Value = String> {
    name().prop_map(|host| format!("https://{host}/directory"))
}

pub(super) fn tls() -> impl Strategy<Value = TlsApp> {
    let file = (name(), name(), names()).prop_map(|(certificate, key, tags)| CertificateFile {
        certificate: certificate.into(),
        key: key.into(),
        tags,
    });
    let certificates =
        (names(), vec(file, 0..2), files()).prop_map(|(automate, load_files, load_folders)| Certificates {
            automate,
            load_files,
            load_folders,
        });
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (option::of(certificates), option::of(automation()), flags).prop_map(
        |(certificates, automation, flags)| TlsApp {
            certificates,
            automation,
            disable_ocsp_stapling: flags.0,
            disable_storage_check: flags.1,
            disable_storage_clean: flags.2,
        },
    )
}

fn automation() -> impl Strategy<Value = Automation> {
    let ratio = (1_u32..1000).prop_map(|part| serde_json::Number::from_f64(f64::from(part) / 1000.0));
    let kinds = [
        KeyType::Ed25519,
        KeyType::P256,
        KeyType::P384,
        KeyType::Rsa2048,
        KeyType::Rsa4096,
    ];
    let keys = (ratio, option::of(select(kinds.to_vec())));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let policy = (names(), vec(issuer(), 0..3), keys, flags).prop_map(|(subjects, issuers, keys, flags)| {
        AutomationPolicy {
            subjects,
            issuers,
            renewal_window_ratio: keys.0,
            key_type: keys.1,
            on_demand: flags.0,
            reuse_private_keys: flags.1,
            disable_ocsp_stapling: flags.2,
        }
    });
    let permission = url().prop_map(|endpoint| OnDemandPermission::Http { endpoint });
    let on_demand = option::of(permission).prop_map(|permission| OnDemand { permission });
    let intervals = (duration(), duration(), duration());
    (vec(policy, 0..3), option::of(on_demand), intervals).prop_map(|(policies, on_demand, intervals)| {
        Automation {
            policies,
            on_demand,
            ocsp_interval: intervals.0,
            renew_interval: intervals.1,
            storage_clean_interval: intervals.2,
        }
    })
}

fn issuer() -> impl Strategy<Value = Issuer> {
    let local = option::of(Just("local".to_owned()));
    let internal = (local, duration(), any::<bool>()).prop_map(|(ca, lifetime, sign_with_root)| {
        Issuer::Internal(InternalIssuer {
            ca,
            lifetime,
            sign_with_root,
        })
    });
    prop_oneof![internal, acme().prop_map(Box::new).prop_map(Issuer::Acme)]
}

fn acme() -> impl Strategy<Value = AcmeIssuer> {
    let texts = (
        option::of(url()),
        option::of(url()),
        option::of(name()),
        option::of(name()),
        option::of(name()),
    );
    let account = (name(), name()).prop_map(|(key_id, mac_key)| ExternalAccount {
        key_id,
        mac_key: mac_key.into(),
    });
    let chains = (option::of(any::<bool>()), names(), names()).prop_map(
        |(smallest, root_common_name, any_common_name)| ChainPreference {
            smallest,
            root_common_name,
            any_common_name,
        },
    );
    let rest = (
        files(),
        option::of(account),
        option::of(chains),
        option::of(challenges()),
    );
    (texts, rest, duration(), duration()).prop_map(|(texts, rest, acme_timeout, certificate_lifetime)| {
        AcmeIssuer {
            ca: texts.0,
            test_ca: texts.1,
            email: texts.2,
            profile: texts.3,
            account_key: texts.4.map(Into::into),
            external_account: rest.1,
            acme_timeout,
            challenges: rest.3,
            trusted_roots_pem_files: rest.0,
            preferred_chains: rest.2,
            certificate_lifetime,
        }
    })
}

fn challenges() -> impl Strategy<Value = AcmeChallenges> {
    let challenge = || {
        let parts = (any::<bool>(), option::of(1_u16..));
        option::of(parts.prop_map(|(disabled, alternate_port)| AcmeChallenge {
            disabled,
            alternate_port,
        }))
    };
    (challenge(), challenge(), option::of(name())).prop_map(|(http, tls_alpn, bind_host)| AcmeChallenges {
        http,
        tls_alpn,
        bind_host,
    })
}

pub(super) fn policy() -> impl Strategy<Value = TlsConnectionPolicy> {
    let matcher = names().prop_map(|sni| TlsMatcher { sni });
    let selection = names().prop_map(|any_tag| CertificateSelection { any_tag });
    let version = || option::of(select(vec![TlsVersion::Tls12, TlsVersion::Tls13]));
    let versions = (version(), version()).prop_filter("in order", |(min, max)| {
        min.zip(*max).is_none_or(|(min, max)| min <= max)
    });
    let lists = (
        vec(
            select(vec!["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256".to_owned()]),
            0..2,
        ),
        vec(select(vec!["x25519".to_owned(), "secp521r1".to_owned()]), 0..3),
        names(),
    );
    let sni = (option::of(name()), option::of(name()));
    let choice = (option::of(matcher), option::of(selection), option::of(clients()));
    (choice, lists, versions, sni).prop_map(|(choice, lists, versions, sni)| TlsConnectionPolicy {
        matcher: choice.0,
        certificate_selection: choice.1,
        cipher_suites: lists.0,
        curves: lists.1,
        alpn: lists.2,
        protocol_min: versions.0,
        protocol_max: versions.1,
        client_authentication: choice.2,
        default_sni: sni.0,
        fallback_sni: sni.1,
    })
}

fn clients() -> impl Strategy<Value = ClientAuthentication> {
    let modes = [
        ClientAuthMode::Request,
        ClientAuthMode::Require,
        ClientAuthMode::VerifyIfGiven,
        ClientAuthMode::RequireAndVerify,
    ];
    let loader = files().prop_map(|files| LeafLoader::File { files });
    let verifier =
        vec(loader, 0..2).prop_map(|leaf_certs_loaders| ClientVerifier::Leaf { leaf_certs_loaders });
    let certificates = || vec(certificate(), 0..2);
    let trusted = (option::of(ca_pool()), certificates(), files(), certificates());
    (trusted, vec(verifier, 0..2), option::of(select(modes.to_vec()))).prop_map(
        |(trusted, verifiers, mode)| ClientAuthentication {
            ca: trusted.0,
            trusted_ca_certs: trusted.1,
            trusted_ca_certs_pem_files: trusted.2,
            trusted_leaf_certs: trusted.3,
            verifiers,
            mode,
        },
    )
}
