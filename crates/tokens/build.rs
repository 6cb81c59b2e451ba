//! Writes the tables of the encoding: where each token's bytes begin, the slots of a hash table, and the bytes.

#[path = "src/layout.rs"]
mod layout;

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use layout::{EMPTY, SLOTS, hash, slot_of, tagged};

/// Tokens of o200k_base, without those that mark the end of a text or prompt; their numbers begin at 0.
const TOKENS: u32 = 199_998;
const _: () = assert!(TOKENS < layout::MAX_TOKENS);

fn main() -> Result<(), Box<dyn Error>> {
    let encoding = tiktoken_rs::o200k_base()?;
    let (mut starts, mut bytes) = (vec![0], Vec::new());
    let mut slots = vec![EMPTY; SLOTS];
    let mut longest = 0;
    for id in 0..TOKENS {
        let token = encoding.decode_bytes(&[id])?;
        longest = longest.max(token.len());
        bytes.extend_from_slice(&token);
        starts.push(u32::try_from(bytes.len())?);
        let hash = hash(&token);
        let mut slot = slot_of(hash);
        while slots[slot] != EMPTY {
            slot = (slot + 1) % SLOTS;
        }
        slots[slot] = tagged(id, hash);
    }
    let written =
        |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    fs::write(folder.join("starts"), written(&starts))?;
    fs::write(folder.join("slots"), written(&slots))?;
    fs::write(folder.join("bytes"), bytes)?;
    fs::write(
        folder.join("longest.rs"),
        format!("/// Bytes of the longest token.\nconst LONGEST: usize = {longest};\n"),
    )?;
    let mut output = io::stdout();
    writeln!(output, "cargo::rerun-if-changed=build.rs")?;
    writeln!(output, "cargo::rerun-if-changed=src/layout.rs")?;
    Ok(())
}
