//! Kubernetes, with an API server of our own.
