//! Writes the token table of the encoding: the offset of each bucket, and the tokens of all buckets.

#[path = "src/layout.rs"]
mod layout;

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use layout::{BUCKETS, ID_BYTES, bucket_of};

/// Tokens of o200k_base without the special ones that mark the end of a text or prompt; ids begin at 0.
const TOKENS: u32 = 199_998;
const _: () = assert!(TOKENS < 1 << (8 * ID_BYTES));

fn main() -> Result<(), Box<dyn Error>> {
    let encoding = tiktoken_rs::o200k_base()?;
    let mut buckets = vec![Vec::new(); BUCKETS];
    for id in 0..TOKENS {
        let token = encoding.decode_bytes(&[id])?;
        let bucket = &mut buckets[bucket_of(&token)];
        bucket.push(u8::try_from(token.len())?);
        bucket.extend_from_slice(&id.to_le_bytes()[..ID_BYTES]);
        bucket.extend_from_slice(&token);
    }
    let mut starts = Vec::new();
    let mut end = 0;
    for bucket in &buckets {
        starts.extend(u32::try_from(end)?.to_le_bytes());
        end += bucket.len();
    }
    starts.extend(u32::try_from(end)?.to_le_bytes());
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    fs::write(folder.join("starts"), starts)?;
    fs::write(folder.join("tokens"), buckets.concat())?;
    let mut output = io::stdout();
    writeln!(output, "cargo::rerun-if-changed=build.rs")?;
    writeln!(output, "cargo::rerun-if-changed=src/layout.rs")?;
    Ok(())
}
