//! Measures an embedder that runs in the process: CPU time per text, and memory.
//!
//! ```text
//! graphloom-bench-embed EMBEDDER TEXTS [VECTORS]
//! ```
//!
//! `EMBEDDER` is `builtin`, a model folder, or `static:` and a model folder of the store; `TEXTS` has one text per line. Writes the vectors
//! to `VECTORS` as little-endian 32-bit floats, and prints one JSON object. CPU time does not include loading.

use std::time::Instant;

use anyhow::{Context, Result};
use graphloom_core::{Embedder, Purpose};
use graphloom_providers::builtin::BuiltinEmbedder;
use graphloom_providers::local::{LocalConfig, LocalEmbedder, StaticEmbedder};
use serde_json::json;

/// Clock ticks per second in `/proc/self/stat`, a constant on Linux.
const TICKS: f64 = 100.0;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: graphloom-bench-embed EMBEDDER TEXTS [VECTORS]";
    let (name, texts) = (arguments.next().context(usage)?, arguments.next().context(usage)?);
    let texts: Vec<String> = std::fs::read_to_string(&texts)
        .with_context(|| format!("reading {texts}"))?
        .lines()
        .map(str::to_owned)
        .collect();
    let embedder: Box<dyn Embedder> = match name.as_str() {
        "builtin" => Box::new(BuiltinEmbedder),
        name => match name.strip_prefix("static:") {
            Some(folder) => Box::new(StaticEmbedder::open(LocalConfig::new("model", folder))?),
            None => Box::new(LocalEmbedder::open(LocalConfig::new("model", name))?),
        },
    };
    embedder.embed(Purpose::Document, &texts[..1]).await?;
    let (before, started) = (cpu_seconds()?, Instant::now());
    let embeddings = embedder.embed(Purpose::Document, &texts).await?;
    let (cpu, seconds) = (cpu_seconds()? - before, started.elapsed().as_secs_f64());
    if let Some(file) = arguments.next() {
        let bytes: Vec<u8> = embeddings.vectors.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        std::fs::write(&file, bytes).with_context(|| format!("writing {file}"))?;
    }
    let per_text = |seconds: f64| seconds / texts.len() as f64 * 1e3;
    let out = json!({"texts": texts.len(), "tokens": embeddings.usage.prompt_tokens, "dimensions": embedder.dimensions().await?,
        "cpu_ms_per_text": per_text(cpu), "ms_per_text": per_text(seconds), "peak_mb": peak_mb()?});
    println!("{out}");
    Ok(())
}

/// Returns the CPU time of all threads.
fn cpu_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("reading this process's CPU time")?;
    // Only the fields after the program's name, because the name may contain spaces.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks =
        |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok()).context("no CPU time");
    Ok((ticks(11)? + ticks(12)?) / TICKS)
}

/// Returns the peak resident memory in MB.
fn peak_mb() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("reading this process's memory")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak memory")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024.0 / 1e6)
}
