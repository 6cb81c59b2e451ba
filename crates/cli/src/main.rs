//! The `graphloom` command.

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

/// Returns memory to the system after a large document; the allocators of many systems do not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Errors in the command line itself are reported in JSON too.
    let json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    args::parse(json).and_then(commands::run).unwrap_or_else(|error| fault::report(&error, json)).into()
}
