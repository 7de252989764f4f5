//! Servers that stop, stall and come back.
