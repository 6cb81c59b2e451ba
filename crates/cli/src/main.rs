//! The `graphloom` command.
fn main() {}
