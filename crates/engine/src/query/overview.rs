//! Gives an overview of all documents: the best connected entities, each with the most informative sentence about it.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{Chunk, ChunkId, DocumentId, Entity, GraphKey};

use super::cite::CitableChunk;
use super::selection::Workspace;
use super::verbatim::{self, Draft};
use super::wording::Language;
use super::{QueryError, Question, Retrieval};
use crate::Engine;
use crate::explore::{MAX_LABELS, popular_labels};
use crate::filtered::FilteredSnapshot;
use graphloom_offline::Passage;

/// Maximum number of topics.
const MAX_TOPICS: usize = 6;
/// Number of entities considered as topics, the best connected first.
const CANDIDATES: usize = 60;
/// Chunks read for each entity.
const CHUNKS_BEHIND: usize = 8;
/// Minimum number of letters in the name of a topic; one less if the name is not ASCII.
const MIN_NAME_CHARS: usize = 3;

/// An overview, not yet verified.
pub(super) struct Overview {
    pub(super) draft: Draft,
    chunks: Vec<(Chunk, u32)>,
}

impl Overview {
    /// Returns the chunks that its reference numbers point to.
    pub(super) fn cited(&self) -> Vec<CitableChunk<'_>> {
        self.chunks.iter().map(|(chunk, number)| CitableChunk { chunk, number: *number }).collect()
    }
}

/// Returns the overview of the documents that match the question's filter; `None` if their graph has no topic with a
/// sentence.
///
/// Documents keep their numbers of the retrieval. Documents that it does not list get the numbers after these.
pub(super) async fn overview(
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
    language: Language,
) -> Result<Option<Overview>, QueryError> {
    let documents = verbatim::documents(engine, question).await?;
    let allowed = Workspace::read(engine, question.filter.as_ref(), true).await?.selection.allowed;
    let held = engine.store.snapshot().await?;
    let snapshot = held.as_ref();
    let scope = FilteredSnapshot::new(snapshot, allowed.clone(), engine.tokenizer).await?;
    let most = if allowed.is_some() { MAX_LABELS } else { CANDIDATES };
    let keys: Vec<_> = popular_labels(snapshot, most).await?.into_iter().map(|label| label.key).collect();
    let degrees = scope.degrees(&keys).await?;
    let mut ranked: Vec<_> = keys.into_iter().zip(degrees).filter(|(_, degree)| *degree > 0).collect();
    ranked.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    let keys: Vec<_> = ranked.into_iter().take(CANDIDATES).map(|(key, _)| key).collect();
    let entities: Vec<Entity> = scope.entities(&keys).await?.into_iter().flatten().collect();
    let topics: Vec<Entity> = entities.into_iter().filter(is_topic).collect();
    let graph_keys: Vec<GraphKey> = topics.iter().map(|topic| GraphKey::Entity(topic.key.clone())).collect();
    let behind = snapshot.chunks_behind(&graph_keys, allowed.as_deref(), CHUNKS_BEHIND).await?;
    let ids: BTreeSet<&ChunkId> = behind.iter().flatten().collect();
    let ids: Vec<ChunkId> = ids.into_iter().cloned().collect();
    let chunks: BTreeMap<ChunkId, Chunk> =
        snapshot.chunks(&ids).await?.into_iter().flatten().map(|chunk| (chunk.id.clone(), chunk)).collect();
    drop(held);

    let mut overview = Overview { draft: Draft::default(), chunks: Vec::new() };
    let mut numbers: BTreeMap<DocumentId, u32> =
        retrieval.references.iter().map(|reference| (reference.document.clone(), reference.number)).collect();
    let mut shown: Vec<String> = Vec::new();
    let mut quoted: BTreeSet<String> = BTreeSet::new();
    overview.draft.line(&language.overview(documents));
    for (topic, behind) in topics.iter().zip(&behind) {
        if shown.len() == MAX_TOPICS {
            break;
        }
        let mut of_topic: Vec<&Chunk> = behind.iter().filter_map(|id| chunks.get(id)).collect();
        of_topic.sort_by(|one, other| (one.ordinal, &one.document).cmp(&(other.ordinal, &other.document)));
        let passages: Vec<Passage<'_>> = of_topic
            .iter()
            .map(|chunk| Passage { text: &chunk.text, title: "", headings: &chunk.breadcrumb })
            .collect();
        let overlaps = |known: &String| known.contains(&topic.name) || topic.name.contains(known.as_str());
        if shown.iter().any(overlaps) {
            continue;
        }
        let Some(mut quote) = graphloom_offline::sentence_about(&topic.name, &passages) else { continue };
        let chunk = of_topic[quote.passage];
        if !chunk.text.get(quote.range.clone()).is_some_and(|sentence| quoted.insert(sentence.to_owned())) {
            continue;
        }
        let next = numbers.values().max().map_or(1, |number| number + 1);
        let number = *numbers.entry(chunk.document.clone()).or_insert(next);
        quote.passage = overview.chunks.len();
        overview.chunks.push((chunk.clone(), number));
        let cited = CitableChunk { chunk, number };
        let places: Vec<CitableChunk<'_>> = vec![cited; quote.passage + 1];
        overview.draft.line("");
        overview.draft.quote(&format!("{}: ", topic.name), &places, &quote);
        shown.push(topic.name.clone());
    }
    Ok((!shown.is_empty()).then_some(overview))
}

/// True if documents can be about the entity: it is not a number, a date, a single letter or a function word.
pub(super) fn is_topic(entity: &Entity) -> bool {
    let letters = entity.name.chars().filter(|c| c.is_alphabetic()).count();
    let least = if entity.name.is_ascii() { MIN_NAME_CHARS } else { MIN_NAME_CHARS - 1 };
    let contracts = entity.name.contains(['\'', '’', '_', '|', '<', '>', '{', '`']) && entity.name.len() < 12;
    !entity.kind.eq_ignore_ascii_case("data")
        && letters >= least
        && !contracts
        && !graphloom_offline::is_small_word(&entity.name)
}
