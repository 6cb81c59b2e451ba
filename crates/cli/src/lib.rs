//! The `graphloom` command as a library, which Cargo compiles in parallel with the server; a binary would wait for it.

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

use args::PlaceOptions;

/// Runs the command in this process's arguments, prints its errors, and returns its exit code.
pub fn run() -> ExitCode {
    // Errors in the command line itself are reported in JSON too.
    let json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    let cli = match args::parse(json) {
        Ok(cli) => cli,
        Err(error) => return fault::report(&error, json, &PlaceOptions::default()).into(),
    };
    let place = PlaceOptions::of(&cli.global);
    commands::run(cli).unwrap_or_else(|error| fault::report(&error, json, &place)).into()
}
