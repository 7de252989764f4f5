//! Streams, bodies, services and controls for tests.

mod body;
mod control;
mod dribble;
mod peer;
mod sending;
mod serving;

pub(crate) use body::{Frames, TestBody, all_of};
pub(crate) use control::Script;
pub(crate) use dribble::Dribble;
pub(crate) use peer::Peer;
pub(crate) use sending::{Io, Kept, connected, get, read, request, send};
pub(crate) use serving::{Refusal, Wire, each_wire, echo, handler, ok, serving};
