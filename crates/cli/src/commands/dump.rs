//! `graphloom dump`: the canonical state as JSON lines, and its hash.

use std::io::{self, BufWriter, Write};

use graphloom_core::write_dump;

use super::App;
use crate::args::DumpArgs;
use crate::fault::Exit;
use crate::output::Stdout;
use crate::wire;

/// Prints the state on stdout and its hash on stderr; with `--hash` only the hash, on stdout.
pub(crate) async fn run(app: &App, args: &DumpArgs) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    if args.hash {
        let dumped = write_dump(snapshot.as_ref(), &mut io::sink()).await?;
        if app.output.json {
            app.output.json(&dumped)?
        } else {
            app.output.line(&dumped.hash)?
        }
        return Ok(Exit::Done);
    }
    let mut out = BufWriter::new(Stdout);
    let dumped = write_dump(snapshot.as_ref(), &mut out).await?;
    out.flush()?;
    app.output.note(format_args!("hash {} over {} lines", dumped.hash, dumped.lines));
    Ok(Exit::Done)
}
