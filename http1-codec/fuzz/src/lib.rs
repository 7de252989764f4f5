//! The bodies of the fuzz targets, and a reader of HTTP/1.1 that has nothing in common with the codec. The tests of
//! the codec include this file, to replay the corpora.

pub mod body;
pub mod client;
mod drive;
mod observed;
pub mod reference;
pub mod request_head;
pub mod response_head;
pub mod server;
