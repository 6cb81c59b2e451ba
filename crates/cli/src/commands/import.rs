//! `graphloom import`: imports the folder of another system without calling a model.

use anyhow::Context;
use graphloom::BuildWith;
use graphloom_core::TrackId;
use graphloom_engine::Engine;
use graphloom_engine::derive::{self, ImportedCommunities, ImportedReport, keep_reports, reports_in_use};
use graphloom_engine::index::{self, Acceptance, ImportedDocument};
use graphloom_migrate::{FolderContents, Import, KnownVectors, graphrag, lightrag};
use serde::Serialize;
use std::sync::Arc;

use super::App;
use super::indexing::{self, RunOutcome, Session};
use crate::args::{ImportArgs, ImportCommand};
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::output::render::{as_new_versions, count, name, plain};
use crate::wire;

/// Bytes of text to store in one commit; one larger document may exceed it.
const MAX_BYTES_IN_FLIGHT: usize = 16 * 1024 * 1024;
/// Maximum documents in one commit.
const MAX_DOCUMENTS_IN_FLIGHT: usize = 256;

/// The outcome of an import.
#[derive(Debug, Serialize)]
struct Summary {
    event: &'static str,
    from: &'static str,
    dry_run: bool,
    found: FolderContents,
    /// What the folder lacks and what could not be taken over.
    missing: Vec<String>,
    track: Option<TrackId>,
    accepted: u64,
    replaced: u64,
    unchanged: u64,
    refused: Vec<RefusedDocument>,
    /// Number of the folder's communities that are stored with their reports.
    communities: u64,
    /// Why not all communities were stored.
    communities_failed: Option<String>,
    /// Number of communities that deriving finds and that use an imported report.
    reports_in_use: u64,
    /// Number of the folder's vectors that were reused; `None` if they are from another model.
    vectors_used: Option<u64>,
    /// Number of the folder's descriptions that were used instead of new summaries.
    summaries_used: usize,
    run: RunOutcome,
}

#[derive(Debug, Serialize)]
struct RefusedDocument {
    source: String,
    reason: String,
}

/// Imports a folder and indexes what it holds.
pub(crate) async fn run(app: &App, command: &ImportCommand) -> anyhow::Result<Exit> {
    let (from, args) = match command {
        ImportCommand::Graphrag(args) => ("GraphRAG", args),
        ImportCommand::Lightrag(args) => ("LightRAG", args),
    };
    // The whole folder is read and checked before the workspace changes.
    let import = match command {
        ImportCommand::Graphrag(_) => graphrag::read(&args.folder, &args.prefix)?,
        ImportCommand::Lightrag(_) => lightrag::read(&args.folder, &args.prefix)?,
    };
    let mut summary = Summary {
        event: "summary",
        from,
        dry_run: args.dry_run,
        found: import.found.clone(),
        missing: import.missing.clone(),
        track: None,
        accepted: 0,
        replaced: 0,
        unchanged: 0,
        refused: Vec::new(),
        communities: 0,
        communities_failed: None,
        reports_in_use: 0,
        vectors_used: None,
        summaries_used: 0,
        run: RunOutcome::default(),
    };
    if args.dry_run {
        summary.print(app)?;
        return Ok(Exit::Done);
    }
    store(app, args, import, &mut summary).await?;
    summary.print(app)?;
    summary.run.print_end(app);
    let incomplete = summary.run.report.as_ref().is_some_and(|report| report.incomplete > 0);
    Ok(match summary.run.exit() {
        Exit::Done if incomplete || !summary.refused.is_empty() => Exit::Partly,
        exit => exit,
    })
}

async fn store(
    app: &App,
    args: &ImportArgs,
    mut import: Import,
    summary: &mut Summary,
) -> anyhow::Result<()> {
    let Session { worker, view, mut indexing } = Session::begin(app, None, BuildWith::Workspace).await?;
    let interrupt = Interrupt::listen()?;
    let track = args.track.clone().unwrap_or_else(|| wire::track_of("import", worker.as_ref()));
    indexing::print_track(app, &track)?;
    summary.track = Some(track.clone());
    import.cover(&indexing.engine);
    let reports = import.reports();
    let has_foreign_communities = import.has_foreign_communities();
    let mut documents = import.documents.into_iter().peekable();
    let (mut batch, mut bytes, mut read) = (Vec::new(), 0, 0);
    while let Some(document) = documents.next() {
        if interrupt.is_requested() {
            summary.run.interrupted = true;
            return Ok(());
        }
        read += 1;
        view.reading(read, &document.source);
        bytes += document.text.len();
        batch.push(document);
        let is_full = bytes >= MAX_BYTES_IN_FLIGHT || batch.len() >= MAX_DOCUMENTS_IN_FLIGHT;
        if is_full || documents.peek().is_none() {
            accept(&indexing.engine, std::mem::take(&mut batch), &track, summary).await?;
            bytes = 0;
        }
    }
    keep_reports(indexing.engine.store.as_ref(), &reports).await.context("storing the reports")?;
    // Entities and relations with many descriptions need summaries by an LLM. They stay stale until a run that may pay for these.
    let summarize = indexing.engine.models.summarize.take();
    indexing.engine.models.summarize = summarize.map(graphloom_migrate::unpaid);
    indexing.engine.index.layers.clear();
    let descriptions = Arc::new(import.descriptions);
    indexing.engine.index.known_descriptions = Some(Arc::clone(&descriptions));
    let embedder = indexing.engine.models.embedder.clone();
    let known = match import.vectors.are_of(embedder.as_ref()).await.context("comparing vectors")? {
        true => Some(Arc::new(KnownVectors::new(import.vectors, embedder))),
        false => None,
    };
    if let Some(known) = &known {
        indexing.engine.models.embedder = known.clone();
    }
    summary.run = indexing::run(app, &indexing, &interrupt, &view).await?;
    summary.vectors_used = known.map(|known| known.used());
    summary.summaries_used = descriptions.used();
    if let Some(report) = &mut summary.run.report {
        // The only budget of an import is the one for summaries. Descriptions without a summary are counted as stale.
        report.over_budget = None;
    }
    if !reports.is_empty() && !summary.run.interrupted {
        let snapshot = indexing.engine.store.snapshot().await?;
        summary.reports_in_use = reports_in_use(&indexing.engine, snapshot.as_ref()).await?;
        drop(snapshot);
        if has_foreign_communities {
            take_communities(app, &indexing.engine, &reports, summary).await?;
        }
    }
    Ok(())
}

/// Stores the communities of the folder with their reports, unless the workspace has other documents, which these
/// communities do not cover, or other communities.
async fn take_communities(
    app: &App,
    engine: &Engine,
    reports: &[ImportedReport],
    summary: &mut Summary,
) -> anyhow::Result<()> {
    let snapshot = engine.store.snapshot().await?;
    let communities = ImportedCommunities::new(snapshot.as_ref(), reports).await?;
    let are_all = snapshot.counts().await?.documents == summary.accepted + summary.unchanged;
    if !are_all || !communities.have_room(snapshot.as_ref()).await? {
        return Ok(());
    }
    drop(snapshot);
    let gone = wire::gone(&app.config)?;
    let derived = derive::derive(engine, &communities, &|_| {}, &gone).await?;
    summary.communities = derived.written + derived.kept;
    summary.communities_failed = derived.reason.or(derived.over_budget);
    Ok(())
}

async fn accept(
    engine: &Engine,
    documents: Vec<ImportedDocument>,
    track: &TrackId,
    summary: &mut Summary,
) -> anyhow::Result<()> {
    let sources: Vec<String> = documents.iter().map(|document| document.source.clone()).collect();
    let accepted = index::accept_imported(engine, documents, Some(track)).await?;
    for (source, acceptance) in sources.into_iter().zip(accepted) {
        match acceptance {
            Acceptance::Accepted { replaces, .. } => {
                summary.accepted += 1;
                summary.replaced += u64::from(replaces.is_some());
            }
            Acceptance::Unchanged { .. } => summary.unchanged += 1,
            Acceptance::Refused { reason, .. } => summary.refused.push(RefusedDocument { source, reason }),
        }
    }
    Ok(())
}

impl Summary {
    fn print(&self, app: &App) -> anyhow::Result<()> {
        let output = &app.output;
        if output.json {
            return output.json(self);
        }
        let FolderContents {
            documents,
            chunks,
            verbatim,
            extracted,
            entities,
            relations,
            reports,
            claims,
            claims_taken,
        } = &self.found;
        let claims = match claims {
            0 => String::new(),
            claims => {
                format!(", {} ({claims_taken} with a quote found in the text)", count(*claims, "claim"))
            }
        };
        output.line(format_args!(
            "{}: {}, {} ({verbatim} verbatim in their documents, {extracted} extracted), {}, {}, {}{claims}",
            self.from,
            count(*documents, "document"),
            count(*chunks, "chunk"),
            count(*entities, "entity"),
            count(*relations, "relation"),
            count(*reports, "report"),
        ))?;
        for missing in &self.missing {
            output.line(format_args!("  {}", plain(missing)))?;
        }
        if self.dry_run {
            output.note("nothing was stored; run without --dry-run to import");
            return Ok(());
        }
        let mut parts = vec![format!("{} imported", count(self.accepted, "document"))];
        parts.extend(as_new_versions(self.replaced));
        if self.unchanged > 0 {
            parts.push(format!("{} already there, left unchanged", self.unchanged));
        }
        output.line(parts.join(", "))?;
        for RefusedDocument { source, reason } in &self.refused {
            output.trouble(format_args!("refused: {}: {reason}", name(source)))?;
        }
        let reports = count(self.found.reports, "report");
        if self.communities > 0 {
            output.advise(format_args!(
                "{} with reports and levels from {}; see `graphloom communities`",
                count(self.communities, "community"),
                self.from,
            ))?;
            output.advise(format_args!(
                "`graphloom derive communities` replaces them with its own and reuses {} of {reports}",
                self.reports_in_use,
            ))?;
        } else if self.found.reports > 0 && self.communities_failed.is_none() {
            output.advise(format_args!(
                "`graphloom derive communities` reuses {} of {reports}: those about the same entities as a community here",
                self.reports_in_use,
            ))?;
        }
        if let Some(reason) = &self.communities_failed {
            output.trouble(format_args!(
                "some communities were not imported: {}; run the same command to continue",
                plain(reason)
            ))?;
        }
        if let Some(used) = self.vectors_used {
            output.line(format_args!("{} reused from the folder", count(used, "vector")))?;
        }
        if self.summaries_used > 0 {
            let used = count(self.summaries_used as u64, "description");
            output.line(format_args!("{used} from the folder used instead of summaries"))?;
        }
        self.run.print(app, "retry")
    }
}
