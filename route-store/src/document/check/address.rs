//! Addresses of upstreams.

use std::net::Ipv6Addr;

use crate::host::HostName;

const FORM: &str = "`host:port` is expected, with brackets around an IPv6 address";

/// Checks an address and brings its host into its form.
pub(super) fn check(address: &mut String) -> Result<(), String> {
    if address.is_empty() {
        return Err("it is empty".to_owned());
    }
    if address.contains("://") {
        return Err(format!(
            "{FORM}, without a scheme; TLS is spoken where `sni` is given"
        ));
    }
    if address.contains('@') {
        // What is before it may be a password, so nothing of it is shown.
        return Err(format!("{FORM}, without a user"));
    }
    if address.contains(['/', '?', '#']) {
        return Err(format!("{FORM}, without a path"));
    }
    let Some((host, port)) = address.rsplit_once(':') else {
        return Err(format!("{FORM}; the port is missing"));
    };
    let port = port_number(port).ok_or("its port is no number from 1 to 65535")?;
    let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inner) => {
            let parsed = inner.parse::<Ipv6Addr>();
            let parsed = parsed.map_err(|_| "what is in brackets is no IPv6 address")?;
            format!("[{parsed}]")
        }
        None if host.contains(':') => return Err(FORM.to_owned()),
        None => {
            let name = host.parse::<HostName>().map_err(|error| error.to_string())?;
            if name.is_wildcard() {
                return Err("the name of one host is expected".to_owned());
            }
            name.as_str().to_owned()
        }
    };
    *address = format!("{host}:{port}");
    Ok(())
}

/// Digits alone: the standard library takes a `+` too.
fn port_number(port: &str) -> Option<u16> {
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let number = port.parse::<u16>().ok().filter(|_| digits);
    number.filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (given, address) in [
            ("10.0.0.1:80", "10.0.0.1:80"),
            ("Api.Internal:65535", "api.internal:65535"),
            ("api.internal.:1", "api.internal:1"),
            ("[2001:DB8::1]:443", "[2001:db8::1]:443"),
            ("localhost:0080", "localhost:80"),
        ] {
            let mut found = given.to_owned();
            assert_eq!(check(&mut found), Ok(()), "{given}");
            assert_eq!(found, address);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (given, message) in [
            ("", "empty"),
            ("a", "the port is missing"),
            ("a:", "no number from 1"),
            ("a:0", "no number from 1"),
            ("a:65536", "no number from 1"),
            ("a:+80", "no number from 1"),
            ("a:80 ", "no number from 1"),
            (":80", "a part of it is empty"),
            ("::1:80", "with brackets"),
            ("[::1]", "port"),
            ("[a]:80", "no IPv6 address"),
            ("[10.0.0.1]:80", "no IPv6 address"),
            ("*.a:80", "one host"),
            ("http://a:80", "without a scheme"),
            ("a:80/x", "without a path"),
            ("a:80?x", "without a path"),
            ("a b:80", "letters, digits"),
            ("a\r\nb:80", "letters, digits"),
        ] {
            let error = check(&mut given.to_owned()).unwrap_err();
            assert!(error.contains(message), "{given}: {error}");
        }
        let error = check(&mut "user:hunter2@a:80".to_owned()).unwrap_err();
        assert!(
            error.contains("without a user") && !error.contains("hunter2"),
            "{error}"
        );
    }
}
