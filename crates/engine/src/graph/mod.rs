//! Derives entities and relations again when their evidence changes.
//!
//! Otherwise an entity with many mentions would be derived, and its description summarized, for each new mention. During
//! indexing, costly items are therefore only counted and marked stale; they are derived once at the end.

#[cfg(test)]
mod conformance;
mod describe;
mod known;
mod moved;
mod records;
mod views;

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, stream};
use graphloom_core::{
    Batch, Call, CallOutcome, Chunk, ChunkId, ContentHash, Decision, Decisions, DocumentId, EmbeddingSpec,
    Entity, EntityKey, Fact, GraphKey, ItemKey, Mention, ModelError, Purpose, Records, Relation, RelationKey,
    Role, Snapshot, StoreError, Summary, VectorEntry, VectorRow,
};

use crate::Engine;
use describe::{Description, DescriptionGap, describe};
pub use describe::{SUMMARY_CONTEXT_TOKENS, SUMMARY_FRAGMENTS, SUMMARY_TOKENS};
pub(crate) use describe::{Summaries, keep_within};
pub use known::KnownDescriptions;
use moved::{StoredRecords, moved_records};
pub(crate) use records::claims_of;
use records::evidence_of;
pub use views::UNKNOWN_KIND;
use views::{Draft, end_names, relation_text};
pub(crate) use views::{derive_entity, derive_relation, entity_text};

/// From this many mentions on, an entity is only counted during indexing.
const HUB_MENTIONS: u32 = SUMMARY_FRAGMENTS as u32;

/// A change of the evidence: the records that leave the graph and those that enter it.
#[derive(Debug, Default)]
pub(crate) struct GraphChange {
    /// Chunks whose mentions, facts and claims leave the graph.
    pub(crate) removed: BTreeSet<ChunkId>,
    /// Chunks whose records enter the graph and replace their previous ones.
    pub(crate) added: Vec<(Chunk, Records)>,
    /// Entities and relations marked stale, which are derived again although their evidence stays.
    pub(crate) stale: Vec<GraphKey>,
    /// New decisions; the records that they move go to their new place.
    pub(crate) decided: Vec<Decision>,
}

/// The derived change of the graph.
#[derive(Debug)]
pub(crate) struct Derivation {
    /// The batch to commit.
    pub(crate) batch: Batch,
    /// Number of descriptions left unfinished, because a model failed or none was to be called; they stay stale.
    pub(crate) unfinished: u32,
    /// The first of those failures.
    pub(crate) failure: Option<ModelError>,
}

/// Texts to embed, each with its kind and id.
pub(crate) type Texts = Vec<(ItemKey, String)>;

/// Returns the batch that applies `change` to the graph of `snapshot`, without vectors, and the texts to embed for it. The
/// batch moves evidence in and out, derives every entity and relation whose evidence changed from all of its evidence, and
/// includes their descriptions.
///
/// - With [`Summaries::Later`], entities with many mentions that only gain more are counted and marked stale instead, and
///   so is anything that needs a new summary. With [`Summaries::Now`], only a failing model leaves anything stale.
/// - `paid`: summaries that no commit has stored yet, by owner.
///
/// The batch is valid only while the graph is as `snapshot` shows it; the caller must require that.
pub(crate) async fn derive(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    change: &GraphChange,
    when: Summaries,
    paid: &BTreeMap<GraphKey, Vec<Summary>>,
) -> Result<(Derivation, Texts), StoreError> {
    let before = Decisions::read(snapshot).await?;
    let decisions = &if change.decided.is_empty() { before.clone() } else { before.with(&change.decided) };
    let difference = before.difference(decisions);
    let mut batch = Batch { put_decisions: change.decided.clone(), ..Batch::default() };
    let mut mentions: BTreeMap<EntityKey, Vec<Mention>> = BTreeMap::new();
    let mut facts: BTreeMap<RelationKey, Vec<Fact>> = BTreeMap::new();
    for (chunk, records) in &change.added {
        let (chunk_mentions, chunk_facts) = evidence_of(chunk, records, decisions);
        batch.put_mentions.extend(chunk_mentions);
        batch.put_facts.extend(chunk_facts);
        batch.put_claims.extend(claims_of(chunk, &records.claims));
    }
    // Evidence that leaves: of removed chunks, the previous evidence of chunks that were read again, and what decisions
    // move.
    let mut leaving = StoredRecords::default();
    leaving
        .chunks
        .extend(change.removed.iter().chain(change.added.iter().map(|(chunk, _)| &chunk.id)).cloned());
    let leaving_keys = snapshot.graph_keys_of(&leaving.chunks.iter().cloned().collect::<Vec<_>>()).await?;
    batch.clear_graph_of = change.added.iter().map(|(chunk, _)| chunk.id.clone()).collect();
    let moved = moved_records(snapshot, &difference, decisions, &mut leaving).await?;
    batch.put_mentions.extend(moved.mentions);
    batch.put_facts.extend(moved.facts);
    for mention in &batch.put_mentions {
        mentions.entry(mention.entity.clone()).or_default().push(mention.clone());
    }
    for fact in &batch.put_facts {
        facts.entry(fact.relation.clone()).or_default().push(fact.clone());
    }

    let mut entity_keys: BTreeSet<EntityKey> = mentions.keys().cloned().collect();
    let mut relation_keys: BTreeSet<RelationKey> = facts.keys().cloned().collect();
    let mut losing: BTreeSet<EntityKey> = BTreeSet::new();
    relation_keys.extend(difference.relations.iter().cloned());
    losing.extend(difference.entities.iter().cloned());
    for key in leaving_keys.into_iter().chain(moved.from) {
        match key {
            GraphKey::Entity(key) => drop(losing.insert(key)),
            GraphKey::Relation(key) => drop(relation_keys.insert(key)),
        }
    }
    entity_keys.extend(relation_keys.iter().flat_map(|key| key.ends().map(EntityKey::clone)));
    entity_keys.extend(losing.iter().cloned());
    // Their evidence stays, so the ends of these relations stay as well.
    for key in change.stale.iter().cloned() {
        match key {
            GraphKey::Entity(key) => drop(entity_keys.insert(key)),
            GraphKey::Relation(key) => drop(relation_keys.insert(key)),
        }
    }

    // The text of a relation contains the names of its ends, so a rename changes it; its other end does not change.
    let renamed: Vec<EntityKey> = difference.renamed.iter().cloned().collect();
    let found_by_name = snapshot.relations_of(&renamed).await?;
    relation_keys.extend(found_by_name.into_iter().flatten().map(|relation| relation.key));

    let relation_keys: Vec<RelationKey> = relation_keys.into_iter().collect();
    let decision_change = DecisionChange { before: &before, now: decisions };
    let relations = derive_relations(snapshot, &relation_keys, facts, &leaving, &decision_change).await?;
    let entity_keys: Vec<EntityKey> = entity_keys.into_iter().collect();
    let may_wait = |key: &EntityKey| when == Summaries::Later && !losing.contains(key);
    let entities =
        derive_entities(snapshot, &entity_keys, mentions, &relations, &leaving, decisions, &may_wait).await?;

    let mut writer = Writer {
        engine,
        snapshot,
        decisions,
        when,
        paid,
        stale: change.stale.iter().collect(),
        derivation: Derivation { batch, unfinished: 0, failure: None },
        texts: Vec::new(),
    };
    writer.write_relations(relations).await?;
    writer.write_entities(entities).await?;
    let Writer { derivation, texts, .. } = writer;
    Ok((derivation, texts))
}

/// The decisions before and after the change.
struct DecisionChange<'a> {
    before: &'a Decisions,
    now: &'a Decisions,
}

/// A relation before and after the change.
struct RelationStep {
    key: RelationKey,
    before: Option<Relation>,
    /// The text of its stored vector.
    text_before: Option<String>,
    /// The facts that state it, including those that people added.
    facts: Vec<Fact>,
}

/// Returns the facts that are not set aside, in order, followed by those that people added.
fn active_facts(mut facts: Vec<Fact>, key: &RelationKey, decisions: &Decisions) -> Vec<Fact> {
    facts.retain(|fact| !fact.set_aside);
    facts.sort_by(|one, other| (&one.chunk, one.ordinal).cmp(&(&other.chunk, other.ordinal)));
    facts.extend(decisions.relation(key).into_iter().flat_map(|decided| decided.facts.iter().cloned()));
    facts
}

/// Returns the names of a relation's ends: those that decisions set, or else the most common ones in its facts.
fn names_of_ends(key: &RelationKey, facts: &[Fact], decisions: &Decisions) -> (String, String) {
    let decided = |end: &EntityKey| decisions.entity(end).and_then(|decided| decided.name.clone());
    let (a, b) = end_names(key, facts);
    (decided(key.a()).unwrap_or(a), decided(key.b()).unwrap_or(b))
}

/// Returns the texts by which relations are embedded, for the relations that exist in the snapshot.
pub(crate) async fn indexed_relations(
    snapshot: &dyn Snapshot,
    decisions: &Decisions,
    keys: &[RelationKey],
) -> Result<Vec<(RelationKey, String)>, StoreError> {
    let (relations, facts) = (snapshot.relations(keys).await?, snapshot.facts_of(keys).await?);
    let text = |(relation, facts): (Option<Relation>, Vec<Fact>)| {
        let relation = relation?;
        let facts = active_facts(facts, &relation.key, decisions);
        let text = relation_text(&relation, names_of_ends(&relation.key, &facts, decisions));
        Some((relation.key, text))
    };
    Ok(relations.into_iter().zip(facts).filter_map(text).collect())
}

async fn derive_relations(
    snapshot: &dyn Snapshot,
    keys: &[RelationKey],
    mut added: BTreeMap<RelationKey, Vec<Fact>>,
    leaving: &StoredRecords,
    decision_change: &DecisionChange<'_>,
) -> Result<Vec<RelationStep>, StoreError> {
    let before = snapshot.relations(keys).await?;
    let stored = snapshot.facts_of(keys).await?;
    let steps = keys.iter().zip(before).zip(stored).map(|((key, before), stored)| {
        let text_before = before.as_ref().map(|before| {
            let facts = active_facts(stored.clone(), key, decision_change.before);
            relation_text(before, names_of_ends(key, &facts, decision_change.before))
        });
        let mut facts: Vec<Fact> = stored.into_iter().filter(|fact| !leaving.takes_fact(fact)).collect();
        facts.extend(added.remove(key).unwrap_or_default());
        let facts = active_facts(facts, key, decision_change.now);
        RelationStep { key: key.clone(), before, text_before, facts }
    });
    Ok(steps.collect())
}

/// An entity before and after the change.
struct EntityStep {
    key: EntityKey,
    before: Option<Entity>,
    after: EntityOutcome,
}

/// What becomes of an entity.
enum EntityOutcome {
    /// No evidence of it is left.
    Gone,
    /// It is derived from all of its evidence.
    Derived(Draft<Entity>),
    /// It is only counted, and derived later.
    Counted(Entity),
}

impl From<Option<Draft<Entity>>> for EntityOutcome {
    fn from(draft: Option<Draft<Entity>>) -> Self {
        draft.map_or(Self::Gone, Self::Derived)
    }
}

async fn derive_entities(
    snapshot: &dyn Snapshot,
    keys: &[EntityKey],
    mut added: BTreeMap<EntityKey, Vec<Mention>>,
    relations: &[RelationStep],
    leaving: &StoredRecords,
    decisions: &Decisions,
    may_wait: &(dyn Fn(&EntityKey) -> bool + Sync),
) -> Result<Vec<EntityStep>, StoreError> {
    let mut degree_change: BTreeMap<&EntityKey, i64> = BTreeMap::new();
    let mut facts_now: BTreeMap<&EntityKey, Vec<&Fact>> = BTreeMap::new();
    for step in relations {
        let change = i64::from(!step.facts.is_empty()) - i64::from(step.before.is_some());
        for end in step.key.ends() {
            *degree_change.entry(end).or_default() += change;
            facts_now.entry(end).or_default().extend(&step.facts);
        }
    }
    let before = snapshot.entities(keys).await?;
    let mut steps = Vec::with_capacity(keys.len());
    let mut whole = Vec::with_capacity(keys.len());
    for (key, before) in keys.iter().zip(before) {
        match before {
            Some(hub) if hub.mention_count >= HUB_MENTIONS && may_wait(key) => {
                let gained = added.remove(key).unwrap_or_default();
                let gained = gained.iter().filter(|mention| !mention.set_aside).count() as u32;
                let after = Entity {
                    mention_count: hub.mention_count + gained,
                    degree: changed_degree(hub.degree, degree_change.get(key)),
                    ..hub.clone()
                };
                steps.push(EntityStep {
                    key: key.clone(),
                    before: Some(hub),
                    after: EntityOutcome::Counted(after),
                });
            }
            before => whole.push((key.clone(), before)),
        }
    }
    let whole_keys: Vec<EntityKey> = whole.iter().map(|(key, _)| key.clone()).collect();
    let stored = snapshot.mentions_of(&whole_keys).await?;
    let mut unmentioned = Vec::new();
    for ((key, before), stored) in whole.into_iter().zip(stored) {
        let mut mentions: Vec<Mention> =
            stored.into_iter().filter(|mention| !leaving.takes_mention(mention)).collect();
        mentions.extend(added.remove(&key).unwrap_or_default());
        mentions.retain(|mention| !mention.set_aside);
        mentions.sort_by(|one, other| (&one.chunk, one.ordinal).cmp(&(&other.chunk, other.ordinal)));
        let known = before.as_ref().map_or(0, |before| before.degree);
        let degree = changed_degree(known, degree_change.get(&key));
        let decided = decisions.entity(&key);
        let after = derive_entity(&key, &mentions, &[], degree, decided).into();
        if mentions.is_empty() && degree > 0 && !decided.is_some_and(|decided| decided.created) {
            unmentioned.push((steps.len(), degree));
        }
        steps.push(EntityStep { key, before, after });
    }
    // Entities that only relations name are described by facts: the facts changed here and those of other relations.
    let touching_keys: Vec<EntityKey> = unmentioned.iter().map(|(at, _)| steps[*at].key.clone()).collect();
    let touching = snapshot.facts_touching(&touching_keys).await?;
    let changed: BTreeSet<&RelationKey> = relations.iter().map(|step| &step.key).collect();
    for ((at, degree), stored) in unmentioned.into_iter().zip(touching) {
        let step = &mut steps[at];
        let mut facts: Vec<Fact> = (stored.into_iter())
            .filter(|fact| !fact.set_aside && !changed.contains(&fact.relation))
            .collect();
        let stated = decisions.relations().filter(|(key, _)| key.ends().contains(&&step.key));
        let stated = stated.filter(|(key, _)| !changed.contains(key));
        facts.extend(stated.flat_map(|(_, decided)| decided.facts.iter().cloned()));
        facts.extend(facts_now.get(&step.key).into_iter().flatten().map(|fact| (*fact).clone()));
        // Facts that people added are numbered within their relation.
        facts.sort_by(|one, other| {
            (&one.chunk, one.ordinal, &one.relation).cmp(&(&other.chunk, other.ordinal, &other.relation))
        });
        step.after = derive_entity(&step.key, &[], &facts, degree, decisions.entity(&step.key)).into();
    }
    Ok(steps)
}

fn changed_degree(known: u32, change: Option<&i64>) -> u32 {
    u32::try_from(i64::from(known) + change.copied().unwrap_or(0)).unwrap_or(0)
}

/// Adds derived views to the batch.
struct Writer<'a> {
    engine: &'a Engine,
    snapshot: &'a dyn Snapshot,
    decisions: &'a Decisions,
    when: Summaries,
    /// Summaries that no commit has stored yet.
    paid: &'a BTreeMap<GraphKey, Vec<Summary>>,
    /// The items that are known to be stale.
    stale: BTreeSet<&'a GraphKey>,
    derivation: Derivation,
    texts: Texts,
}

impl Writer<'_> {
    async fn write_relations(&mut self, steps: Vec<RelationStep>) -> Result<(), StoreError> {
        let owners: Vec<GraphKey> = steps.iter().map(|step| GraphKey::Relation(step.key.clone())).collect();
        let memos = self.snapshot.summaries(&owners).await?;
        let drafts = steps.iter().zip(owners).zip(memos).filter_map(|((step, owner), memo)| {
            let decided = self.decisions.relation(&step.key);
            let Draft { view, fragments, decided } = derive_relation(&step.key, &step.facts, decided)?;
            // As the facts name them: the relations of a renamed entity need no new summaries.
            let (a, b) = end_names(&step.key, &step.facts);
            Some((view, DescriptionTask { owner, name: format!("{a} - {b}"), fragments, memo, decided }))
        });
        let mut described = self.describe_all(drafts.collect()).await.into_iter();
        for step in steps {
            if step.facts.is_empty() {
                if step.before.is_some() || self.stale.contains(&GraphKey::Relation(step.key.clone())) {
                    self.derivation.batch.remove_relations.push(step.key);
                }
                continue;
            }
            // There is one description for each relation with facts, in order.
            let Some((view, description)) = described.next() else { break };
            let inputs_hash = described_hash(&view.inputs_hash, &description);
            let relation = Relation { description, inputs_hash, ..view };
            let text = relation_text(&relation, names_of_ends(&step.key, &step.facts, self.decisions));
            if step.text_before.as_ref() != Some(&text) {
                self.texts.push((ItemKey::Relation(relation.key.clone()), text));
            }
            if step.before.as_ref() != Some(&relation) {
                self.derivation.batch.put_relations.push(relation);
            }
        }
        Ok(())
    }

    async fn write_entities(&mut self, steps: Vec<EntityStep>) -> Result<(), StoreError> {
        let mut derived = Vec::with_capacity(steps.len());
        for EntityStep { key, before, after } in steps {
            match after {
                EntityOutcome::Gone
                    if before.is_some() || self.stale.contains(&GraphKey::Entity(key.clone())) =>
                {
                    self.derivation.batch.remove_entities.push(key);
                }
                EntityOutcome::Gone => {}
                EntityOutcome::Counted(entity) => {
                    self.derivation.batch.set_stale.push((GraphKey::Entity(key), true));
                    if before.as_ref() != Some(&entity) {
                        self.derivation.batch.put_entities.push(entity);
                    }
                }
                EntityOutcome::Derived(draft) => derived.push((key, before, draft)),
            }
        }
        let owners: Vec<GraphKey> = derived.iter().map(|(key, ..)| GraphKey::Entity(key.clone())).collect();
        let memos = self.snapshot.summaries(&owners).await?;
        let mut before = Vec::with_capacity(derived.len());
        let mut drafts = Vec::with_capacity(derived.len());
        for (((_, was, draft), owner), memo) in derived.into_iter().zip(owners).zip(memos) {
            let Draft { view, fragments, decided } = draft;
            let name = view.name.clone();
            drafts.push((view, DescriptionTask { owner, name, fragments, memo, decided }));
            before.push(was);
        }
        for ((view, description), before) in self.describe_all(drafts).await.into_iter().zip(before) {
            let inputs_hash = described_hash(&view.inputs_hash, &description);
            let entity = Entity { description, inputs_hash, ..view };
            let text = entity_text(&entity);
            if before.as_ref().map(entity_text).as_ref() != Some(&text) {
                self.texts.push((ItemKey::Entity(entity.key.clone()), text));
            }
            if before.as_ref() != Some(&entity) {
                self.derivation.batch.put_entities.push(entity);
            }
        }
        Ok(())
    }

    /// Returns each view with its description, in order. Memos, ledger rows and stale marks go into the batch. Summary
    /// calls for different owners run concurrently.
    async fn describe_all<View>(&mut self, drafts: Vec<(View, DescriptionTask)>) -> Vec<(View, String)> {
        let (views, wanted): (Vec<View>, Vec<DescriptionTask>) = drafts.into_iter().unzip();
        let (engine, when, paid) = (self.engine, self.when, self.paid);
        let descriptions: Vec<(GraphKey, bool, Description)> = stream::iter(wanted)
            .map(async |DescriptionTask { owner, name, fragments, memo, decided }| {
                let description = match decided {
                    Some(text) => Description { text, ..Description::default() },
                    None => {
                        let paid = paid.get(&owner).into_iter().flatten();
                        let known: Vec<Summary> = memo.iter().chain(paid).cloned().collect();
                        describe(engine, when, &owner, &name, fragments, &known).await
                    }
                };
                let changed = memo != description.summaries;
                (owner, changed, description)
            })
            .buffered(engine.index.max_concurrent_calls.max(1))
            .collect()
            .await;
        let described = views.into_iter().zip(descriptions).map(|(view, (owner, changed, description))| {
            let batch = &mut self.derivation.batch;
            batch.append_calls.extend(description.calls.into_iter().filter(|call| call.attempts > 0));
            if changed {
                batch.set_summaries.push((owner.clone(), description.summaries));
            }
            let was_stale = self.stale.contains(&owner);
            let is_stale = description.missing.is_some();
            match description.missing {
                Some(DescriptionGap::Failed(error)) => {
                    tracing::warn!(?owner, %error, "a description waits for its summary");
                    self.derivation.unfinished += 1;
                    self.derivation.failure.get_or_insert(error);
                }
                Some(DescriptionGap::Later) => {
                    self.derivation.unfinished += u32::from(when == Summaries::Known)
                }
                None => {}
            }
            if was_stale || is_stale {
                self.derivation.batch.set_stale.push((owner, is_stale));
            }
            (view, description.text)
        });
        described.collect()
    }
}

/// A description to be written.
struct DescriptionTask {
    owner: GraphKey,
    name: String,
    fragments: Vec<String>,
    memo: Vec<Summary>,
    /// The description that a person wrote; if there is one, no other is made.
    decided: Option<String>,
}

/// Returns a hash that covers the evidence and the chosen description.
pub(crate) fn described_hash(inputs: &ContentHash, description: &str) -> ContentHash {
    ContentHash::of_parts(&[inputs.as_str(), description])
}

/// Embeds `texts` and adds their vectors, the embedding space and the ledger row to `batch`.
pub(crate) async fn embed(
    engine: &Engine,
    texts: Texts,
    document: Option<&DocumentId>,
    batch: &mut Batch,
) -> Result<(), ModelError> {
    if texts.is_empty() {
        return Ok(());
    }
    let embedder = engine.models.embedder.as_ref();
    let started_at = engine.clock.now();
    let (entries, texts): (Vec<VectorEntry>, Vec<String>) = texts
        .into_iter()
        .map(|(item, text)| (VectorEntry { item, inputs_hash: ContentHash::of(text.as_bytes()) }, text))
        .unzip();
    let embeddings = embedder.embed(Purpose::Document, &texts).await?;
    if embeddings.vectors.len() != entries.len() {
        let what = format!("{} vectors came for {} texts", embeddings.vectors.len(), entries.len());
        return Err(ModelError::Malformed { model: embedder.name().to_owned(), what });
    }
    if embeddings.attempts > 0 {
        batch.append_calls.push(Call {
            role: Role::Embed,
            model: embedder.name().to_owned(),
            prompt_tokens: embeddings.usage.prompt_tokens,
            cached_prompt_tokens: embeddings.usage.cached_prompt_tokens,
            completion_tokens: embeddings.usage.completion_tokens,
            attempts: embeddings.attempts,
            started_at,
            duration_ms: engine.clock.now().0.saturating_sub(started_at.0),
            outcome: CallOutcome::Ok,
            document: document.cloned(),
            rejects: 0,
        });
    }
    let dimensions = embeddings.vectors.first().map_or(0, Vec::len) as u32;
    batch.embedding = Some(EmbeddingSpec { model: embedder.name().to_owned(), dimensions });
    let rows = entries.into_iter().zip(embeddings.vectors).map(|(entry, vector)| VectorRow { entry, vector });
    batch.put_vectors.extend(rows);
    Ok(())
}
