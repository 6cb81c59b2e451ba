//! Prints the description of the API, for `crates/server/openapi.json`.

fn main() {
    println!("{:#}", graphloom_server::openapi());
}
