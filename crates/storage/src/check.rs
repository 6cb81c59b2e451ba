//! Checks the invariants of a workspace's data.

mod layers;

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    Chunk, ChunkExtraction, ChunkId, Claim, ContentHash, Decisions, DocumentId, EntityKey, ExtractionKey,
    Fact, Finding, GraphKey, ItemKey, ItemKind, JobState, OriginalStamp, RelationKey, Revision, Snapshot,
    Span, StoreError, Visibility, indexed_text, table,
};

/// Rows read from the store at a time.
const PAGE: usize = 1000;
/// Most findings listed, because a damaged store could have any number.
pub const MAX_FINDINGS: usize = 1000;
/// Tolerance for comparing weights, which are sums of floats read back from storage.
const WEIGHT_TOLERANCE: f64 = 1e-9;

/// Returns everything that is wrong in the state of `snapshot`, at most [`MAX_FINDINGS`] findings. Empty for a sound store.
///
/// Memory use grows with the number of documents, entities and relations, not with their text.
pub async fn check(snapshot: &dyn Snapshot) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Findings::default();
    let documents = check_documents(snapshot, &mut findings).await?;
    let chunks = check_chunks(snapshot, &documents, &mut findings).await?;
    check_jobs(snapshot, &documents, &chunks, &mut findings).await?;
    check_chunk_contexts(snapshot, &mut findings).await?;
    check_extractions(snapshot, &chunks, &mut findings).await?;
    let evidence = read_evidence(snapshot, &documents, &chunks, &mut findings).await?;
    check_entities(snapshot, &evidence, &mut findings).await?;
    check_relations(snapshot, &evidence, &mut findings).await?;
    check_vectors(snapshot, &documents, &chunks, &evidence, &mut findings).await?;
    check_summaries(snapshot, &evidence, &mut findings).await?;
    check_stale(snapshot, &evidence, &mut findings).await?;
    layers::check_layers(snapshot, &mut findings).await?;
    for projection in snapshot.projections().await? {
        let behind = snapshot.revision().0.saturating_sub(projection.watermark.0);
        if projection.watermark > Revision(0) && behind > 0 && projection.entries > 0 {
            tracing::debug!(
                projection = projection.name,
                behind,
                "a projection catches up on the next search"
            );
        }
        if projection.watermark > snapshot.revision() {
            findings.add(
                "projection",
                &projection.name,
                "it is ahead of the store and contains uncommitted data",
            );
        }
    }
    Ok(findings.0)
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, kind: &'static str, id: impl ToString, what: impl Into<String>) {
        if self.0.len() < MAX_FINDINGS {
            self.0.push(Finding { kind, id: id.to_string(), what: what.into() });
        }
    }
}

async fn check_documents(
    snapshot: &dyn Snapshot,
    findings: &mut Findings,
) -> Result<BTreeMap<DocumentId, Visibility>, StoreError> {
    let mut documents = BTreeMap::new();
    let mut seen: BTreeSet<(String, Visibility)> = BTreeSet::new();
    let mut pages = snapshot.pages(table::Documents);
    while let Some(page) = pages.next().await? {
        let ids: Vec<DocumentId> = page.iter().map(|document| document.id.clone()).collect();
        for (document, text) in page.iter().zip(snapshot.texts(&ids).await?) {
            match text {
                None => findings.add("document", &document.id, "it has no text"),
                Some(text) if text.len() as u64 != document.text_bytes => {
                    let what =
                        format!("its text has {} bytes instead of {}", text.len(), document.text_bytes);
                    findings.add("document", &document.id, what);
                }
                Some(text) if ContentHash::of(text.as_bytes()) != document.content_hash => {
                    findings.add("document", &document.id, "its text does not hash to its content hash");
                }
                Some(_) => {}
            }
            if !seen.insert((document.source.clone(), document.visibility)) {
                let what = format!(
                    "another {:?} document has the same source {:?}",
                    document.visibility, document.source
                );
                findings.add("document", &document.id, what);
            }
            documents.insert(document.id.clone(), document.visibility);
        }
        check_originals(snapshot, &ids, findings).await?;
    }
    Ok(documents)
}

/// Checks originals one at a time, because files are large.
async fn check_originals(
    snapshot: &dyn Snapshot,
    documents: &[DocumentId],
    findings: &mut Findings,
) -> Result<(), StoreError> {
    for (id, stamp) in documents.iter().zip(snapshot.original_stamps(documents).await?) {
        let Some(stamp) = stamp else { continue };
        let bytes = snapshot.originals(std::slice::from_ref(id)).await?.pop().flatten();
        if bytes.is_none_or(|bytes| OriginalStamp::of(&bytes) != stamp) {
            findings.add("original", id, "its bytes do not hash to its stamp");
        }
    }
    Ok(())
}

/// The parts of a chunk that the other checks need.
struct ChunkFacts {
    document: DocumentId,
    span: Span,
    extraction: ChunkExtraction,
    /// The state of the chunk's renewal, if it has one.
    renewal: Option<ChunkExtraction>,
}

async fn check_chunks(
    snapshot: &dyn Snapshot,
    documents: &BTreeMap<DocumentId, Visibility>,
    findings: &mut Findings,
) -> Result<BTreeMap<ChunkId, ChunkFacts>, StoreError> {
    let mut chunks = BTreeMap::new();
    let ids: Vec<DocumentId> = documents.keys().cloned().collect();
    for ids in ids.chunks(PAGE / 10) {
        let texts = snapshot.texts(ids).await?;
        for (text, of_document) in texts.into_iter().zip(snapshot.chunks_of(ids).await?) {
            let text = text.unwrap_or_default();
            for (at, chunk) in of_document.into_iter().enumerate() {
                check_chunk(&chunk, at, &text, findings);
                let facts = ChunkFacts {
                    document: chunk.document,
                    span: chunk.span,
                    extraction: chunk.extraction,
                    renewal: None,
                };
                chunks.insert(chunk.id, facts);
            }
        }
    }
    let mut pages = snapshot.pages(table::Renewals);
    while let Some(page) = pages.next().await? {
        for renewal in &page {
            match chunks.get_mut(&renewal.chunk) {
                Some(facts) => facts.renewal = Some(renewal.extraction.clone()),
                None => findings.add("renewal", &renewal.chunk, "its chunk does not exist"),
            }
        }
    }
    let mut pages = snapshot.pages(table::Chunks);
    while let Some(page) = pages.next().await? {
        for chunk in page.iter().filter(|chunk| !chunks.contains_key(&chunk.id)) {
            findings.add("chunk", &chunk.id, format!("its document {} does not exist", chunk.document));
        }
    }
    Ok(chunks)
}

fn check_chunk(chunk: &Chunk, at: usize, text: &str, findings: &mut Findings) {
    if chunk.ordinal as usize != at {
        findings.add("chunk", &chunk.id, format!("it is number {} where {at} was expected", chunk.ordinal));
    }
    match chunk.span.slice(text) {
        None => findings.add("chunk", &chunk.id, "its span leaves the text or cuts a character"),
        Some(slice) if slice != chunk.text => {
            findings.add("chunk", &chunk.id, "its text is not the text of its span")
        }
        Some(_) => {}
    }
}

async fn check_jobs(
    snapshot: &dyn Snapshot,
    documents: &BTreeMap<DocumentId, Visibility>,
    chunks: &BTreeMap<ChunkId, ChunkFacts>,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut with_job = BTreeSet::new();
    let mut merged = BTreeSet::new();
    let mut pages = snapshot.pages(table::Jobs);
    while let Some(page) = pages.next().await? {
        for job in &page {
            let Some(visibility) = documents.get(&job.document) else {
                findings.add("job", &job.document, "its document does not exist");
                continue;
            };
            if job.state == JobState::Merged {
                merged.insert(job.document.clone());
                if *visibility == Visibility::Staged {
                    findings.add("job", &job.document, "it is merged, but its document is still staged");
                }
            }
            with_job.insert(job.document.clone());
        }
    }
    for document in documents.keys().filter(|id| !with_job.contains(*id)) {
        findings.add("document", document, "it has no job, so nothing would ever index it");
    }
    for (id, chunk) in chunks {
        if chunk.extraction.is_queued() && merged.contains(&chunk.document) {
            findings.add("chunk", id, "its document is merged, but it is still to be asked about");
        }
    }
    Ok(())
}

/// Every chunk context must belong to an existing chunk, and the vector of that chunk must include the context.
async fn check_chunk_contexts(snapshot: &dyn Snapshot, findings: &mut Findings) -> Result<(), StoreError> {
    let mut contextualized: BTreeMap<String, ContentHash> = BTreeMap::new();
    let mut pages = snapshot.pages(table::ChunkContexts);
    while let Some(page) = pages.next().await? {
        let ids: Vec<ChunkId> = page.iter().map(|chunk_context| chunk_context.chunk.clone()).collect();
        for (chunk_context, chunk) in page.iter().zip(snapshot.chunks(&ids).await?) {
            let Some(chunk) = chunk else {
                findings.add("chunk context", &chunk_context.chunk, "its chunk does not exist");
                continue;
            };
            let text = indexed_text(chunk_context.text(), &chunk.text);
            contextualized.insert(chunk.id.to_string(), ContentHash::of(text.as_bytes()));
        }
    }
    let mut pages = snapshot.pages(table::Vectors { kind: ItemKind::Chunk });
    while let Some(page) = pages.next().await? {
        for entry in &page {
            let id = entry.item.id();
            if contextualized.get(&*id).is_some_and(|expected| *expected != entry.inputs_hash) {
                findings.add("chunk", &id, "its vector is not that of its context and text");
            }
        }
    }
    Ok(())
}

async fn check_extractions(
    snapshot: &dyn Snapshot,
    chunks: &BTreeMap<ChunkId, ChunkFacts>,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut wanted: BTreeMap<&ExtractionKey, &ChunkId> = BTreeMap::new();
    for (id, chunk) in chunks {
        for extraction in [Some(&chunk.extraction), chunk.renewal.as_ref()].into_iter().flatten() {
            if let Some(key) = extraction.key() {
                wanted.insert(key, id);
            }
        }
    }
    let mut known = BTreeSet::new();
    let mut pages = snapshot.pages(table::Extractions);
    while let Some(page) = pages.next().await? {
        for extraction in &page {
            if !wanted.contains_key(&extraction.key) {
                findings.add("extraction", &extraction.key, "no chunk uses it");
            }
            known.insert(extraction.key.clone());
        }
    }
    for (key, chunk) in wanted {
        if !known.contains(key) {
            findings.add("chunk", chunk, format!("its extraction {key} does not exist"));
        }
    }
    Ok(())
}

/// Counts over the live mentions and facts.
#[derive(Default)]
struct Evidence {
    mentions: BTreeMap<EntityKey, u32>,
    facts: BTreeMap<RelationKey, (u32, f64)>,
    degrees: BTreeMap<EntityKey, u32>,
    decisions: Decisions,
}

impl Evidence {
    fn count(&mut self, fact: &Fact) {
        let sum = self.facts.entry(fact.relation.clone()).or_default();
        sum.0 += 1;
        sum.1 += fact.weight;
    }

    fn entities(&self) -> BTreeSet<&EntityKey> {
        self.mentions.keys().chain(self.degrees.keys()).collect()
    }
}

/// Returns what is wrong with evidence from this chunk. Only live documents may contribute to the graph.
fn unfit(
    chunk: &ChunkId,
    documents: &BTreeMap<DocumentId, Visibility>,
    chunks: &BTreeMap<ChunkId, ChunkFacts>,
) -> Option<String> {
    let Some(facts) = chunks.get(chunk) else { return Some(format!("its chunk {chunk} does not exist")) };
    match documents.get(&facts.document) {
        Some(Visibility::Live) => None,
        Some(Visibility::Staged) | None => Some(format!("its document {} is not live", facts.document)),
    }
}

/// Returns what is wrong with the quote of a claim.
fn misquotes(claim: &Claim, chunks: &BTreeMap<ChunkId, ChunkFacts>) -> Option<String> {
    let chunk = chunks.get(&claim.chunk)?.span;
    let within = chunk.start <= claim.span.start && claim.span.end <= chunk.end && !claim.span.is_empty();
    (!within)
        .then(|| format!("it quotes bytes {}..{} outside of its chunk", claim.span.start, claim.span.end))
}

async fn read_evidence(
    snapshot: &dyn Snapshot,
    documents: &BTreeMap<DocumentId, Visibility>,
    chunks: &BTreeMap<ChunkId, ChunkFacts>,
    findings: &mut Findings,
) -> Result<Evidence, StoreError> {
    let mut evidence = Evidence { decisions: Decisions::read(snapshot).await?, ..Evidence::default() };
    let mut pages = snapshot.pages(table::Mentions);
    while let Some(page) = pages.next().await? {
        for mention in &page {
            if let Some(what) = unfit(&mention.chunk, documents, chunks) {
                findings.add("mention", &mention.entity, what);
            }
            if !mention.set_aside {
                *evidence.mentions.entry(mention.entity.clone()).or_default() += 1;
            }
        }
    }
    let mut pages = snapshot.pages(table::Facts);
    while let Some(page) = pages.next().await? {
        for fact in &page {
            if let Some(what) = unfit(&fact.chunk, documents, chunks) {
                findings.add("fact", &fact.relation, what);
            }
            if !fact.set_aside {
                evidence.count(fact);
            }
        }
    }
    let mut pages = snapshot.pages(table::Claims);
    while let Some(page) = pages.next().await? {
        for claim in &page {
            let what = unfit(&claim.chunk, documents, chunks).or_else(|| misquotes(claim, chunks));
            if let Some(what) = what {
                findings.add("claim", format!("{} {}", claim.chunk, claim.ordinal), what);
            }
        }
    }
    let created: Vec<EntityKey> = (evidence.decisions.entities())
        .filter(|(_, decided)| decided.created)
        .map(|(key, _)| key.clone())
        .collect();
    for key in created {
        evidence.mentions.entry(key).or_default();
    }
    let stated: Vec<Fact> =
        evidence.decisions.relations().flat_map(|(_, decided)| decided.facts.clone()).collect();
    for fact in &stated {
        evidence.count(fact);
    }
    for end in evidence.facts.keys().flat_map(RelationKey::ends) {
        *evidence.degrees.entry(end.clone()).or_default() += 1;
    }
    Ok(evidence)
}

async fn check_entities(
    snapshot: &dyn Snapshot,
    evidence: &Evidence,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut missing = evidence.entities();
    let mut pages = snapshot.pages(table::Entities);
    while let Some(page) = pages.next().await? {
        for entity in &page {
            if !missing.remove(&entity.key) {
                findings.add("entity", &entity.key, "nothing mentions it");
            }
            let mentions = evidence.mentions.get(&entity.key).copied().unwrap_or(0);
            if entity.mention_count != mentions {
                let what = format!("it counts {} mentions, there are {mentions}", entity.mention_count);
                findings.add("entity", &entity.key, what);
            }
            let degree = evidence.degrees.get(&entity.key).copied().unwrap_or(0);
            if entity.degree != degree {
                findings.add(
                    "entity",
                    &entity.key,
                    format!("its degree is stored as {}, but is {degree}", entity.degree),
                );
            }
        }
    }
    for key in missing {
        findings.add("entity", key, "it is mentioned but has no row");
    }
    Ok(())
}

async fn check_relations(
    snapshot: &dyn Snapshot,
    evidence: &Evidence,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut missing: BTreeSet<&RelationKey> = evidence.facts.keys().collect();
    let mut pages = snapshot.pages(table::Relations);
    while let Some(page) = pages.next().await? {
        for relation in &page {
            if !missing.remove(&relation.key) {
                findings.add("relation", &relation.key, "nothing states it");
            }
            let (facts, weight) = evidence.facts.get(&relation.key).copied().unwrap_or_default();
            let decided = evidence.decisions.relation(&relation.key).and_then(|decided| decided.weight);
            let weight = decided.unwrap_or(weight);
            if relation.fact_count != facts {
                let what = format!("it counts {} facts, there are {facts}", relation.fact_count);
                findings.add("relation", &relation.key, what);
            }
            if (relation.weight - weight).abs() > WEIGHT_TOLERANCE * weight.abs().max(1.0) {
                findings.add(
                    "relation",
                    &relation.key,
                    format!("its weight is {}, that of its facts {weight}", relation.weight),
                );
            }
        }
    }
    for key in missing {
        findings.add("relation", key, "it is stated but has no row");
    }
    Ok(())
}

async fn check_vectors(
    snapshot: &dyn Snapshot,
    documents: &BTreeMap<DocumentId, Visibility>,
    chunks: &BTreeMap<ChunkId, ChunkFacts>,
    evidence: &Evidence,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let ids: Vec<DocumentId> = documents.keys().cloned().collect();
    let mut embedded = BTreeSet::new();
    for (id, job) in ids.iter().zip(snapshot.jobs(&ids).await?) {
        let live = documents.get(id) == Some(&Visibility::Live);
        if live && job.is_some_and(|job| matches!(job.state, JobState::Chunked | JobState::Merged)) {
            embedded.insert(id);
        }
    }
    let wanted = |chunk: &ChunkFacts| embedded.contains(&chunk.document);
    let due: BTreeSet<String> =
        chunks.iter().filter(|(_, chunk)| wanted(chunk)).map(|(id, _)| id.to_string()).collect();
    let known: BTreeSet<String> = chunks.keys().map(ToString::to_string).collect();
    compare_vectors(snapshot, ItemKind::Chunk, "chunk", due, &known, findings).await?;
    let due: BTreeSet<String> = evidence.entities().into_iter().map(ToString::to_string).collect();
    compare_vectors(snapshot, ItemKind::Entity, "entity", due.clone(), &due, findings).await?;
    let due: BTreeSet<String> = evidence.facts.keys().map(ToString::to_string).collect();
    compare_vectors(snapshot, ItemKind::Relation, "relation", due.clone(), &due, findings).await
}

/// Every id in `due` must have a vector, and every vector must belong to an id in `known`.
async fn compare_vectors(
    snapshot: &dyn Snapshot,
    kind: ItemKind,
    name: &'static str,
    mut due: BTreeSet<String>,
    known: &BTreeSet<String>,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let dimensions = snapshot.embedding().await?.map(|spec| spec.dimensions as usize);
    let mut pages = snapshot.pages(table::Vectors { kind });
    while let Some(page) = pages.next().await? {
        let items: Vec<ItemKey> = page.into_iter().map(|entry| entry.item).collect();
        for (item, vector) in items.iter().zip(snapshot.vectors(&items).await?) {
            let id = item.id().into_owned();
            if !known.contains(&id) {
                findings.add(name, &id, "it has a vector but does not exist");
            }
            if vector.is_none_or(|vector| Some(vector.len()) != dimensions) {
                findings.add(name, &id, "its vector cannot be read or is of another dimension");
            }
            due.remove(&id);
        }
    }
    for id in due {
        findings.add(name, id, "it has no vector, so vector search does not find it");
    }
    Ok(())
}

/// Every summary must belong to something that exists.
async fn check_summaries(
    snapshot: &dyn Snapshot,
    evidence: &Evidence,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let entities = evidence.entities();
    let mut pages = snapshot.pages(table::Summaries);
    while let Some(page) = pages.next().await? {
        for (owner, summary) in &page {
            if !exists(evidence, &entities, owner) {
                findings.add("summary", &summary.key, "the item that it summarizes does not exist");
            }
        }
    }
    Ok(())
}

fn exists(evidence: &Evidence, entities: &BTreeSet<&EntityKey>, key: &GraphKey) -> bool {
    match key {
        GraphKey::Entity(key) => entities.contains(key),
        GraphKey::Relation(key) => evidence.facts.contains_key(key),
    }
}

/// Every stale mark must belong to something that exists.
async fn check_stale(
    snapshot: &dyn Snapshot,
    evidence: &Evidence,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let entities = evidence.entities();
    let mut pages = snapshot.pages(table::Stale);
    while let Some(page) = pages.next().await? {
        for key in page.iter().filter(|key| !exists(evidence, &entities, key)) {
            let id = match key {
                GraphKey::Entity(key) => key.to_string(),
                GraphKey::Relation(key) => key.to_string(),
            };
            findings.add("stale mark", &id, "the item to derive again does not exist");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
