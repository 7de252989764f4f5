//! Tests of the public interface.

#[cfg(test)]
mod json;
