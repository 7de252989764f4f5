//! Tests of the public interface.

mod real;
