//! The canonical dump of a workspace: sorted, stable, and independent of times and the order of work.

use std::collections::BTreeSet;
use std::io::Write;

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    Chunk, ChunkContext, ChunkContextOutcome, ChunkExtraction, Decisions, Document, DocumentId, Extraction,
    ItemKey, ItemKind, JobState, LayerName, Snapshot, StoreError, VectorEntry, table,
};

/// The result of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DumpHash {
    /// Hash of all lines: stores with equal hashes have the same evidence and views.
    pub hash: String,
    /// Number of lines.
    pub lines: u64,
}

/// Why a dump failed.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The store failed.
    #[error("reading the workspace")]
    Store(#[from] StoreError),
    /// The output failed.
    #[error("writing the dump")]
    Write(#[from] std::io::Error),
}

/// Writes the canonical state as JSON lines, each with a `kind`, and returns its hash.
///
/// Omits everything that depends on when and how often work was done: times, the ledger, leases, finished jobs, runs, whether
/// the queue is paused, conversations, and layers that are not [current](crate::Layer::is_current). A vector is represented by
/// the hash of the embedded text, because its digits depend on the embedder. An extraction is represented by its records,
/// because the wording of an answer does not matter.
pub async fn write_dump(
    snapshot: &dyn Snapshot,
    out: &mut (dyn Write + Send),
) -> Result<DumpHash, DumpError> {
    let mut dump = Dump { out, hasher: blake3::Hasher::new(), lines: 0 };
    let counts = snapshot.counts().await?;
    let embedded = counts.chunk_vectors + counts.entity_vectors + counts.relation_vectors > 0;
    // The embedding space stays stored after the last vector is removed, but an empty workspace must dump as empty.
    if let Some(spec) = snapshot.embedding().await?.filter(|_| embedded) {
        dump.line(&json!({ "kind": "embedding", "model": spec.model, "dimensions": spec.dimensions }))?;
    }
    dump_documents(snapshot, &mut dump).await?;
    dump_evidence(snapshot, &mut dump).await?;
    dump_decisions(snapshot, &mut dump).await?;
    dump_views(snapshot, &mut dump).await?;
    dump_stale(snapshot, &mut dump).await?;
    let layers = dump_layers(snapshot, &mut dump).await?;
    dump_vectors(snapshot, &layers, &mut dump).await?;
    Ok(DumpHash { hash: dump.hasher.finalize().to_hex()[..32].to_owned(), lines: dump.lines })
}

struct Dump<'a> {
    out: &'a mut (dyn Write + Send),
    hasher: blake3::Hasher,
    lines: u64,
}

impl Dump<'_> {
    fn line(&mut self, value: &Value) -> Result<(), DumpError> {
        // serde_json's maps are sorted, so the field order is stable.
        let line = format!("{value}\n");
        self.hasher.update(line.as_bytes());
        self.out.write_all(line.as_bytes())?;
        self.lines += 1;
        Ok(())
    }

    fn row(&mut self, kind: &str, row: &impl Serialize) -> Result<(), DumpError> {
        let mut value = serde_json::to_value(row).map_err(std::io::Error::other)?;
        if let Some(fields) = value.as_object_mut()
            && let Some(of_row) = fields.insert("kind".to_owned(), json!(kind))
        {
            // A mention has its own field `kind`, the extracted type.
            fields.insert("type".to_owned(), of_row);
        }
        self.line(&value)
    }
}

async fn dump_documents(snapshot: &dyn Snapshot, dump: &mut Dump<'_>) -> Result<(), DumpError> {
    let mut pages = snapshot.pages(table::Documents);
    while let Some(page) = pages.next().await? {
        let ids: Vec<DocumentId> = page.iter().map(|document| document.id.clone()).collect();
        for (document, original) in page.iter().zip(snapshot.original_stamps(&ids).await?) {
            dump.line(&document_line(document))?;
            if let Some(stamp) = original {
                let (hash, bytes) = (stamp.hash, stamp.bytes);
                dump.line(
                    &json!({ "kind": "original", "document": document.id, "hash": hash, "bytes": bytes }),
                )?;
            }
        }
    }
    let mut pages = snapshot.pages(table::Jobs);
    while let Some(page) = pages.next().await? {
        for job in page.iter().filter(|job| job.state != JobState::Merged) {
            dump.line(&json!({ "kind": "job", "document": job.document, "state": job.state }))?;
        }
    }
    let mut pages = snapshot.pages(table::Chunks);
    while let Some(page) = pages.next().await? {
        for chunk in &page {
            dump.line(&chunk_line(chunk))?;
        }
    }
    Ok(())
}

fn document_line(document: &Document) -> Value {
    json!({
        "kind": "document",
        "id": document.id,
        "source": document.source,
        "title": document.title,
        "content_hash": document.content_hash,
        "text_bytes": document.text_bytes,
        "format": document.format,
        "encoding": document.encoding,
        "parts": document.parts,
        "meta": document.meta,
        "visibility": document.visibility,
    })
}

fn extraction_value(extraction: &ChunkExtraction) -> Value {
    match extraction {
        ChunkExtraction::Pending => json!("pending"),
        ChunkExtraction::Done { key } => json!(key),
        ChunkExtraction::Damaged { key, reason, .. } => json!({ "damaged": reason, "key": key }),
        ChunkExtraction::Failed { reason, .. } => json!({ "failed": reason }),
    }
}

fn chunk_line(chunk: &Chunk) -> Value {
    json!({
        "kind": "chunk",
        "id": chunk.id,
        "document": chunk.document,
        "ordinal": chunk.ordinal,
        "span": [chunk.span.start, chunk.span.end],
        "tokens": chunk.token_count,
        "breadcrumb": chunk.breadcrumb,
        "extraction": extraction_value(&chunk.extraction),
    })
}

fn chunk_context_line(chunk_context: &ChunkContext) -> Value {
    let ChunkContext { chunk, key, by, outcome } = chunk_context;
    let (text, failed) = match outcome {
        ChunkContextOutcome::Written { text } => (Some(text), None),
        ChunkContextOutcome::Failed { reason, attempts: _ } => (None, Some(reason)),
    };
    json!({ "kind": "situation", "chunk": chunk, "key": key, "by": by, "text": text, "failed": failed })
}

async fn dump_evidence(snapshot: &dyn Snapshot, dump: &mut Dump<'_>) -> Result<(), DumpError> {
    let mut pages = snapshot.pages(table::Renewals);
    while let Some(page) = pages.next().await? {
        for renewal in &page {
            let extraction = extraction_value(&renewal.extraction);
            let (chunk, model) = (&renewal.chunk, &renewal.model);
            dump.line(
                &json!({ "kind": "renewal", "chunk": chunk, "model": model, "extraction": extraction }),
            )?;
        }
    }
    let mut pages = snapshot.pages(table::ChunkContexts);
    while let Some(page) = pages.next().await? {
        for chunk_context in &page {
            dump.line(&chunk_context_line(chunk_context))?;
        }
    }
    let mut pages = snapshot.pages(table::Extractions);
    while let Some(page) = pages.next().await? {
        for extraction in &page {
            let Extraction { key, model, records, responses: _, rejects: _ } = extraction;
            dump.line(&json!({ "kind": "extraction", "key": key, "model": model, "records": records }))?;
        }
    }
    let mut pages = snapshot.pages(table::Mentions);
    while let Some(page) = pages.next().await? {
        for mention in &page {
            dump.row("mention", mention)?;
        }
    }
    let mut pages = snapshot.pages(table::Facts);
    while let Some(page) = pages.next().await? {
        for fact in &page {
            dump.row("fact", fact)?;
        }
    }
    let mut pages = snapshot.pages(table::Claims);
    while let Some(page) = pages.next().await? {
        for claim in &page {
            dump.row("claim", claim)?;
        }
    }
    Ok(())
}

/// Writes the decisions in effect, numbered consecutively, so that an undone decision leaves no trace.
async fn dump_decisions(snapshot: &dyn Snapshot, dump: &mut Dump<'_>) -> Result<(), DumpError> {
    for (place, decision) in Decisions::read(snapshot).await?.holding().enumerate() {
        dump.line(&json!({ "kind": "decision", "place": place, "decided": decision.action }))?;
    }
    Ok(())
}

async fn dump_views(snapshot: &dyn Snapshot, dump: &mut Dump<'_>) -> Result<(), DumpError> {
    let mut pages = snapshot.pages(table::Entities);
    while let Some(page) = pages.next().await? {
        for entity in &page {
            // The row has its own field `kind`, the entity's type.
            dump.line(&json!({
                "kind": "entity",
                "key": entity.key,
                "name": entity.name,
                "type": entity.kind,
                "description": entity.description,
                "mentions": entity.mention_count,
                "degree": entity.degree,
                "inputs_hash": entity.inputs_hash,
            }))?;
        }
    }
    let mut pages = snapshot.pages(table::Relations);
    while let Some(page) = pages.next().await? {
        for relation in &page {
            dump.row("relation", relation)?;
        }
    }
    let mut pages = snapshot.pages(table::Summaries);
    while let Some(page) = pages.next().await? {
        for (owner, summary) in &page {
            dump.line(
                &json!({ "kind": "summary", "owner": owner, "key": summary.key, "text": summary.text }),
            )?;
        }
    }
    Ok(())
}

/// Writes stale marks. They are part of the state, because deriving the marked views changes them.
async fn dump_stale(snapshot: &dyn Snapshot, dump: &mut Dump<'_>) -> Result<(), DumpError> {
    let mut pages = snapshot.pages(table::Stale);
    while let Some(page) = pages.next().await? {
        for key in &page {
            dump.line(&json!({ "kind": "stale", "of": key }))?;
        }
    }
    Ok(())
}

/// Writes the layers that are current and returns their names. Other layers depend on when they were derived.
async fn dump_layers(snapshot: &dyn Snapshot, dump: &mut Dump<'_>) -> Result<BTreeSet<LayerName>, DumpError> {
    let mut current = BTreeSet::new();
    for layer in snapshot.layers().await? {
        if !layer.is_current(snapshot.graph_revision()) {
            continue;
        }
        dump.line(&json!({ "kind": "layer", "name": layer.name, "settings": layer.settings }))?;
        let mut pages = snapshot.pages(table::Nodes { layer: layer.name.clone(), level: None });
        while let Some(page) = pages.next().await? {
            for node in &page {
                dump.row("node", node)?;
            }
        }
        current.insert(layer.name);
    }
    Ok(current)
}

/// - `layers`: the layers whose nodes are part of the state.
async fn dump_vectors(
    snapshot: &dyn Snapshot,
    layers: &BTreeSet<LayerName>,
    dump: &mut Dump<'_>,
) -> Result<(), DumpError> {
    for kind in ItemKind::ALL {
        let mut pages = snapshot.pages(table::Vectors { kind });
        while let Some(page) = pages.next().await? {
            let counts = |entry: &&VectorEntry| match &entry.item {
                ItemKey::Node(key) => layers.contains(&key.layer()),
                ItemKey::Chunk(_) | ItemKey::Entity(_) | ItemKey::Relation(_) => true,
            };
            for entry in page.iter().filter(counts) {
                dump.line(
                    &json!({ "kind": "vector", "of": kind, "id": entry.item.id(), "text": entry.inputs_hash }),
                )?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChunkId, EntityKey, Mention};

    #[test]
    fn a_row_keeps_its_own_type_besides_the_kind_of_line() {
        let mut lines = Vec::new();
        let mut dump = Dump { out: &mut lines, hasher: blake3::Hasher::new(), lines: 0 };
        let mention = Mention {
            chunk: ChunkId::from_stored("c"),
            ordinal: 0,
            entity: EntityKey::from_stored("ADA"),
            name: "Ada".to_owned(),
            kind: "Person".to_owned(),
            description: String::new(),
            span: None,
            set_aside: false,
        };
        dump.row("mention", &mention).expect("memory does not fail");
        let line: Value = serde_json::from_slice(&lines).expect("JSON");
        assert_eq!((&line["kind"], &line["type"]), (&json!("mention"), &json!("Person")));
    }
}
