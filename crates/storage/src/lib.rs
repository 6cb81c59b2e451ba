//! Graphloom's stores: adapters for the core's `Store` port.
//!
//! [`memory`] is the reference: the simplest implementation of the rules, for tests. Every other store must behave the
//! same. [`sqlite`] is the store of the product.

pub mod check;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(any(test, feature = "conformance"))]
pub mod faulty;
pub mod memory;
pub mod private;
pub mod sqlite;
mod texts;
pub mod workers;

use graphloom_rules::{batch as rules, vector, words};

/// Target of events that report long waits, shown even to users who requested no log.
pub const WAITING: &str = "graphloom::waiting";
