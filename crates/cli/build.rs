//! Tells the linker to fold functions with the same code, if it can. lld, which rustc uses on x86-64 Linux, can.
//!
//! Folded functions share an address. Rust does not promise distinct addresses. SQLite compares a few function pointers, but never two that
//! could have the same code.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

const FOLD: &str = "-Wl,--icf=all";

#[allow(clippy::disallowed_macros, reason = "cargo reads instructions from standard output")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    // Other linkers fold by default, as Microsoft's does, or do not know the option.
    let may_fold = variable("PROFILE") == "release" && variable("CARGO_CFG_TARGET_OS") == "linux";
    if may_fold && links_with(FOLD) {
        println!("cargo::rustc-link-arg-bins={FOLD}");
    }
}

/// True if an empty program links with `argument`, using the compiler, linker and flags that cargo uses.
fn links_with(argument: &str) -> bool {
    let (Some(rustc), Some(target), Some(out)) =
        (env::var_os("RUSTC"), env::var_os("TARGET"), env::var_os("OUT_DIR"))
    else {
        return false;
    };
    let source = Path::new(&out).join("empty.rs");
    if fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let mut command = Command::new(rustc);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut chosen = OsString::from("linker=");
        chosen.push(linker);
        command.arg("-C").arg(chosen);
    }
    command.arg("--target").arg(target).args(["-C", &format!("link-arg={argument}"), "--out-dir"]).arg(&out);
    command.arg(source).output().is_ok_and(|done| done.status.success())
}
