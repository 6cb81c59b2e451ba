//! Local search: finds entities near the question, and the reports of their communities, their relations and their chunks,
//! each within a share of the context.
//!
//! Source: Microsoft GraphRAG, local search.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    ChunkId, EntityKey, GraphKey, ItemKey, ItemKind, LayerNode, Member, NodeKey, Relation, Snapshot,
};

use super::select::{Candidate, Relevance};
use crate::Engine;
use crate::derive::Communities;
use crate::filtered::FilteredSnapshot;
use crate::query::chunks::{self, Candidate as ChunkCandidate, MAX_SOURCE_CHUNKS, Passage};
use crate::query::context::{self, LineCounter};
use crate::query::fuse::reciprocal_ranks;
use crate::query::plan::Plan;
use crate::query::{
    Arm, FoundEntity, FoundRelation, QueryError, Question, Retrieval, history, references, respond, truncate,
};

/// Number of entities near the question [GraphRAG: twice its `top_k_entities`].
const ENTITIES: usize = 20;
/// Entities taken from each of the two rankings.
const RANKED: usize = 40;
/// Maximum number of relations to other entities, for each entity [GraphRAG: `top_k_relationships`].
const OUTER_RELATIONS: usize = 10;
/// Maximum number of levels between entities and the community whose report is read.
const MAX_CLIMB: usize = 32;
/// Tokens reserved for headings and the list of documents.
const RESERVED_TOKENS: u32 = 600;
/// A reference number with as many digits as real ones have at most, for counting.
const WIDE_NUMBER: u32 = 1000;

/// Shares of the context's tokens, in percent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    pub(super) reports: u32,
    /// Entities and relations.
    pub(super) graph: u32,
}

/// For local search. Chunks get the remaining 50 [GraphRAG: `community_prop`, `text_unit_prop`].
pub(super) const LOCAL: Shares = Shares { reports: 15, graph: 35 };
/// For the local searches of drift. Chunks get the remaining 90, the graph what the reports leave [GraphRAG].
pub(super) const DRIFT: Shares = Shares { reports: 10, graph: 0 };

/// The data of a local search, within its shares.
pub(super) struct LocalContext {
    pub(super) reports: Vec<Candidate>,
    pub(super) report_lines: Vec<String>,
    pub(super) entities: Vec<FoundEntity>,
    pub(super) entity_lines: Vec<String>,
    pub(super) relations: Vec<FoundRelation>,
    pub(super) relation_lines: Vec<String>,
    pub(super) passages: Vec<Passage>,
}

/// Answers a question in mode `community_local`.
pub(super) async fn find(
    engine: &Engine,
    question: &Question,
    relevance: &Relevance<'_>,
    mut retrieval: Retrieval,
) -> Result<Retrieval, QueryError> {
    let counter = LineCounter { tokenizer: engine.tokenizer, caches: &engine.caches };
    let instructions = respond::instructions(&engine.prompts, question, Plan::of(retrieval.mode), "");
    let history_tokens: u32 = (history::latest(question, retrieval.history_messages).iter())
        .map(|message| counter.tokenizer.count(&message.content))
        .sum();
    let spent = counter.tokens(&instructions)
        + history_tokens
        + counter.tokenizer.count(question.text.trim())
        + context::frame_tokens(&counter)
        + RESERVED_TOKENS;
    let tokens = question.max_total_tokens.saturating_sub(spent).min(question.reports.call_tokens);
    let gathered = gather(engine, question, relevance, tokens, LOCAL).await?;
    let (references, chunks) = references::number(gathered.passages);
    let graph = truncate::FittedGraph {
        entity_lines: gathered.entity_lines,
        relation_lines: gathered.relation_lines,
        ..truncate::FittedGraph::default()
    };
    retrieval.context =
        context::with_reports(&gathered.report_lines, &graph, &[], None, &chunks, &references);
    retrieval.reports = gathered.reports.iter().map(Candidate::found).collect();
    retrieval.entities = gathered.entities;
    retrieval.relations = gathered.relations;
    retrieval.chunks = chunks;
    retrieval.references = references;
    Ok(retrieval)
}

/// Gathers at most `tokens` tokens. What one part leaves of its share goes to the next part.
pub(super) async fn gather(
    engine: &Engine,
    question: &Question,
    relevance: &Relevance<'_>,
    tokens: u32,
    shares: Shares,
) -> Result<LocalContext, QueryError> {
    let counter = LineCounter { tokenizer: engine.tokenizer, caches: &engine.caches };
    let held = engine.store.snapshot().await?;
    let snapshot = held.as_ref();
    let scope = FilteredSnapshot::new(snapshot, None, engine.tokenizer).await?;
    let found = near_entities(&scope, question, relevance).await?;
    let keys: Vec<EntityKey> = found.iter().map(|found| found.entity.key.clone()).collect();

    let mut room = tokens / 100 * shares.reports;
    let (mut reports, mut report_lines) = (Vec::new(), Vec::new());
    for candidate in reports_of(snapshot, relevance, &keys, question.reports.level).await? {
        let line = context::report_line(&candidate.node.title, candidate.report.rating, &candidate.node.text);
        if take(&line, &counter, &mut room) {
            report_lines.push(line);
            reports.push(candidate);
        }
    }

    room += tokens / 100 * shares.graph;
    let (mut entities, mut entity_lines) = (Vec::new(), Vec::new());
    for found in found {
        let entity = &found.entity;
        let line = context::entity_line(&entity.name, &entity.kind, &entity.description);
        if take(&line, &counter, &mut room) {
            entity_lines.push(line);
            entities.push(found);
        }
    }
    let around = relations_around(&scope, &keys).await?;
    let ends = truncate::names_of_ends(&scope, &around).await?;
    let (mut relations, mut relation_lines) = (Vec::new(), Vec::new());
    for (relation, ends) in around.into_iter().zip(ends) {
        let line = context::relation_line(&ends, &relation.description);
        if take(&line, &counter, &mut room) {
            relation_lines.push(line);
            relations.push(FoundRelation { relation, ends, score: None });
        }
    }

    room += tokens - tokens / 100 * (shares.reports + shares.graph);
    let candidates = chunks_behind(&scope, &keys, &relations).await?;
    let mut passages = chunks::load(snapshot, candidates, 0).await?;
    let mut fits = true;
    passages.retain(|passage| {
        fits &= take(&context::passage_line(WIDE_NUMBER, &passage.chunk.text), &counter, &mut room);
        fits
    });
    Ok(LocalContext { reports, report_lines, entities, entity_lines, relations, relation_lines, passages })
}

/// Subtracts the line's tokens from `room` and returns true if they fit.
fn take(line: &str, counter: &LineCounter<'_>, room: &mut u32) -> bool {
    let tokens = counter.tokens(line);
    let fits = tokens <= *room;
    if fits {
        *room -= tokens;
    }
    fits
}

/// Returns the entities nearest to the question by vector and full text, with fused ranks.
async fn near_entities(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    relevance: &Relevance<'_>,
) -> Result<Vec<FoundEntity>, QueryError> {
    let mut requests = vec![scope.by_words(ItemKind::Entity, relevance.text(), RANKED)];
    requests.extend(
        relevance.vector().map(|vector| {
            scope.by_vector(ItemKind::Entity, vector.to_vec(), RANKED, question.cosine_threshold)
        }),
    );
    let rankings = scope.snapshot.search(&requests).await?;
    let cosines: BTreeMap<ItemKey, f32> =
        rankings.iter().skip(1).flatten().map(|hit| (hit.item.clone(), hit.score)).collect();
    let items: Vec<Vec<ItemKey>> =
        rankings.into_iter().map(|hits| hits.into_iter().map(|hit| hit.item).collect()).collect();
    let ranked = reciprocal_ranks::<ItemKey>(&items);
    let keys: Vec<EntityKey> =
        ranked.into_iter().take(ENTITIES).filter_map(|(item, _)| item.into_entity()).collect();
    let entities = scope.entities(&keys).await?.into_iter().flatten();
    let found = entities.map(|entity| FoundEntity {
        score: cosines.get(&ItemKey::Entity(entity.key.clone())).copied(),
        entity,
    });
    Ok(found.collect())
}

/// Returns the reports of the entities' own communities, or of those above at `level`: communities with most of the entities
/// first, then the best rated.
async fn reports_of(
    snapshot: &dyn Snapshot,
    relevance: &Relevance<'_>,
    keys: &[EntityKey],
    level: Option<u32>,
) -> Result<Vec<Candidate>, QueryError> {
    let members: Vec<Member> = keys.iter().cloned().map(Member::Entity).collect();
    let mut counts: BTreeMap<NodeKey, usize> = BTreeMap::new();
    for key in snapshot.nodes_of(&members).await?.into_iter().flatten() {
        *counts.entry(key).or_default() += 1;
    }
    let mut kept: BTreeMap<NodeKey, (usize, LayerNode)> = BTreeMap::new();
    for _ in 0..MAX_CLIMB {
        let open: Vec<NodeKey> = counts.keys().cloned().collect();
        let mut above: BTreeMap<NodeKey, usize> = BTreeMap::new();
        let mut climbing = Vec::new();
        for node in snapshot.nodes(&open).await?.into_iter().flatten() {
            let count = counts.get(&node.key).copied().unwrap_or(0);
            if node.layer != Communities::name() {
                continue;
            }
            match level.is_some_and(|level| node.level > level) {
                true => climbing.push((Member::Node(node.key.clone()), count)),
                false => kept.entry(node.key.clone()).or_insert((0, node)).0 += count,
            }
        }
        let members: Vec<Member> = climbing.iter().map(|(member, _)| member.clone()).collect();
        for (parents, (_, count)) in snapshot.nodes_of(&members).await?.into_iter().zip(climbing) {
            for parent in parents {
                *above.entry(parent).or_default() += count;
            }
        }
        if above.is_empty() {
            break;
        }
        counts = above;
    }
    let matched: BTreeMap<NodeKey, usize> =
        kept.iter().map(|(key, (count, _))| (key.clone(), *count)).collect();
    let nodes = kept.into_values().map(|(_, node)| node).collect();
    let mut reports = relevance.rate(snapshot, nodes).await?;
    reports.sort_by(|one, other| {
        (matched[&other.node.key].cmp(&matched[&one.node.key]))
            .then_with(|| other.report.rating.total_cmp(&one.report.rating))
            .then_with(|| one.node.key.cmp(&other.node.key))
    });
    Ok(reports)
}

/// Returns the relations of the entities: first those between two of them, sorted by the number of relations of both ends;
/// then those to other entities, sorted by how many of the entities the other end is related to.
async fn relations_around(
    scope: &FilteredSnapshot<'_>,
    keys: &[EntityKey],
) -> Result<Vec<Relation>, QueryError> {
    let chosen: BTreeSet<&EntityKey> = keys.iter().collect();
    let relations = scope.relations_of(keys).await?;
    let ends: BTreeSet<EntityKey> =
        relations.iter().flat_map(|relation| relation.key.ends().map(EntityKey::clone)).collect();
    let ends: Vec<EntityKey> = ends.into_iter().collect();
    let degrees: BTreeMap<EntityKey, u32> = ends.iter().cloned().zip(scope.degrees(&ends).await?).collect();
    let salience =
        |relation: &Relation| relation.key.ends().into_iter().map(|end| u64::from(degrees[end])).sum::<u64>();
    let (mut inner, mut outer): (Vec<Relation>, Vec<Relation>) = relations
        .into_iter()
        .partition(|relation| relation.key.ends().into_iter().all(|end| chosen.contains(end)));
    let mut shared: BTreeMap<EntityKey, usize> = BTreeMap::new();
    let other = |relation: &Relation| {
        relation
            .key
            .ends()
            .into_iter()
            .find(|end| !chosen.contains(*end))
            .cloned()
            .unwrap_or(relation.key.a().clone())
    };
    for relation in &outer {
        *shared.entry(other(relation)).or_default() += 1;
    }
    let by_salience = |one: &Relation, other: &Relation| {
        (salience(other).cmp(&salience(one)))
            .then_with(|| other.weight.total_cmp(&one.weight))
            .then_with(|| one.key.cmp(&other.key))
    };
    inner.sort_by(by_salience);
    outer.sort_by(|one, two| {
        shared[&other(two)].cmp(&shared[&other(one)]).then_with(|| by_salience(one, two))
    });
    outer.truncate(OUTER_RELATIONS * keys.len());
    inner.extend(outer);
    Ok(inner)
}

/// Returns the chunks behind the entities, in the order of the entities. For each entity, chunks that state most of the
/// relations come first.
async fn chunks_behind(
    scope: &FilteredSnapshot<'_>,
    keys: &[EntityKey],
    relations: &[FoundRelation],
) -> Result<Vec<ChunkCandidate>, QueryError> {
    let entities: Vec<GraphKey> = keys.iter().cloned().map(GraphKey::Entity).collect();
    let stated: Vec<GraphKey> =
        relations.iter().map(|found| GraphKey::Relation(found.relation.key.clone())).collect();
    let mut states: BTreeMap<ChunkId, usize> = BTreeMap::new();
    for chunk in scope.chunks_behind(&stated, MAX_SOURCE_CHUNKS).await?.into_iter().flatten() {
        *states.entry(chunk).or_default() += 1;
    }
    let mut seen = BTreeSet::new();
    let mut candidates = Vec::new();
    for mut behind in scope.chunks_behind(&entities, MAX_SOURCE_CHUNKS).await? {
        behind.sort_by_key(|chunk| std::cmp::Reverse(states.get(chunk).copied().unwrap_or(0)));
        for id in behind {
            if seen.insert(id.clone()) {
                candidates.push(ChunkCandidate { id, arm: Arm::Entity, score: None });
            }
        }
    }
    Ok(candidates)
}
