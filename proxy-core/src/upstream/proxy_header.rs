//! The header of the PROXY protocol that tells an upstream of the client (HAProxy's specification, both versions).
//!
//! As Caddy writes it: the client without its port, and no destination, which nobody needs.

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// The signature of the binary form.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The form of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderVersion {
    /// A line of text.
    V1,
    /// A binary header.
    V2,
}

/// Writes the header for `client`. Without one it says that the proxy itself connects.
pub(crate) async fn write(
    stream: &mut (impl AsyncWrite + Unpin),
    version: HeaderVersion,
    client: Option<IpAddr>,
) -> io::Result<()> {
    stream.write_all(&header(version, client)).await?;
    stream.flush().await
}

fn header(version: HeaderVersion, client: Option<IpAddr>) -> Vec<u8> {
    match version {
        HeaderVersion::V1 => line(client).into_bytes(),
        HeaderVersion::V2 => binary(client),
    }
}

fn line(client: Option<IpAddr>) -> String {
    match client {
        None => "PROXY UNKNOWN\r\n".to_owned(),
        Some(IpAddr::V4(client)) => format!("PROXY TCP4 {client} 0.0.0.0 0 0\r\n"),
        Some(IpAddr::V6(client)) => format!("PROXY TCP6 {client} :: 0 0\r\n"),
    }
}

fn binary(client: Option<IpAddr>) -> Vec<u8> {
    let mut header = SIGNATURE.to_vec();
    match client {
        // The command LOCAL, without addresses.
        None => header.extend([0x20, 0x00, 0, 0]),
        Some(IpAddr::V4(client)) => {
            header.extend([0x21, 0x11, 0, 12]);
            header.extend(client.octets());
            header.extend([0; 8]);
        }
        Some(IpAddr::V6(client)) => {
            header.extend([0x21, 0x21, 0, 36]);
            header.extend(client.octets());
            header.extend([0; 20]);
        }
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_the_client_and_nothing_else() {
        let of = |client: &str| header(HeaderVersion::V1, client.parse().ok());
        assert_eq!(of("192.0.2.1"), b"PROXY TCP4 192.0.2.1 0.0.0.0 0 0\r\n");
        assert_eq!(of("2001:db8::1"), b"PROXY TCP6 2001:db8::1 :: 0 0\r\n");
        assert_eq!(of(""), b"PROXY UNKNOWN\r\n");
    }

    #[test]
    fn the_binary_header_has_the_length_of_its_addresses() {
        for (client, command, family, addresses) in [
            ("192.0.2.1", 0x21, 0x11, 12),
            ("2001:db8::1", 0x21, 0x21, 36),
            ("", 0x20, 0x00, 0),
        ] {
            let client: Option<IpAddr> = client.parse().ok();
            let header = header(HeaderVersion::V2, client);
            let (signature, rest) = header.split_at(12);
            assert_eq!(signature, SIGNATURE);
            assert_eq!(rest[..4], [command, family, 0, addresses]);
            assert_eq!(rest.len(), 4 + usize::from(addresses));
            match client {
                Some(IpAddr::V4(client)) => assert_eq!(rest[4..8], client.octets()),
                Some(IpAddr::V6(client)) => assert_eq!(rest[4..20], client.octets()),
                None => {}
            }
        }
    }
}
