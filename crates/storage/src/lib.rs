//! Graphloom's stores: adapters behind the core's `Store` port.
//!
//! [`memory`] is the reference: the rules in their plainest form, for tests. Every other store must answer as it
//! does. [`sqlite`] is the store of the product.

pub mod check;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(any(test, feature = "conformance"))]
pub mod faulty;
pub mod memory;
pub mod private;
mod rules;
pub mod sqlite;
mod vector;
mod words;
pub mod workers;

/// Target of events that tell what somebody waits for, where it can take long: for people who asked for no log.
pub const WAITING: &str = "graphloom::waiting";
