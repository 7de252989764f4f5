//! The admin API over real sockets.

mod judge;
