//! Prints the description of the API, for `crates/server/openapi.json`.

#[allow(clippy::disallowed_macros, reason = "its output goes to a file, and no server hangs on it")]
fn main() {
    println!("{:#}", graphloom_server::openapi());
}
