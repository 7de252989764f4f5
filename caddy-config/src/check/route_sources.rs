//! Rules about where routes come from beside the configuration.

use std::time::Duration;

/// What is said of `route_sources` without a source.
pub(crate) const NO_SOURCE: &str = "`route_sources` names no source of routes";

/// Where Docker's daemon is.
pub(crate) fn docker_endpoint(text: &str) -> Result<(), &'static str> {
    let plain = |rest: &str| {
        !rest.is_empty()
            && rest
                .chars()
                .all(|c| c.is_ascii_graphic() && !"{}\"<>\\^`|@".contains(c))
    };
    match text.split_once("://") {
        Some(("unix", path)) if path.starts_with('/') && plain(path) => Ok(()),
        Some(("tcp" | "http" | "https", rest)) if !rest.starts_with(['/', ':']) && plain(rest) => Ok(()),
        _ => Err("expected an address such as unix:///var/run/docker.sock or tcp://10.0.0.1:2376"),
    }
}

/// The time between two looks.
pub(crate) const fn interval(duration: Duration) -> Result<Duration, &'static str> {
    if duration.as_millis() < 10 {
        return Err("expected at least 10ms");
    }
    Ok(duration)
}

/// TLS and an endpoint that it goes with.
pub(crate) fn docker_tls(endpoint: Option<&str>) -> Result<(), &'static str> {
    match endpoint.and_then(|endpoint| endpoint.split_once("://")) {
        Some(("tcp" | "https", _)) => Ok(()),
        _ => Err("`tls` goes with an endpoint of tcp:// or https://"),
    }
}

/// The name of a network of Docker.
pub(crate) fn docker_network(text: &str) -> Result<(), &'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        Ok(())
    } else {
        Err("the name of a network has letters, digits, `_`, `.` and `-`")
    }
}

/// The name of a resource in Kubernetes.
pub(crate) fn kubernetes_name(text: &str) -> Result<(), &'static str> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let ends = |end: char| text.starts_with(end) || text.ends_with(end);
    if !text.is_empty() && text.len() <= 253 && text.bytes().all(plain) && !ends('-') && !ends('.') {
        Ok(())
    } else {
        Err("a name in Kubernetes has lower case letters, digits and `-`")
    }
}

/// `NAMESPACE/NAME`.
pub(crate) fn kubernetes_service(text: &str) -> Result<(), &'static str> {
    let both = |(namespace, name)| kubernetes_name(namespace).is_ok() && kubernetes_name(name).is_ok();
    text.split_once('/')
        .filter(|parts| both(*parts))
        .map(|_| ())
        .ok_or("expected a namespace and a name, such as doorway/doorway")
}

/// What keys and tables of a store begin with.
pub(crate) fn store_prefix(text: &str) -> Result<(), &'static str> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = text.starts_with(|first: char| first.is_ascii_lowercase());
    if begins && text.len() <= 40 && text.bytes().all(plain) {
        Ok(())
    } else {
        Err("a prefix has 1 to 40 lower case letters, digits and `_`, a letter first")
    }
}

/// What tells a replica from others.
pub(crate) fn replica_id(text: &str) -> Result<(), &'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-:".contains(&byte);
    if !text.is_empty() && text.len() <= 128 && text.bytes().all(plain) {
        Ok(())
    } else {
        Err("the id of a replica has 1 to 128 letters, digits, `_`, `.`, `-` and `:`")
    }
}

/// Whose a token is.
pub(crate) fn token_name(text: &str) -> Result<(), &'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-@".contains(&byte);
    if !text.is_empty() && text.len() <= 64 && text.bytes().all(plain) {
        Ok(())
    } else {
        Err("the name of a token has 1 to 64 letters, digits, `_`, `.`, `-` and `@`")
    }
}

/// What is shown for a token: it goes through a header field, and must not be guessed.
pub(crate) fn token_secret(text: &str) -> Result<(), &'static str> {
    if variable(text).is_some() {
        return Ok(());
    }
    if text.contains(['{', '}']) {
        return Err("a secret is written as it is, or is one variable such as {env.NAME}");
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("a secret has letters, digits and signs of ASCII, without spaces");
    }
    if text.len() < 16 {
        return Err("a secret has at least 16 characters");
    }
    Ok(())
}

/// The name in `{env.NAME}`.
pub(crate) fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix("{env.")?.strip_suffix('}')?;
    let plain = !name.is_empty() && !name.contains(['{', '}']);
    plain.then_some(name)
}

/// Whether a URL has something to hide: a password before its host, or one among its parameters.
pub(crate) fn has_password(text: &str) -> bool {
    text.split_once("://")
        .is_some_and(|(_, rest)| rest.contains('@') || rest.contains("password="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_of_docker_have_a_scheme() {
        for text in [
            "unix:///var/run/docker.sock",
            "tcp://10.0.0.1:2376",
            "http://docker",
            "https://docker.test:2376",
        ] {
            assert!(docker_endpoint(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "/var/run/docker.sock",
            "unix://run",
            "tcp://",
            "tcp://:2376",
            "ssh://a",
            "tcp://u:p@a",
            "tcp://{env.A}",
        ] {
            assert!(docker_endpoint(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_in_kubernetes_are_labels() {
        assert!(kubernetes_name("shop-1").is_ok() && kubernetes_service("a/b").is_ok());
        for text in ["", "A", "-a", "a-", "a_b", "a/b"] {
            assert!(kubernetes_name(text).is_err(), "{text}");
        }
        for text in ["", "a", "/a", "a/", "a/b/c"] {
            assert!(kubernetes_service(text).is_err(), "{text}");
        }
    }

    #[test]
    fn secrets_of_tokens_are_long_or_a_variable() {
        assert!(token_secret("0123456789abcdef").is_ok() && token_secret("{env.TOKEN}").is_ok());
        for text in [
            "",
            "short",
            "{env.}",
            "{file./a}",
            "0123456789 abcdef",
            "{env.A}{env.B}",
        ] {
            assert!(token_secret(text).is_err(), "{text}");
        }
    }

    #[test]
    fn urls_with_a_password_are_known() {
        assert!(has_password("redis://:x@a") && has_password("postgres://a/b?password=x"));
        assert!(!has_password("redis://a:6379/0") && !has_password("x@y"));
    }
}
