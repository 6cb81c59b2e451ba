//! `graphloom show`: one document.

use std::collections::BTreeSet;

use graphloom::files::bytes;
use graphloom_core::{ChunkExtraction, Document, DocumentStatus, GraphKey, Place, Span};
use graphloom_engine::index::{DocumentState, states_of};
use serde::Serialize;

use super::App;
use super::status::in_progress;
use crate::args::ShowArgs;
use crate::fault::{Exit, Fault};
use crate::output::render::{count, is_interrupted, name, one_line, place, plain, status};
use crate::{documents, wire};

#[derive(Serialize)]
struct DocumentOutput {
    document: Document,
    #[serde(flatten)]
    status: DocumentStatus,
    interrupted: bool,
    entities: usize,
    relations: usize,
    chunks: Vec<ShownChunk>,
}

#[derive(Serialize)]
struct ShownChunk {
    id: String,
    ordinal: u32,
    span: Span,
    lines: (u32, u32),
    place: Option<Place>,
    token_count: u32,
    breadcrumb: Vec<String>,
    extraction: ChunkExtraction,
}

/// Prints the document; if it has two versions, both.
pub(crate) async fn run(app: &App, args: &ShowArgs) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let versions = documents::find(snapshot.as_ref(), &args.document, &app.here).await?;
    let ids: Vec<_> = versions.iter().map(|document| document.id.clone()).collect();
    let texts = snapshot.texts(&ids).await?;
    if args.text {
        let text = texts.into_iter().flatten().next().unwrap_or_default();
        if app.output.json {
            app.output.json(&text)?
        } else {
            app.output.stream(&text)?
        }
        return Ok(Exit::Done);
    }
    let states = states_of(snapshot.as_ref(), &ids).await?;
    let in_progress = in_progress(app, snapshot.as_ref()).await?;
    let chunks_of = snapshot.chunks_of(&ids).await?;
    for ((state, text), chunks) in states.into_iter().zip(texts).zip(chunks_of) {
        let Some(DocumentState { document, status, .. }) = state else {
            return Err(Fault::failed(format!("{:?} was removed in the meantime", args.document)).into());
        };
        let text = text.unwrap_or_default();
        let chunk_ids: Vec<_> = chunks.iter().map(|chunk| chunk.id.clone()).collect();
        let keys: BTreeSet<GraphKey> = snapshot.graph_keys_of(&chunk_ids).await?.into_iter().collect();
        let entities = keys.iter().filter(|key| matches!(key, GraphKey::Entity(_))).count();
        let chunks = chunks.into_iter().map(|chunk| ShownChunk {
            lines: chunk.span.lines_in(&text),
            place: document.place_of(chunk.span),
            id: chunk.id.to_string(),
            ordinal: chunk.ordinal,
            span: chunk.span,
            token_count: chunk.token_count,
            breadcrumb: chunk.breadcrumb,
            extraction: chunk.extraction,
        });
        let chunks: Vec<ShownChunk> = chunks.collect();
        let relations = keys.len() - entities;
        let interrupted = is_interrupted(&status, in_progress);
        let shown = DocumentOutput { document, status, interrupted, entities, relations, chunks };
        if app.output.json { app.output.json(&shown)? } else { print(app, &shown)? }
    }
    Ok(Exit::Done)
}

fn print(app: &App, shown: &DocumentOutput) -> anyhow::Result<()> {
    let output = &app.output;
    let DocumentOutput { document, entities, relations, chunks, .. } = shown;
    output.line(format_args!(
        "{} {}",
        output.heading(&name(&document.source)),
        output.faint(document.id.as_str())
    ))?;
    output.line(format_args!("title       {}", one_line(&document.title, 200)))?;
    output.line(format_args!("status      {}", status(&shown.status, shown.interrupted)))?;
    if shown.interrupted {
        output.note("it is not finished: run `graphloom work` to continue");
    }
    output.line(format_args!(
        "text        {}, {}, {}",
        document.format.name(),
        document.encoding,
        bytes(document.text_bytes)
    ))?;
    if document.visibility == graphloom_core::Visibility::Staged {
        output.line("version     new, not yet in use")?;
    }
    for remark in &document.remarks {
        output.line(format_args!("partly read {}", one_line(remark, 300)))?;
    }
    for (key, value) in &document.meta {
        output.line(format_args!("meta        {}={}", plain(key), plain(value)))?;
    }
    let (entities, relations) = (count(*entities as u64, "entity"), count(*relations as u64, "relation"));
    output.line(format_args!("names       {entities}, {relations}"))?;
    for chunk in chunks {
        let section = chunk.breadcrumb.join(" > ");
        output.line(format_args!(
            "  chunk {:<4} {}, {} tokens{}{}",
            chunk.ordinal,
            place(&document.source, chunk.lines, document.lines_match_source, chunk.place.as_ref()),
            chunk.token_count,
            if section.is_empty() { String::new() } else { format!(", {}", one_line(&section, 120)) },
            match &chunk.extraction {
                ChunkExtraction::Pending => ", not extracted yet".to_owned(),
                ChunkExtraction::Done { .. } => String::new(),
                ChunkExtraction::Damaged { reason, attempts, .. } =>
                    format!(", damaged {attempts} times: {}", one_line(reason, 300)),
                ChunkExtraction::Failed { reason, attempts } =>
                    format!(", failed {attempts} times: {}", one_line(reason, 300)),
            }
        ))?;
    }
    Ok(())
}
