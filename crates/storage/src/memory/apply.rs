//! Applies a batch to a state. A rejected batch leaves the state half changed, and the caller discards it.

use std::collections::BTreeSet;
use std::sync::Arc;

use graphloom_core::{
    Batch, CacheEntry, CacheKind, Chunk, ChunkExtraction, ChunkId, DocumentId, ExtractionKey, GraphKey,
    ItemKind, LayerNode, MAX_CACHE_BYTES, MAX_CACHE_ENTRIES, Member, NewDocument, Require, Revision,
    SetOriginal, StoreError, Visibility,
};

use super::{CacheRow, State, StoredVector, conversations};
use crate::rules::{self, conflict, invalid};
use crate::vector;

pub(super) fn apply(state: &mut State, batch: Batch) -> Result<(), StoreError> {
    rules::check(&batch)?;
    batch.require.iter().try_for_each(|require| check_require(state, require))?;
    if batch.is_empty() {
        return Ok(());
    }
    let revision = Revision(state.revision.0 + 1);
    if batch.touches_graph() {
        state.graph_revision = revision;
    }
    if batch.touches_evidence() {
        state.evidence_revision = revision;
    }
    state.revision = revision;

    if batch.replace_embedding {
        state.embedding = None;
        state.vectors = Arc::default();
    }
    if let Some(spec) = &batch.embedding {
        match &state.embedding {
            Some(known) if known != spec => return Err(rules::embedding_mismatch(known, spec)),
            _ => state.embedding = Some(spec.clone()),
        }
    }
    rules::check_dimensions(&batch, state.embedding.as_ref())?;
    if let Some(settings) = &batch.set_settings {
        state.settings.clone_from(settings);
    }

    let mut at_risk = rules::left_as_they_are(&batch, losing(state, &batch));
    at_risk.retain(|key| has_evidence(state, key));
    remove_documents(state, &batch.remove_documents);
    if !batch.remove_documents.is_empty() {
        state.last_removal = revision;
        conversations::remove_answers(state, &batch.remove_documents);
    }
    batch.put_documents.into_iter().try_for_each(|new| put_document(state, new))?;
    batch.set_originals.into_iter().try_for_each(|set| set_original(state, set))?;
    for id in batch.activate_documents {
        let document =
            Arc::make_mut(&mut state.documents).get_mut(&id).ok_or_else(|| unknown_document(&id))?;
        document.visibility = Visibility::Live;
    }
    for job in batch.put_jobs {
        if !state.documents.contains_key(&job.document) {
            return Err(unknown_document(&job.document));
        }
        Arc::make_mut(&mut state.jobs).insert(job.document.clone(), job);
    }
    for (track, document) in batch.put_tracks {
        if !state.documents.contains_key(&document) {
            return Err(unknown_document(&document));
        }
        Arc::make_mut(&mut state.tracks).insert((track, document), ());
    }
    if let Some(queue) = batch.set_queue {
        state.queue = queue;
    }
    let mut named: BTreeSet<ExtractionKey> = BTreeSet::new();
    let mut name = |extraction: &ChunkExtraction| {
        named.extend(extraction.key().cloned());
    };
    for chunk in batch.put_chunks {
        name(&chunk.extraction);
        put_chunk(state, chunk)?;
    }
    for extraction in batch.put_extractions {
        Arc::make_mut(&mut state.extractions).insert(extraction.key.clone(), extraction);
    }
    let mut released: BTreeSet<ExtractionKey> = BTreeSet::new();
    for (id, extraction) in batch.set_extractions {
        name(&extraction);
        let chunk = Arc::make_mut(&mut state.chunks).get_mut(&id).ok_or_else(|| unknown_chunk(&id))?;
        released.extend(std::mem::replace(&mut chunk.extraction, extraction).key().cloned());
    }
    for id in batch.remove_renewals {
        let ended = Arc::make_mut(&mut state.renewals).remove(&id);
        released.extend(ended.and_then(|renewal| renewal.extraction.key().cloned()));
    }
    for renewal in batch.put_renewals {
        name(&renewal.extraction);
        if !state.chunks.contains_key(&renewal.chunk) {
            return Err(unknown_chunk(&renewal.chunk));
        }
        let ended = Arc::make_mut(&mut state.renewals).insert(renewal.chunk.clone(), renewal);
        released.extend(ended.and_then(|renewal| renewal.extraction.key().cloned()));
    }
    release(state, released);
    // Only the final state of a chunk counts: the same batch may have named another key before.
    if let Some(missing) =
        named.iter().find(|&key| !state.extractions.contains_key(key) && is_named(state, key))
    {
        return Err(invalid(format!("a chunk names extraction {missing}, which does not exist")));
    }

    for id in batch.remove_chunk_contexts {
        Arc::make_mut(&mut state.chunk_contexts).remove(&id);
    }
    for chunk_context in batch.put_chunk_contexts {
        if !state.chunks.contains_key(&chunk_context.chunk) {
            return Err(unknown_chunk(&chunk_context.chunk));
        }
        Arc::make_mut(&mut state.chunk_contexts).insert(chunk_context.chunk.clone(), chunk_context);
    }
    for decision in batch.put_decisions {
        Arc::make_mut(&mut state.decisions).insert((decision.order, decision.id.clone()), decision);
    }
    let cleared: BTreeSet<ChunkId> = batch.clear_graph_of.into_iter().collect();
    clear_graph(state, &cleared);
    for mention in batch.put_mentions {
        if !state.chunks.contains_key(&mention.chunk) {
            return Err(unknown_chunk(&mention.chunk));
        }
        Arc::make_mut(&mut state.mentions).insert((mention.chunk.clone(), mention.ordinal), mention);
    }
    for fact in batch.put_facts {
        if !state.chunks.contains_key(&fact.chunk) {
            return Err(unknown_chunk(&fact.chunk));
        }
        Arc::make_mut(&mut state.facts).insert((fact.chunk.clone(), fact.ordinal), fact);
    }
    for claim in batch.put_claims {
        if !state.chunks.contains_key(&claim.chunk) {
            return Err(unknown_chunk(&claim.chunk));
        }
        Arc::make_mut(&mut state.claims).insert((claim.chunk.clone(), claim.ordinal), claim);
    }

    for key in batch.remove_entities {
        Arc::make_mut(&mut state.entities).remove(&key);
        Arc::make_mut(&mut state.vectors).remove(&(ItemKind::Entity, key.as_str().to_owned()));
        remove_nodes_of(state, [Member::Entity(key.clone())].into());
        forget(state, &GraphKey::Entity(key));
    }
    for entity in batch.put_entities {
        Arc::make_mut(&mut state.entities).insert(entity.key.clone(), entity);
    }
    for key in batch.remove_relations {
        Arc::make_mut(&mut state.relations).remove(&key);
        Arc::make_mut(&mut state.vectors).remove(&(ItemKind::Relation, key.to_string()));
        forget(state, &GraphKey::Relation(key));
    }
    for relation in batch.put_relations {
        Arc::make_mut(&mut state.relations).insert(relation.key.clone(), relation);
    }
    for (owner, summaries) in batch.set_summaries {
        remove_summaries(state, &owner);
        let table = Arc::make_mut(&mut state.summaries);
        table.extend(summaries.into_iter().map(|summary| ((owner.clone(), summary.key), summary.text)));
    }
    for (key, is_stale) in batch.set_stale {
        let table = Arc::make_mut(&mut state.stale);
        if is_stale {
            table.insert(key, ());
        } else {
            table.remove(&key);
        }
    }
    if let Some(ghost) = at_risk.iter().find(|key| has_view(state, key) && !has_evidence(state, key)) {
        return Err(rules::ghost(ghost));
    }
    for layer in batch.remove_layers {
        let of_layer = state.nodes.values().filter(|node| node.layer == layer);
        let nodes = of_layer.map(|node| Member::Node(node.key.clone())).collect();
        remove_nodes(state, nodes);
        Arc::make_mut(&mut state.layers).remove(&layer);
    }
    for layer in batch.put_layers {
        Arc::make_mut(&mut state.layers).insert(layer.name.clone(), layer);
    }
    remove_nodes(state, batch.remove_nodes.into_iter().map(Member::Node).collect());
    put_nodes(state, batch.put_nodes)?;
    for row in batch.put_vectors {
        let stored = StoredVector { inputs_hash: row.entry.inputs_hash, data: vector::encode(&row.vector) };
        Arc::make_mut(&mut state.vectors)
            .insert((row.entry.item.kind(), row.entry.item.id().into_owned()), stored);
    }
    Arc::make_mut(&mut state.calls).extend(batch.append_calls);
    if !(batch.clear_caches.is_empty() && batch.put_cached.is_empty()) {
        remember(state, &batch.clear_caches, batch.put_cached);
    }
    conversations::apply(state, batch.remove_conversations, batch.put_conversations, batch.put_exchanges)
}

/// Clears whole kinds, puts entries, and drops the oldest ones beyond the limits.
fn remember(state: &mut State, cleared: &[CacheKind], entries: Vec<CacheEntry>) {
    let cache = Arc::make_mut(&mut state.cache);
    cache.retain(|(kind, _), _| !cleared.contains(kind));
    for entry in entries {
        state.cache_puts += 1;
        let remembered = CacheRow { place: state.cache_puts, value: entry.value };
        cache.insert((entry.kind, entry.key), remembered);
    }
    for kind in CacheKind::ALL.into_iter().filter(|kind| kind.is_bounded()) {
        let mut newest: Vec<(u64, u64)> = (cache.iter().filter(|((of, _), _)| *of == kind))
            .map(|(_, entry)| (entry.place, entry.value.len() as u64))
            .collect();
        newest.sort_unstable_by(|x, y| y.cmp(x));
        let mut bytes = 0;
        let beyond = newest.iter().enumerate().find(|(number, (_, length))| {
            bytes += length;
            *number >= MAX_CACHE_ENTRIES || bytes > MAX_CACHE_BYTES
        });
        if let Some((_, (oldest, _))) = beyond {
            cache.retain(|(of, _), entry| *of != kind || entry.place > *oldest);
        }
    }
}

fn check_require(state: &State, require: &Require) -> Result<(), StoreError> {
    match require {
        Require::JobIs(job) => rules::require_job(job, state.jobs.get(&job.document)),
        Require::ExtractionIs { chunk, extraction } => rules::require_extraction(
            chunk,
            extraction,
            state.chunks.get(chunk).map(|chunk| &chunk.extraction),
        ),
        Require::GraphUnchangedSince(revision) if state.graph_revision > *revision => {
            Err(conflict(format!("the graph changed at {} after {revision}", state.graph_revision)))
        }
        Require::GraphUnchangedSince(_) => Ok(()),
        Require::UnchangedSince(revision) => rules::require_revision(*revision, state.revision),
        Require::LayerIs { name, layer } => {
            rules::require_layer(name, layer.as_ref(), state.layers.get(name))
        }
        Require::SettingsAre(settings) => rules::require_settings(settings, &state.settings),
        Require::SourceIs { source, documents } => {
            let stored = state.documents.values().filter(|document| document.source == *source);
            rules::require_source(source, documents, &stored.collect::<Vec<_>>())
        }
    }
}

/// Returns the entities and relations with evidence in documents and chunks that the batch takes out of the graph.
fn losing(state: &State, batch: &Batch) -> BTreeSet<GraphKey> {
    let mut losing = BTreeSet::new();
    if batch.remove_documents.is_empty() && batch.clear_graph_of.is_empty() {
        return losing;
    }
    let documents: BTreeSet<&DocumentId> = batch.remove_documents.iter().collect();
    let chunks: BTreeSet<&ChunkId> = batch.clear_graph_of.iter().collect();
    let leaves = |id: &ChunkId| {
        let document = state.chunks.get(id).map(|chunk| &chunk.document);
        chunks.contains(id) || document.is_some_and(|document| documents.contains(document))
    };
    for mention in state.mentions.values().filter(|mention| leaves(&mention.chunk)) {
        losing.insert(GraphKey::Entity(mention.entity.clone()));
    }
    for fact in state.facts.values().filter(|fact| leaves(&fact.chunk)) {
        losing.extend(fact.relation.ends().map(|end| GraphKey::Entity(end.clone())));
        losing.insert(GraphKey::Relation(fact.relation.clone()));
    }
    losing
}

fn has_view(state: &State, key: &GraphKey) -> bool {
    match key {
        GraphKey::Entity(key) => state.entities.contains_key(key),
        GraphKey::Relation(key) => state.relations.contains_key(key),
    }
}

fn has_evidence(state: &State, key: &GraphKey) -> bool {
    let mut mentions = state.mentions.values().filter(|mention| !mention.set_aside);
    let mut facts = state.facts.values().filter(|fact| !fact.set_aside);
    match key {
        GraphKey::Entity(key) => {
            mentions.any(|mention| mention.entity == *key)
                || facts.any(|fact| fact.relation.ends().contains(&key))
        }
        GraphKey::Relation(key) => facts.any(|fact| fact.relation == *key),
    }
}

fn remove_documents(state: &mut State, documents: &[DocumentId]) {
    if documents.is_empty() {
        return;
    }
    let removed: BTreeSet<&DocumentId> = documents.iter().collect();
    let mut chunks = BTreeSet::new();
    let mut named = BTreeSet::new();
    Arc::make_mut(&mut state.chunks).retain(|id, chunk| {
        let keep = !removed.contains(&chunk.document);
        if !keep {
            chunks.insert(id.clone());
            named.extend(chunk.extraction.key().cloned());
        }
        keep
    });
    Arc::make_mut(&mut state.renewals).retain(|id, renewal| {
        let keep = !chunks.contains(id);
        if !keep {
            named.extend(renewal.extraction.key().cloned());
        }
        keep
    });
    release(state, named);
    Arc::make_mut(&mut state.chunk_contexts).retain(|id, _| !chunks.contains(id));
    clear_graph(state, &chunks);
    let table = Arc::make_mut(&mut state.vectors);
    for chunk in &chunks {
        table.remove(&(ItemKind::Chunk, chunk.as_str().to_owned()));
    }
    remove_nodes_of(state, chunks.into_iter().map(Member::Chunk).collect());
    for id in documents {
        Arc::make_mut(&mut state.documents).remove(id);
        Arc::make_mut(&mut state.texts).remove(id);
        Arc::make_mut(&mut state.originals).remove(id);
        Arc::make_mut(&mut state.jobs).remove(id);
    }
    Arc::make_mut(&mut state.tracks).retain(|(_, document), ()| !removed.contains(document));
}

/// True if a chunk or a renewal names this extraction.
fn is_named(state: &State, key: &ExtractionKey) -> bool {
    let of_chunks = state.chunks.values().map(|chunk| &chunk.extraction);
    let of_renewals = state.renewals.values().map(|renewal| &renewal.extraction);
    of_chunks.chain(of_renewals).any(|extraction| extraction.key() == Some(key))
}

/// Removes the extractions in `keys` that nothing names any more.
fn release(state: &mut State, keys: BTreeSet<ExtractionKey>) {
    for key in keys {
        if !is_named(state, &key) {
            Arc::make_mut(&mut state.extractions).remove(&key);
        }
    }
}

fn put_document(state: &mut State, new: NewDocument) -> Result<(), StoreError> {
    let id = new.document.id.clone();
    let differs = state.texts.get(&id).is_some_and(|text| *text != new.text);
    if differs && state.chunks.values().any(|chunk| chunk.document == id) {
        return Err(invalid(format!("{id} has chunks, so its text cannot change")));
    }
    Arc::make_mut(&mut state.texts).insert(id.clone(), new.text);
    Arc::make_mut(&mut state.documents).insert(id, new.document);
    Ok(())
}

fn set_original(state: &mut State, SetOriginal { document, bytes }: SetOriginal) -> Result<(), StoreError> {
    if !state.documents.contains_key(&document) {
        return Err(unknown_document(&document));
    }
    let originals = Arc::make_mut(&mut state.originals);
    match bytes {
        Some(bytes) => originals.insert(document, bytes),
        None => originals.remove(&document),
    };
    Ok(())
}

fn put_chunk(state: &mut State, chunk: Chunk) -> Result<(), StoreError> {
    let text = state.texts.get(&chunk.document).ok_or_else(|| unknown_document(&chunk.document))?;
    if chunk.span.slice(text) != Some(chunk.text.as_str()) {
        let (id, span) = (&chunk.id, chunk.span);
        return Err(invalid(format!(
            "the text of {id} is not bytes {}..{} of its document",
            span.start, span.end
        )));
    }
    if state.chunks.get(&chunk.id).is_some_and(|known| known.document != chunk.document) {
        return Err(rules::of_another_document(&chunk.id));
    }
    Arc::make_mut(&mut state.chunks).insert(chunk.id.clone(), chunk);
    Ok(())
}

fn clear_graph(state: &mut State, chunks: &BTreeSet<ChunkId>) {
    if !chunks.is_empty() {
        Arc::make_mut(&mut state.mentions).retain(|(chunk, _), _| !chunks.contains(chunk));
        Arc::make_mut(&mut state.facts).retain(|(chunk, _), _| !chunks.contains(chunk));
        Arc::make_mut(&mut state.claims).retain(|(chunk, _), _| !chunks.contains(chunk));
    }
}

/// Removes the summaries and the stale mark of an entity or relation.
fn forget(state: &mut State, key: &GraphKey) {
    remove_summaries(state, key);
    Arc::make_mut(&mut state.stale).remove(key);
}

fn remove_summaries(state: &mut State, owner: &GraphKey) {
    Arc::make_mut(&mut state.summaries).retain(|(of, _), _| of != owner);
}

/// Removes the nodes that have one of these members, and the nodes that have one of those nodes as a member.
fn remove_nodes_of(state: &mut State, members: BTreeSet<Member>) {
    let has_one = |node: &&LayerNode| node.members.iter().any(|member| members.contains(member));
    let nodes: BTreeSet<Member> =
        state.nodes.values().filter(has_one).map(|node| Member::Node(node.key.clone())).collect();
    if !nodes.is_empty() {
        remove_nodes(state, nodes);
    }
}

fn remove_nodes(state: &mut State, nodes: BTreeSet<Member>) {
    let removed = |id: &str| nodes.iter().any(|node| node.id() == id);
    Arc::make_mut(&mut state.nodes).retain(|key, _| !removed(key.as_str()));
    Arc::make_mut(&mut state.vectors).retain(|(kind, id), _| *kind != ItemKind::Node || !removed(id));
    remove_nodes_of(state, nodes);
}

fn put_nodes(state: &mut State, nodes: Vec<LayerNode>) -> Result<(), StoreError> {
    for node in &nodes {
        Arc::make_mut(&mut state.nodes).insert(node.key.clone(), node.clone());
    }
    for node in &nodes {
        if !state.layers.contains_key(&node.layer) {
            return Err(rules::unknown_layer(node));
        }
        let exists = |member: &&Member| match member {
            Member::Chunk(id) => state.chunks.contains_key(id),
            Member::Entity(key) => state.entities.contains_key(key),
            Member::Node(key) => state.nodes.contains_key(key),
        };
        if let Some(missing) = node.members.iter().find(|member| !exists(member)) {
            return Err(rules::unknown_member(node, missing));
        }
    }
    Ok(())
}

fn unknown_document(id: &DocumentId) -> StoreError {
    invalid(format!("{id} does not exist"))
}

fn unknown_chunk(id: &ChunkId) -> StoreError {
    invalid(format!("{id} does not exist"))
}
