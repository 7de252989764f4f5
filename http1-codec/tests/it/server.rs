//! The server driver.

mod answers;
mod bodies;
mod commands;
mod expect;
mod leaving;
mod requests;
mod upgrade;
