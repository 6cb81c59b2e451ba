//! Rules for batches that need no state, shared by all stores.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    Action, Batch, ChunkExtraction, ChunkId, ConversationId, Document, DocumentId, EmbeddingSpec, EntityKey,
    GraphKey, Job, Layer, LayerName, LayerNode, Lease, Member, NodeKey, QueueState, RelationKey, Revision,
    StoreError, Timestamp,
};

/// The largest number that a store keeps: SQL integers are signed.
const MAX_NUMBER: u64 = i64::MAX as u64;

/// Returns the error for an exchange whose conversation does not exist.
pub fn unknown_conversation(id: &ConversationId) -> StoreError {
    invalid(format!("the conversation {id} does not exist"))
}

/// Rejects a batch that is invalid regardless of what the store holds.
pub fn check(batch: &Batch) -> Result<(), StoreError> {
    if let Some(spec) = &batch.embedding
        && spec.dimensions == 0
    {
        return Err(invalid(format!("embedding space {} has no dimensions", spec.model)));
    }
    for new in &batch.put_documents {
        let id = &new.document.id;
        if new.document.text_bytes != new.text.len() as u64 {
            let (declared, actual) = (new.document.text_bytes, new.text.len());
            return Err(invalid(format!("{id} declares {declared} bytes of text but has {actual}")));
        }
        check_time(new.document.added_at)?;
    }
    for conversation in &batch.put_conversations {
        check_time(conversation.created_at)?;
        check_time(conversation.updated_at)?;
    }
    for new in &batch.put_exchanges {
        check_time(new.exchange.asked_at)?;
    }
    for job in &batch.put_jobs {
        check_time(job.created_at)?;
        check_lease(job.lease.as_ref())?;
    }
    if let Some(QueueState::Paused { since }) = batch.set_queue {
        check_time(since)?;
    }
    for extraction in &batch.put_extractions {
        if extraction.records.relations.iter().any(|record| !record.weight.is_finite()) {
            return Err(invalid(format!("extraction {} has a weight that is not a number", extraction.key)));
        }
    }
    for decision in &batch.put_decisions {
        check_time(decision.made_at)?;
        if decision.order > MAX_NUMBER {
            return Err(invalid(format!("the order of {} is out of range", decision.id)));
        }
        let weight = match &decision.action {
            Action::CreateRelation { weight, .. } => Some(*weight),
            Action::EditRelation { weight, .. } => *weight,
            Action::CreateEntity { .. }
            | Action::EditEntity { .. }
            | Action::RenameEntity { .. }
            | Action::DeleteEntity { .. }
            | Action::MergeEntities { .. }
            | Action::SplitEntity { .. }
            | Action::NotSame { .. }
            | Action::DeleteRelation { .. }
            | Action::Undo { .. } => None,
        };
        if weight.is_some_and(|weight| !weight.is_finite()) {
            return Err(invalid(format!("{} sets a weight that is not a number", decision.id)));
        }
    }
    for mention in &batch.put_mentions {
        check_entity(&mention.entity)?;
    }
    for fact in &batch.put_facts {
        check_relation(&fact.relation)?;
        check_weight(&fact.relation, fact.weight)?;
    }
    for claim in &batch.put_claims {
        claim.entities().try_for_each(check_entity)?;
        if claim.span.is_empty() {
            return Err(invalid(format!("claim {} of {} quotes nothing", claim.ordinal, claim.chunk)));
        }
    }
    for entity in &batch.put_entities {
        check_entity(&entity.key)?;
    }
    for relation in &batch.put_relations {
        check_relation(&relation.key)?;
        check_weight(&relation.key, relation.weight)?;
    }
    for layer in &batch.put_layers {
        if LayerName::new(layer.name.as_str()).is_err() || layer.watermark.0 > MAX_NUMBER {
            return Err(invalid(format!("layer {:?} has no valid name or revision", layer.name.as_str())));
        }
        check_lease(layer.lease.as_ref())?;
    }
    for node in &batch.put_nodes {
        let ordered = node.members.is_sorted_by(|one, next| one < next);
        if node.members.is_empty()
            || !ordered
            || node.key != NodeKey::new(&node.layer, node.level, &node.members)
        {
            return Err(invalid(format!("the key of node {} does not match its members", node.key)));
        }
    }
    for row in &batch.put_vectors {
        if row.vector.iter().any(|x| !x.is_finite()) {
            return Err(invalid(format!(
                "the vector of {} contains a value that is not a number",
                row.entry.item.id()
            )));
        }
    }
    for call in &batch.append_calls {
        check_time(call.started_at)?;
        if [call.prompt_tokens, call.completion_tokens, call.duration_ms].iter().any(|&n| n > MAX_NUMBER) {
            return Err(invalid("a call counts more than a store can hold".to_owned()));
        }
    }
    Ok(())
}

/// Returns the keys in `losing` that the batch neither writes nor removes nor marks stale. `losing` holds the entities and
/// relations that lose evidence to the batch. Leaving them unchanged is valid only while other evidence remains.
pub fn left_as_they_are(batch: &Batch, mut losing: BTreeSet<GraphKey>) -> BTreeSet<GraphKey> {
    if losing.is_empty() {
        return losing;
    }
    let entities = batch.put_entities.iter().map(|entity| &entity.key).chain(&batch.remove_entities);
    let relations = batch.put_relations.iter().map(|relation| &relation.key).chain(&batch.remove_relations);
    for key in entities.cloned().map(GraphKey::Entity).chain(relations.cloned().map(GraphKey::Relation)) {
        losing.remove(&key);
    }
    for (key, _) in batch.set_stale.iter().filter(|(_, is_stale)| *is_stale) {
        losing.remove(key);
    }
    losing
}

/// Returns the error for a batch that removes the last evidence of an entity or relation but leaves its view.
pub fn ghost(key: &GraphKey) -> StoreError {
    let what = match key {
        GraphKey::Entity(key) => format!("entity {key}"),
        GraphKey::Relation(key) => format!("relation {} - {}", key.a(), key.b()),
    };
    invalid(format!("{what} loses its last evidence and is neither removed nor derived again"))
}

/// Compares a layer with the one that a batch requires.
pub fn require_layer(
    name: &LayerName,
    expected: Option<&Layer>,
    stored: Option<&Layer>,
) -> Result<(), StoreError> {
    if expected == stored { Ok(()) } else { Err(conflict(format!("layer {name} changed"))) }
}

/// Returns the error for a node whose layer does not exist.
pub fn unknown_layer(node: &LayerNode) -> StoreError {
    invalid(format!("{} is of layer {}, which does not exist", node.key, node.layer))
}

/// Returns the error for a node with a member that does not exist.
pub fn unknown_member(node: &LayerNode, member: &Member) -> StoreError {
    invalid(format!("{} has {} {} as a member, which does not exist", node.key, member.kind(), member.id()))
}

/// Rejects vectors that do not fit the workspace's embedding space.
pub fn check_dimensions(batch: &Batch, space: Option<&EmbeddingSpec>) -> Result<(), StoreError> {
    let Some(first) = batch.put_vectors.first() else { return Ok(()) };
    let Some(space) = space else {
        return Err(invalid(format!(
            "the vector of {} comes before the embedding space",
            first.entry.item.id()
        )));
    };
    match batch.put_vectors.iter().find(|row| row.vector.len() != space.dimensions as usize) {
        Some(row) => Err(invalid(format!(
            "the vector of {} has {} dimensions, the space {} has {}",
            row.entry.item.id(),
            row.vector.len(),
            space.model,
            space.dimensions
        ))),
        None => Ok(()),
    }
}

/// Returns the error for a second, different embedding space.
pub fn embedding_mismatch(expected: &EmbeddingSpec, found: &EmbeddingSpec) -> StoreError {
    StoreError::EmbeddingMismatch { expected: describe(expected), found: describe(found) }
}

/// Rejects query vectors that do not fit the workspace's embedding space.
pub fn check_query(space: &EmbeddingSpec, vectors: &[Vec<f32>]) -> Result<(), StoreError> {
    match vectors.iter().find(|vector| vector.len() != space.dimensions as usize) {
        Some(vector) => Err(StoreError::EmbeddingMismatch {
            expected: describe(space),
            found: format!("a query vector ({} dimensions)", vector.len()),
        }),
        None => Ok(()),
    }
}

/// Checks [`Require::JobIs`](graphloom_core::Require::JobIs) against `stored`, the document's job.
pub fn require_job(job: &Job, stored: Option<&Job>) -> Result<(), StoreError> {
    match stored {
        Some(stored) if stored == job => Ok(()),
        Some(_) => Err(conflict(format!("the job of {} has changed", job.document))),
        None => Err(conflict(format!("{} has no job", job.document))),
    }
}

/// Checks [`Require::ExtractionIs`](graphloom_core::Require::ExtractionIs) against `stored`, the state of the chunk's
/// extraction.
pub fn require_extraction(
    chunk: &ChunkId,
    extraction: &ChunkExtraction,
    stored: Option<&ChunkExtraction>,
) -> Result<(), StoreError> {
    match stored {
        Some(stored) if stored == extraction => Ok(()),
        Some(_) => Err(conflict(format!("the extraction of {chunk} has changed"))),
        None => Err(conflict(format!("{chunk} does not exist"))),
    }
}

/// Checks [`Require::SettingsAre`](graphloom_core::Require::SettingsAre) against `stored`, the settings of the workspace.
pub fn require_settings(
    settings: &BTreeMap<String, String>,
    stored: &BTreeMap<String, String>,
) -> Result<(), StoreError> {
    match settings == stored {
        true => Ok(()),
        false => Err(conflict("the settings that the workspace is built with have changed".to_owned())),
    }
}

/// Checks [`Require::UnchangedSince`](graphloom_core::Require::UnchangedSince) `known` against `newest`, the last commit.
pub fn require_revision(known: Revision, newest: Revision) -> Result<(), StoreError> {
    match newest > known {
        true => Err(conflict(format!("the workspace changed at {newest} after {known}"))),
        false => Ok(()),
    }
}

/// Checks [`Require::SourceIs`](graphloom_core::Require::SourceIs) against `stored`, the documents of the source.
pub fn require_source(source: &str, documents: &[Document], stored: &[&Document]) -> Result<(), StoreError> {
    let changed = |id: &DocumentId, how: &str| Err(conflict(format!("{id} of source {source:?} {how}")));
    for document in documents {
        match stored.iter().find(|stored| stored.id == document.id) {
            Some(stored) if *stored == document => {}
            Some(_) => return changed(&document.id, "has changed"),
            None => return changed(&document.id, "is gone"),
        }
    }
    match stored.iter().find(|stored| documents.iter().all(|document| document.id != stored.id)) {
        Some(other) => changed(&other.id, "is new"),
        None => Ok(()),
    }
}

/// Returns the error for a chunk that already belongs to another document.
pub fn of_another_document(chunk: &ChunkId) -> StoreError {
    invalid(format!("{chunk} is a chunk of another document"))
}

/// Returns the error for a batch that breaks a rule.
pub fn invalid(what: String) -> StoreError {
    StoreError::Invalid { what }
}

/// Returns the error for a batch whose precondition does not hold.
pub fn conflict(what: String) -> StoreError {
    StoreError::Conflict { what }
}

fn describe(space: &EmbeddingSpec) -> String {
    format!("{} ({} dimensions)", space.model, space.dimensions)
}

fn check_time(time: Timestamp) -> Result<(), StoreError> {
    if time.0 > MAX_NUMBER { Err(invalid(format!("time {} is out of range", time.0))) } else { Ok(()) }
}

fn check_lease(lease: Option<&Lease>) -> Result<(), StoreError> {
    lease.map_or(Ok(()), |lease| check_time(lease.expires_at))
}

/// Rejects a key with a tab, because a printed relation key separates its ends by one tab.
fn check_entity(key: &EntityKey) -> Result<(), StoreError> {
    if key.as_str().contains('\t') {
        Err(invalid(format!("entity key {key:?} contains a tab")))
    } else {
        Ok(())
    }
}

fn check_relation(key: &RelationKey) -> Result<(), StoreError> {
    key.ends().into_iter().try_for_each(check_entity)
}

fn check_weight(key: &RelationKey, weight: f64) -> Result<(), StoreError> {
    if weight.is_finite() {
        Ok(())
    } else {
        Err(invalid(format!("the weight of {} - {} is not a number", key.a(), key.b())))
    }
}
