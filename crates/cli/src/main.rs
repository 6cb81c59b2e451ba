//! The `graphloom` command.

use std::process::ExitCode;

/// Returns memory to the system after a large document, which many system allocators do not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    graphloom_cli::run()
}
