//! Hosts with certificates.
