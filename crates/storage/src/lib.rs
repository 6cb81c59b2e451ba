//! Graphloom's stores: adapters behind the core's `Store` port.
//!
//! [`memory`] is the reference: the rules in their plainest form, for tests. Every other store must answer as it
//! does.

pub mod check;
pub mod dump;
pub mod memory;
mod rules;
mod vector;
mod words;
pub mod workers;
