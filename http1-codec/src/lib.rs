//! Strict HTTP/1.1 for proxies.
//!
//! - **Heads** ([`HeadReader`]) become [`http`] types whose values share the bytes of the read buffer. Whatever the
//!   grammar of RFC 9112 and RFC 9110 does not allow, and whatever two readers could take differently, is refused
//!   with a reason ([`HeadError`]): no bare line feeds, no folded values, no second Host, no Content-Length beside
//!   Transfer-Encoding, no coding but one final `chunked`.
//! - **Bodies** ([`BodyReader`]) are delimited by length, by chunks or by the end of the connection. Chunk extensions
//!   are dropped, and everything has a limit.
//! - **[`server`]** drives a client's connection: requests in order, `100 Continue`, interim answers, upgrades,
//!   draining. **[`client`]** sends a request over a connection to a server, in the task of whoever waits for the
//!   answer.
//! - A connection is used again only behind two whole messages. On the client side ownership says so: an exchange gives
//!   its connection back only then.
//!
//! Messages are written anew, never passed through: there is one framing field, numbers are plain, and no byte goes out
//! that was not understood.
//!
//! Neither side reads a clock or spawns a task. Time limits are kept by whoever watches a connection's
//! [`server::Control`], or drops a future.
//!
//! ```
//! use bytes::BytesMut;
//! use http1_codec::{HeadLimits, HeadReader};
//!
//! let mut buffer = BytesMut::from("GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n");
//! let head = HeadReader::default().request(&mut buffer, &HeadLimits::default())?.expect("a whole head");
//! assert_eq!(head.request.uri().path(), "/a");
//!
//! let mut smuggled = BytesMut::from("GET / HTTP/1.1\r\nHost: a.test\r\nX: y\nContent-Length: 5\r\n\r\n");
//! assert!(HeadReader::default().request(&mut smuggled, &HeadLimits::default()).is_err());
//! # Ok::<(), http1_codec::HeadError>(())
//! ```

mod body;
mod buffers;
pub mod client;
mod error;
mod framing;
mod head;
mod host;
mod outbox;
pub mod server;
mod turn;
mod upgraded;
mod write;

pub use body::{BodyReader, Piece};
pub use error::{BodyError, HeadError};
pub use framing::{Framing, plain_length};
pub use head::{HeadLimits, HeadReader, MAX_FIELDS, RequestHead, ResponseHead, connection_has};
pub use host::is_valid_authority;
pub use upgraded::{Stream, Upgraded};
pub use write::{ToProxy, interim_head};

/// The crate's README: its example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
