//! Bodies in both directions at once, over every pair of protocols: nothing waits, nothing is lost, and what was cut
//! never looks whole.

mod both_ways;
mod buffers;
mod cuts;
mod interim;
mod upgrades;
mod websockets;
