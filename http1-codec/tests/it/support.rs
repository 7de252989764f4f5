//! Streams, bodies, services and controls for tests.

mod body;
mod control;
mod dribble;
mod peer;
mod serving;

pub(crate) use body::{Frames, TestBody, all_of};
pub(crate) use control::Script;
pub(crate) use dribble::Dribble;
pub(crate) use peer::Peer;
pub(crate) use serving::{Handler, Refusal, Wire, each_wire, echo, handler, ok, serving};
