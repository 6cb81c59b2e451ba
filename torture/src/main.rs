//! `graphloom-torture`: random histories of the built program under kills, stops and faults, compared with a model.
//!
//! It drives the command line, servers and workers at once on one data folder, brings them to rest, and compares. See
//! `docs/explanation/reliability.md`.

#[cfg(unix)]
mod act;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod generate;
#[cfg(unix)]
mod history;
#[cfg(unix)]
mod http;
#[cfg(unix)]
mod judge;
#[cfg(unix)]
mod model;
#[cfg(unix)]
mod provider;
#[cfg(unix)]
mod random;
#[cfg(unix)]
mod reduce;
#[cfg(unix)]
mod report;
#[cfg(unix)]
mod rest;
#[cfg(unix)]
mod scenarios;
#[cfg(unix)]
mod script;
#[cfg(unix)]
mod stacks;
#[cfg(unix)]
mod suite;
#[cfg(unix)]
mod text;
#[cfg(unix)]
mod watch;
#[cfg(unix)]
mod weather;
#[cfg(unix)]
mod world;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    suite::main()
}

#[cfg(not(unix))]
fn main() -> std::process::ExitCode {
    eprintln!("error: the torture suite sends signals, so it runs on Unix alone");
    std::process::ExitCode::from(2)
}
