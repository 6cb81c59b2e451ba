//! The `graphloom` command, as a library: Cargo compiles it beside the server, which a program would wait for.

mod args;
mod commands;
mod documents;
mod fault;
mod folders;
mod interrupt;
mod output;
mod remedies;
mod serve_config;
#[cfg(feature = "otel")]
mod telemetry;
mod wire;

use std::process::ExitCode;

/// Runs the command that the arguments of this process name, and returns its exit code. Errors are printed.
pub fn run() -> ExitCode {
    // Errors in the command line itself are reported in JSON too.
    let json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    args::parse(json).and_then(commands::run).unwrap_or_else(|error| fault::report(&error, json)).into()
}
