//! Adapters.

pub mod builtin;
