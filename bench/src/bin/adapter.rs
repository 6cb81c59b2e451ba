//! Speaks the harness protocol.
fn main() {}
