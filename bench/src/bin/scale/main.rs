//! Measures how costs grow with size: builds a synthetic store with any number of chunks through the product's
//! commits, then queries and changes it with the product.
//!
//! `graphloom-bench-scale --chunks N --folder DIR [--questions N] [--relation-vectors SHARE] [--no-graph]
//! [--shuffled] [--add N] [--embedder NAME] [--build | --json]`. The folder is kept: a second run continues where the first one was interrupted,
//! and measures again, or not at all with `--build`. A separate process builds the store, so that the measured memory is only that of answering.
//!
//! `graphloom-bench-scale --chunks N --serve [--questions N]` serves the vectors of such a store over OpenAI's protocol.

mod build;
mod measure;
mod serve;
mod world;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use graphloom_core::WorkspaceId;
use graphloom_storage::sqlite::SqliteStore;

use build::Stopwatch;
use world::World;

const USAGE: &str = "usage: graphloom-bench-scale --chunks N --folder DIR [--questions N] \
     [--relation-vectors SHARE] [--no-graph] [--shuffled] [--add N] [--embedder NAME] [--build | --json | --serve]";
/// The file that marks a folder with a complete store.
const BUILT: &str = "built";
/// The default name of the embedder in a store.
const EMBEDDER: &str = "bench:clustered";

pub(crate) struct Arguments {
    pub(crate) chunks: usize,
    pub(crate) folder: PathBuf,
    /// Questions per mode.
    pub(crate) questions: usize,
    /// Share of relations with vectors.
    pub(crate) relation_vectors: f64,
    /// Whether chunks have records, so that there are entities and relations.
    pub(crate) graph: bool,
    pub(crate) shuffled: bool,
    /// Documents to add and remove one by one.
    pub(crate) add: usize,
    embedder: String,
    json: bool,
    /// Only build the store, if needed, without measuring.
    build_only: bool,
    /// Only serve vectors, without a store.
    serves: bool,
    /// Whether this is the process that builds the store.
    builds: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = arguments()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let embedder = arguments.embedder.clone();
    let world = Arc::new(World { chunks: arguments.chunks, shuffled: arguments.shuffled, embedder });
    if arguments.serves {
        return runtime.block_on(serve::serve(world, arguments.questions));
    }
    if arguments.builds {
        let store = SqliteStore::open(&arguments.folder, WorkspaceId::default())?;
        let time = Stopwatch::start(&arguments.folder)?;
        runtime.block_on(build::build(&world, &store, &arguments, &time))?;
        store.catch_up()?;
        time.note()?;
        std::fs::write(arguments.folder.join(BUILT), "")?;
        return Ok(());
    }
    if !arguments.folder.join(BUILT).exists() {
        let status =
            Command::new(std::env::current_exe()?).args(std::env::args().skip(1)).arg("--builds").status()?;
        ensure!(status.success(), "building failed; run again to continue");
    }
    if arguments.build_only {
        return Ok(());
    }
    let build_seconds: f64 = std::fs::read_to_string(Stopwatch::file(&arguments.folder))?.trim().parse()?;
    let report = runtime.block_on(measure::measure(world, &arguments, build_seconds))?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.table());
    }
    Ok(())
}

fn arguments() -> anyhow::Result<Arguments> {
    let mut read = Arguments {
        chunks: 0,
        folder: PathBuf::new(),
        questions: 100,
        relation_vectors: 1.0,
        graph: true,
        shuffled: false,
        add: 10,
        embedder: EMBEDDER.to_owned(),
        json: false,
        build_only: false,
        serves: false,
        builds: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().context(USAGE);
        match argument.as_str() {
            "--chunks" => read.chunks = value()?.parse()?,
            "--folder" => read.folder = PathBuf::from(value()?),
            "--questions" => read.questions = value()?.parse()?,
            "--relation-vectors" => read.relation_vectors = value()?.parse()?,
            "--add" => read.add = value()?.parse()?,
            "--no-graph" => read.graph = false,
            "--shuffled" => read.shuffled = true,
            "--embedder" => read.embedder = value()?,
            "--build" => read.build_only = true,
            "--serve" => read.serves = true,
            "--json" => read.json = true,
            "--builds" => read.builds = true,
            other => bail!("unknown argument {other}; {USAGE}"),
        }
    }
    ensure!(read.chunks >= world::TOPIC, USAGE);
    ensure!(read.serves || !read.folder.as_os_str().is_empty(), USAGE);
    ensure!(read.questions > 0 && (0.0..=1.0).contains(&read.relation_vectors), USAGE);
    Ok(read)
}
