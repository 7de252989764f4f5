//! The drivers over in-memory streams.
