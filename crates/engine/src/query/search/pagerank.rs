//! Search by PageRank: a personalized PageRank that starts near the question and at the names in it, and ranks chunks.
//!
//! Seeds are passages near the question, facts near it, and entities that it names. Source: Gutiérrez et al., "From RAG to
//! Memory: Non-Parametric Continual Learning for Large Language Models", ICML 2025 (HippoRAG 2). docs/methods/ppr.md and
//! auto.md describe the effect of each constant.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    ChunkId, EntityKey, Hit, ItemKey, ItemKind, LinkGraph, Node, NodeNumber, Relation, RelationKey,
};

use super::{Hits, synonyms};
use crate::filtered::FilteredSnapshot;
use crate::query::chunks::Candidate;
use crate::query::embed::QueryVectors;
use crate::query::fuse::weighted_scores;
use crate::query::links::WalkedLinks;
use crate::query::pagerank::{GraphView, PageRank, Reach, pagerank};
use crate::query::plan::Prior;
use crate::query::trust::PageRankTrust;
use crate::query::{Arm, ChunkPath, FoundEntity, PageRankOptions, PathStep, QueryError, Question};
use graphloom_offline::KnownName;
use graphloom_text::entity_key;

/// Number of full-text hits that get a bonus for their lead over the next one.
const LEADING: usize = 3;
/// Weight of this bonus, relative to the weight of words in the result.
const LEAD: f64 = 0.4;

/// Minimum number of chunks returned.
const MIN_CHUNKS: usize = 100;

/// Returns the chunks that PageRank reached, best first; in mode auto fused with a search for the words of the question,
/// depending on the trust in PageRank. Also returns the entities and relations among the seeds and on the paths to the first
/// chunks. PageRank starts at the `chosen` facts if given, otherwise at the nearest ones.
pub(super) async fn search(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    prior: Prior,
    vectors: &QueryVectors,
    chosen: Option<Vec<(RelationKey, f64)>>,
) -> Result<Hits, QueryError> {
    let options = &question.pagerank;
    let mut links = WalkedLinks::naming(scope, || possible_names(question)).await?;
    let nodes = scope.linkable().unwrap_or(links.nodes);
    let (names, trust) = named(scope, question, prior, &links.graph, nodes);
    let sought = sought(question, vectors);
    let words = trust.as_ref().map_or(0.0, |trust| {
        trust.words(options.passage_words, vectors.are_lexical, vectors.parts.is_empty())
    });
    let passages = SeedRanking::passages(options, words, trust.is_some() && !vectors.are_lexical);
    let (passages, facts) = match chosen {
        Some(facts) => {
            let [passages] = near(scope, question, [passages], &sought).await?;
            (passages, facts)
        }
        None => {
            let rankings = [passages, SeedRanking::facts(options, prior)];
            let [passages, facts] = near(scope, question, rankings, &sought).await?;
            (passages, relations(facts.weights))
        }
    };
    let (by_words, passages) = (chunks(passages.by_words), chunks(passages.weights));
    let near_facts = facts.iter().map(|(fact, _)| fact);
    links.around(scope, passages.iter().chain(&by_words).map(|(id, _)| id), near_facts).await?;
    let graph = &links.graph;
    let holds = holding(scope, graph);
    let synonyms = match options.synonyms {
        Some(least) => {
            let ends = facts.iter().flat_map(|(fact, _)| fact.ends());
            let begun: BTreeSet<EntityKey> = names.iter().chain(ends).cloned().collect();
            Some(synonyms::links(scope, graph, &begun, least).await?)
        }
        None => None,
    };
    let seeds = Seeds::of(graph, options, passages, &facts, &names, &holds);
    let hub_links = options.hub_share * nodes as f64;
    let how = PageRank { damping: options.damping, precision: options.precision, hub_links };
    let view = GraphView { graph, also: synonyms.as_ref(), admits: scope.is_filtered().then_some(&holds) };
    let reach = pagerank(view, &seeds.linked, how);
    let shown = question.wanted_chunks();
    let limit = shown.max(MIN_CHUNKS);
    let reached = ranked(graph, &reach, &seeds, limit);
    let chunks = match &trust {
        Some(trust) => as_trusted(reached, by_words, trust, options.direct, limit),
        None => reached,
    };
    let paths: Vec<ChunkPath> =
        chunks.iter().take(shown).filter_map(|(id, _)| path_to(graph, &reach, id)).collect();
    // The seeds come first: they are what the question is about, even if no passage is reached from them alone.
    let began = (names.into_iter().map(PathStep::Entity))
        .chain(facts.into_iter().map(|(fact, _)| PathStep::Relation(fact)));
    let steps = began.chain(paths.iter().flat_map(|path| path.steps.iter().cloned()));
    let (entities, relations) = found_on(scope, question, graph, &reach, steps).await?;
    let candidate =
        |(id, score): (ChunkId, f64)| Candidate { id, arm: Arm::PageRank, score: Some(score as f32) };
    let chunks = chunks.into_iter().map(candidate).collect();
    Ok(Hits { entities, relations, chunks, paths, trust, ..Hits::default() })
}

/// True if a node is a chunk that the filter allows.
fn holding<'a>(scope: &'a FilteredSnapshot<'_>, graph: &'a LinkGraph) -> impl Fn(NodeNumber) -> bool + 'a {
    |node| match graph.node(node) {
        Some(Node::Chunk(id)) => scope.holds(id),
        Some(Node::Entity(_) | Node::Relation(..)) | None => false,
    }
}

/// Returns the names in the question, and in mode auto the trust in PageRank that follows from them.
fn named(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    prior: Prior,
    graph: &LinkGraph,
    nodes: usize,
) -> (Vec<EntityKey>, Option<PageRankTrust>) {
    let holds = holding(scope, graph);
    let names = names(graph, question, |node| graph.neighbours(node).iter().any(|&next| holds(next)));
    let trust = (prior == Prior::VectorAndWords).then(|| {
        let proper = names.iter().filter(|name| name.is_proper);
        let known = proper.filter_map(|name| {
            Some((name.key.clone(), passages_of(graph, graph.entity(&name.key)?, &holds)))
        });
        PageRankTrust::of(known, nodes, question.pagerank.direct)
    });
    (names.into_iter().map(|name| name.key).collect(), trust)
}

/// A text to search for: the question as a whole or one of its parts, with its share of the total weight.
struct SearchPart<'a> {
    text: &'a str,
    vector: &'a [f32],
    share: f64,
}

/// Returns the question and its parts; the shares add up to 1.
fn sought<'a>(question: &'a Question, vectors: &'a QueryVectors) -> Vec<SearchPart<'a>> {
    let parts = if vectors.parts.is_empty() { 0.0 } else { question.pagerank.parts };
    let whole = vectors.question.iter();
    let whole = whole.map(|vector| SearchPart { text: question.text.trim(), vector, share: 1.0 - parts });
    let share = parts / vectors.parts.len().max(1) as f64;
    whole.chain(vectors.parts.iter().map(|(text, vector)| SearchPart { text, vector, share })).collect()
}

/// Returns the facts nearest to the question by vector, with weights that add up to 1.
pub(in crate::query) async fn near_facts(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    vector: &[f32],
) -> Result<Vec<(RelationKey, f64)>, QueryError> {
    let sought = [SearchPart { text: question.text.trim(), vector, share: 1.0 }];
    let [facts] =
        near(scope, question, [SeedRanking::facts(&question.pagerank, Prior::Vector)], &sought).await?;
    Ok(relations(facts.weights))
}

fn relations(facts: Vec<(ItemKey, f64)>) -> Vec<(RelationKey, f64)> {
    facts.into_iter().filter_map(|(item, weight)| Some((item.into_relation()?, weight))).collect()
}

fn chunks(passages: Vec<(ItemKey, f64)>) -> Vec<(ChunkId, f64)> {
    passages.into_iter().filter_map(|(item, weight)| Some((item.into_chunk()?, weight))).collect()
}

/// How one kind of seeds is ranked.
struct SeedRanking {
    kind: ItemKind,
    /// Hits read from each ranking.
    hits: usize,
    /// Seeds kept.
    seeds: usize,
    /// Weight of full-text scores; if zero, there is no full-text search.
    words: f64,
    temperature: f64,
    /// True to measure cosines from that of the farthest entry instead of 0, because the cosines of some neural networks are
    /// close together.
    from_farthest: bool,
}

impl SeedRanking {
    fn passages(options: &PageRankOptions, words: f64, from_farthest: bool) -> Self {
        let (hits, seeds) = (options.passage_hits, options.passage_seeds);
        let (kind, temperature) = (ItemKind::Chunk, options.passage_temperature);
        Self { kind, hits, seeds, words, temperature, from_farthest }
    }

    fn facts(options: &PageRankOptions, prior: Prior) -> Self {
        let words = if prior == Prior::VectorAndWords { options.fact_words } else { 0.0 };
        let (hits, seeds) = (options.fact_seeds, options.fact_seeds);
        let (kind, temperature) = (ItemKind::Relation, options.fact_temperature);
        Self { kind, hits, seeds, words, temperature, from_farthest: false }
    }
}

/// The items of one kind near the question and its parts.
struct NearItems {
    /// Best first, ties by id, with weights that add up to 1.
    weights: Vec<(ItemKey, f64)>,
    /// The full-text hits for the whole question, best first, with how far each stands out.
    by_words: Vec<(ItemKey, f64)>,
}

/// Returns the items near the question and its parts for each ranking. Runs all searches at once.
async fn near<const RANKINGS: usize>(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    rankings: [SeedRanking; RANKINGS],
    sought: &[SearchPart<'_>],
) -> Result<[NearItems; RANKINGS], QueryError> {
    let mut requests = Vec::new();
    for ranked in &rankings {
        for SearchPart { text, vector, .. } in sought {
            let least = question.cosine_threshold;
            requests.push(scope.by_vector(ranked.kind, vector.to_vec(), ranked.hits, least));
            if ranked.from_farthest {
                let opposite = vector.iter().map(|value| -value).collect();
                requests.push(scope.by_vector(ranked.kind, opposite, 1, -1.0));
            }
            if ranked.words > 0.0 {
                requests.push(scope.by_words(ranked.kind, text, ranked.hits));
            }
        }
    }
    let mut found = scope.snapshot.search(&requests).await?.into_iter();
    Ok(rankings.map(|ranked| {
        let mut weights: BTreeMap<ItemKey, f64> = BTreeMap::new();
        let mut whole: Option<Vec<(ItemKey, f64)>> = None;
        for sought in sought {
            let by_vector = found.next().unwrap_or_default();
            let farthest = if ranked.from_farthest { found.next() } else { None };
            let floor = farthest.and_then(|hits| hits.first().map(|hit| -hit.score)).unwrap_or_default();
            let by_words = if ranked.words > 0.0 { found.next() } else { None };
            let hits = [by_vector, by_words.unwrap_or_default()];
            // The whole question is the first part.
            whole.get_or_insert_with(|| standing_out(&hits[1], ranked.hits));
            for (id, weight) in weighed(hits, &ranked, floor) {
                *weights.entry(id).or_default() += sought.share * weight;
            }
        }
        let mut near: Vec<(ItemKey, f64)> = weights.into_iter().collect();
        near.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        NearItems { weights: near, by_words: whole.unwrap_or_default() }
    }))
}

/// Returns how far each of the `wanted` hits stands out: its score minus that of the last hit, or its whole score if fewer
/// were found.
fn standing_out(hits: &[Hit], wanted: usize) -> Vec<(ItemKey, f64)> {
    let floor = if hits.len() < wanted { 0.0 } else { hits.last().map_or(0.0, |last| last.score) };
    hits.iter().map(|hit| (hit.item.clone(), f64::from(hit.score - floor))).collect()
}

/// Returns the best items of two rankings with weights that add up to 1. Scores are relative to the best of each ranking and
/// added up; those by vector are measured from `floor`.
fn weighed([by_vector, by_words]: [Vec<Hit>; 2], ranked: &SeedRanking, floor: f32) -> Vec<(ItemKey, f64)> {
    let mut scores: BTreeMap<&ItemKey, f64> = BTreeMap::new();
    let all: BTreeSet<&ItemKey> = by_vector.iter().chain(&by_words).map(|hit| &hit.item).collect();
    for (hits, weight, floor) in [(&by_vector, 1.0, floor), (&by_words, ranked.words, 0.0)] {
        // An item that is not in a ranking is scored like its last hit, as an upper bound.
        let (Some(best), Some(last)) = (hits.first(), hits.last()) else { continue };
        let known: BTreeMap<&ItemKey, f32> = hits.iter().map(|hit| (&hit.item, hit.score)).collect();
        for &item in &all {
            let score = known.get(item).copied().unwrap_or(last.score);
            *scores.entry(item).or_default() +=
                weight * f64::from(score - floor) / f64::from((best.score - floor).max(f32::EPSILON));
        }
    }
    let mut scored: Vec<(&ItemKey, f64)> = scores.into_iter().collect();
    scored.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    scored.truncate(ranked.seeds);
    let weights = sharpened(scored.iter().map(|(_, score)| *score).collect(), ranked.temperature);
    scored.iter().zip(weights).map(|((item, _), weight)| ((*item).clone(), weight)).collect()
}

/// Turns scores into weights that add up to 1 and fall by a factor of `e` for every `temperature` below the best score, which
/// is the first.
fn sharpened(mut scores: Vec<f64>, temperature: f64) -> Vec<f64> {
    let best = scores.first().copied().unwrap_or_default();
    scores.iter_mut().for_each(|score| *score = ((*score - best) / temperature).exp());
    let total: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|weight| *weight /= total);
    scores
}

/// The nodes where PageRank starts.
struct Seeds {
    linked: Vec<(NodeNumber, f64)>,
    /// Chunks without links, with the share of the total weight that they keep.
    unlinked: Vec<(ChunkId, f64)>,
    /// The share of the total weight that moves along links.
    moving: f64,
}

impl Seeds {
    fn of(
        graph: &LinkGraph,
        options: &PageRankOptions,
        passages: Vec<(ChunkId, f64)>,
        facts: &[(RelationKey, f64)],
        names: &[EntityKey],
        holds: impl Fn(NodeNumber) -> bool,
    ) -> Self {
        let (mut linked, mut unlinked) = (Vec::new(), Vec::new());
        for (id, weight) in passages {
            match graph.chunk(&id) {
                Some(node) => linked.push((node, options.passages * weight)),
                None => unlinked.push((id, options.passages * weight)),
            }
        }
        let known_facts = facts.iter().filter_map(|(key, weight)| Some((graph.relation(key)?, *weight)));
        linked.extend(known_facts.map(|(node, weight)| (node, options.facts * weight)));
        let named: Vec<(NodeNumber, f64)> = names
            .iter()
            .filter_map(|key| graph.entity(key))
            .map(|node| (node, rarity(graph, node, &holds)))
            .collect();
        let total: f64 = named.iter().map(|(_, weight)| weight).sum();
        linked.extend(named.into_iter().map(|(node, weight)| (node, options.names * weight / total)));
        let kept: f64 = unlinked.iter().map(|(_, weight)| weight).sum();
        let all = kept + linked.iter().map(|(_, weight)| weight).sum::<f64>();
        unlinked.iter_mut().for_each(|(_, weight)| *weight /= all.max(f64::MIN_POSITIVE));
        Self { linked, unlinked, moving: 1.0 - kept / all.max(f64::MIN_POSITIVE) }
    }
}

/// Returns the entities named in the question or in its keywords, in their order, each once, if `is_there` is true for them.
/// Keywords count as proper names, because people choose them.
fn names(graph: &LinkGraph, question: &Question, is_there: impl Fn(NodeNumber) -> bool) -> Vec<KnownName> {
    let is_known = |key: &EntityKey| graph.entity(key).is_some_and(&is_there);
    let in_text = graphloom_offline::known_names(&question.text, is_known);
    let given = keywords(question).filter(is_known).map(|key| KnownName { key, is_proper: true });
    let mut seen = BTreeSet::new();
    in_text.into_iter().chain(given).filter(|name| seen.insert(name.key.clone())).collect()
}

fn keywords(question: &Question) -> impl Iterator<Item = EntityKey> {
    let given = question.ll_keywords.iter().chain(&question.hl_keywords);
    given.filter_map(|keyword| entity_key(keyword))
}

/// Returns all names that the question may contain.
fn possible_names(question: &Question) -> Vec<EntityKey> {
    let mut possible = Vec::new();
    graphloom_offline::known_names(&question.text, |key| {
        possible.push(key.clone());
        false
    });
    possible.extend(keywords(question));
    possible
}

/// Returns 1 / the number of the entity's chunks: a name that occurs everywhere is not specific.
fn rarity(graph: &LinkGraph, entity: NodeNumber, holds: &impl Fn(NodeNumber) -> bool) -> f64 {
    1.0 / passages_of(graph, entity, holds).max(1) as f64
}

/// Returns the number of chunks linked with the entity.
fn passages_of(graph: &LinkGraph, entity: NodeNumber, holds: &impl Fn(NodeNumber) -> bool) -> usize {
    graph.neighbours(entity).iter().filter(|&&node| holds(node)).count()
}

/// Fuses the chunks that PageRank reached with the full-text hits, weighted by the trust in PageRank, and returns the `limit`
/// best. The first hits get a bonus for their lead over the next one, however far PageRank is trusted. If `direct`, the weight of
/// words in the result, is 0, returns the chunks unchanged.
fn as_trusted(
    reached: Vec<(ChunkId, f64)>,
    by_words: Vec<(ChunkId, f64)>,
    trust: &PageRankTrust,
    direct: f64,
    limit: usize,
) -> Vec<(ChunkId, f64)> {
    if direct == 0.0 {
        return reached;
    }
    let (leading, lead) = leading(&by_words);
    let words = (1.0 - trust.share, by_words);
    let mut fused = weighted_scores(&[(trust.share, reached), words, (LEAD * direct * lead, leading)]);
    fused.truncate(limit);
    fused
}

/// Returns the first [`LEADING`] hits, each with the distance of its score to that of the next hit, and this distance of the first
/// one as a share of its score: 0 if the next hit is as good.
fn leading(hits: &[(ChunkId, f64)]) -> (Vec<(ChunkId, f64)>, f64) {
    let next = hits.get(LEADING).map_or(0.0, |(_, score)| *score);
    let leading: Vec<(ChunkId, f64)> =
        hits.iter().take(LEADING).map(|(id, score)| (id.clone(), score - next)).collect();
    let lead = hits.first().map_or(0.0, |(_, best)| (best - next) / best.max(f64::MIN_POSITIVE));
    (leading, lead)
}

/// Returns the `limit` best chunks by score, best first, ties by id.
fn ranked(graph: &LinkGraph, reach: &Reach, seeds: &Seeds, limit: usize) -> Vec<(ChunkId, f64)> {
    let reached = reach.nodes().filter_map(|node| match graph.node(node)? {
        Node::Chunk(id) => Some((id, seeds.moving * reach.score(node))),
        Node::Entity(_) | Node::Relation(..) => None,
    });
    let mut chunks: Vec<(&ChunkId, f64)> =
        reached.chain(seeds.unlinked.iter().map(|(id, score)| (id, *score))).collect();
    chunks.sort_unstable_by(|(id_one, one), (id_other, other)| {
        other.total_cmp(one).then_with(|| id_one.cmp(id_other))
    });
    chunks.into_iter().take(limit).map(|(id, score)| (id.clone(), score)).collect()
}

/// Returns the path of PageRank to a chunk; `None` if the chunk has no links.
fn path_to(graph: &LinkGraph, reach: &Reach, chunk: &ChunkId) -> Option<ChunkPath> {
    let nodes = reach.path(graph.chunk(chunk)?);
    let steps = nodes.into_iter().filter_map(|node| {
        Some(match graph.node(node)? {
            Node::Chunk(id) => PathStep::Chunk(id.clone()),
            Node::Entity(key) => PathStep::Entity(key.clone()),
            Node::Relation(a, b) => PathStep::Relation(RelationKey::new(a.clone(), b.clone())?),
        })
    });
    Some(ChunkPath { chunk: chunk.clone(), steps: steps.collect() })
}

/// Returns the entities and relations among the steps, in their order, at most `top_k` of each.
async fn found_on(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    graph: &LinkGraph,
    reach: &Reach,
    steps: impl Iterator<Item = PathStep>,
) -> Result<(Vec<FoundEntity>, Vec<(Relation, Option<f32>)>), QueryError> {
    let (mut entities, mut relations): (Vec<EntityKey>, Vec<RelationKey>) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for step in steps.filter(|step| seen.insert(step.clone())) {
        match step {
            PathStep::Entity(key) if entities.len() < question.top_k => entities.push(key),
            PathStep::Relation(key) if relations.len() < question.top_k => relations.push(key),
            PathStep::Entity(_) | PathStep::Relation(_) | PathStep::Chunk(_) => {}
        }
    }
    let score = |node: Option<NodeNumber>| node.map(|node| reach.score(node) as f32);
    let found = scope.entities(&entities).await?.into_iter().flatten();
    let found_entities =
        found.map(|entity| FoundEntity { score: score(graph.entity(&entity.key)), entity }).collect();
    let found = scope.relations(&relations).await?.into_iter().flatten();
    let found_relations = found.map(|relation| {
        let score = score(graph.relation(&relation.key));
        (relation, score)
    });
    Ok((found_entities, found_relations.collect()))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn ids(numbers: &[u8]) -> Vec<ChunkId> {
        let mut seen = BTreeSet::new();
        let each_once = numbers.iter().filter(|&&number| seen.insert(number));
        each_once.map(|number| ChunkId::from_stored(format!("chunk-{number}"))).collect()
    }

    fn trust(share: f64) -> PageRankTrust {
        PageRankTrust { share, looseness: 0.0, name: None, passages: 0 }
    }

    fn scored(ids: &[ChunkId]) -> Vec<(ChunkId, f64)> {
        ids.iter().cloned().zip((0..).map(|rank| 0.9f64.powi(rank))).collect()
    }

    #[test]
    fn keyword_hits_score_by_their_distance_to_the_last_hit() {
        let hit = |number: u8, score| Hit { item: ItemKey::Chunk(ids(&[number]).remove(0)), score };
        let hits = [hit(1, 9.0), hit(2, 3.0), hit(3, 2.0)];
        let scores =
            |wanted| standing_out(&hits, wanted).into_iter().map(|(_, score)| score).collect::<Vec<_>>();
        assert_eq!((scores(3), scores(4)), (vec![7.0, 1.0, 0.0], vec![9.0, 3.0, 2.0]));
    }

    #[test]
    fn only_a_clear_keyword_hit_stays_ahead_of_pagerank() {
        let [one, other] = [1, 2].map(|number| ids(&[number]).remove(0));
        let reached = vec![(one.clone(), 0.5), (other.clone(), 0.2)];
        let first = |words: [f64; 2]| {
            let by_words = vec![(other.clone(), words[0]), (one.clone(), words[1])];
            as_trusted(reached.clone(), by_words, &trust(0.3), 0.7, 9).remove(0).0
        };
        assert_eq!(first([4.0, 1.0]), other);
        assert_eq!(first([4.0, 3.8]), one);
    }

    #[test]
    fn a_keyword_hit_far_ahead_of_the_fourth_gets_a_bonus_even_if_pagerank_is_fully_trusted() {
        let ids = ids(&[1, 2, 3, 4, 5]);
        let reached = scored(&ids);
        let first = |words: [f64; 4]| {
            let by_words = ids[1..].iter().cloned().zip(words).collect();
            as_trusted(reached.clone(), by_words, &trust(1.0), 0.7, 9).remove(0).0
        };
        assert_eq!(first([9.0, 1.0, 1.0, 1.0]), ids[1]);
        assert_eq!(first([9.0, 8.9, 8.8, 8.7]), ids[0]);
    }

    proptest! {
        #[test]
        fn without_a_weight_of_words_pagerank_ranks_alone(
            reached in vec(0u8..30, 0..20),
            by_words in vec(0u8..30, 0..20),
        ) {
            let reached = scored(&ids(&reached));
            prop_assert_eq!(as_trusted(reached.clone(), scored(&ids(&by_words)), &trust(1.0), 0.0, 100), reached);
        }

        #[test]
        fn partly_trusted_pagerank_keeps_every_passage_and_its_order_among_those_without_keyword_hits(
            reached in vec(0u8..30, 1..20),
            by_words in vec(0u8..30, 0..20),
            share in 0.01f64..0.99,
        ) {
            let (reached, by_words) = (ids(&reached), ids(&by_words));
            let fused = as_trusted(scored(&reached), scored(&by_words), &trust(share), 0.7, 100);
            let fused: Vec<&ChunkId> = fused.iter().map(|(id, _)| id).collect();
            let all: BTreeSet<&ChunkId> = reached.iter().chain(&by_words).collect();
            prop_assert_eq!(fused.len(), all.len());
            prop_assert_eq!(fused.iter().copied().collect::<BTreeSet<_>>(), all);
            let unsaid = |id: &&ChunkId| !by_words.contains(id);
            let kept: Vec<&ChunkId> = fused.into_iter().filter(unsaid).collect();
            prop_assert_eq!(kept, reached.iter().filter(unsaid).collect::<Vec<_>>());
        }
    }
}
