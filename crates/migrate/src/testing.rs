//! Tables for tests.

pub use crate::table::{Column, Values, write};
