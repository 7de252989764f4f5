//! Rules about single values of a source of instances in Consul.

/// Where Consul is.
pub(crate) fn consul_address(text: &str) -> Result<(), &'static str> {
    match text.trim().split_once("://") {
        Some(("http" | "https", rest)) if !rest.is_empty() => Ok(()),
        Some(("unix", path)) if !path.is_empty() => Ok(()),
        Some(_) => Err("expected an address such as http://127.0.0.1:8500, https://… or unix:///path"),
        None => Ok(()),
    }
}

/// The service that is looked up.
pub(crate) fn consul_service(text: &str) -> Result<(), &'static str> {
    if text.trim().is_empty() {
        return Err("the service is required");
    }
    Ok(())
}

/// What locality goes by. A variable that is not set leaves nothing.
pub(crate) fn consul_locality(text: &str) -> Result<(), &'static str> {
    if text.trim().is_empty() {
        return Err("this must not be empty");
    }
    Ok(())
}

/// A token and a file that holds one.
pub(crate) const fn consul_token_once(has_token: bool) -> Result<(), &'static str> {
    if has_token {
        return Err("there is a token already: give one of `token` and `token_file`");
    }
    Ok(())
}

/// A client's certificate and its key.
pub(crate) const fn consul_client(has_cert: bool, has_key: bool) -> Result<(), &'static str> {
    if has_cert == has_key {
        return Ok(());
    }
    Err("a client certificate needs its key: give both of `client_cert` and `client_key`")
}
