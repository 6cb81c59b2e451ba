//! Claims for a question: selects those that the context shows, and what a question as of a date leaves out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use graphloom_core::{
    Chunk, ChunkId, Decisions, EntityKey, ExtractionKey, IsoDate, Relation, RelationKey, Span,
};
use serde::Serialize;

use super::context::{LineCounter, claim_line};
use super::search::Hits;
use super::{FoundEntity, QueryError, Question};
use crate::claims::{MergedClaim, claims_about};
use crate::filtered::FilteredSnapshot;
use crate::graph::claims_of;
use graphloom_offline::{HEAD, has_one_holder, offices_of};
use graphloom_text::{entity_key, one_line, sentences};

/// Maximum number of claims in a context.
const MAX_CLAIMS: usize = 30;
/// Claims get this fraction (1/4) of the budget of relations.
const SHARE_OF_RELATIONS: u32 = 4;
/// Longest name that is looked up from a question, in words.
const MAX_NAME_WORDS: usize = 8;
/// Words of a question that are searched for names.
const MAX_QUESTION_WORDS: usize = 64;
/// Longest name in a script without spaces, in characters.
const MAX_NAME_CHARS: usize = 12;
/// Entities of the search whose claims are read, best first.
const MAX_ENTITIES: usize = 40;
/// Score of a claim for each of its entities that the question names, and for its kind if the question names it.
const NAMED: f32 = 4.0;
const KIND_NAMED: f32 = 3.0;
/// From this score on, claims as of a date answer a question: they have an entity and a kind that the question names.
pub(super) const ANSWERS: f32 = NAMED + KIND_NAMED;

/// A claim in the context, with its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundClaim {
    /// The claim.
    #[serde(flatten)]
    pub claim: MergedClaim,
    /// How well the claim fits the question's words.
    pub score: f32,
}

/// The date for which a question is asked, and the parts of the passages that did not hold then.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AsOf {
    /// The date.
    pub date: IsoDate,
    /// Byte ranges of documents, by chunk, that the context leaves out: sentences whose claims all did not hold at the date.
    pub withheld: BTreeMap<ChunkId, Vec<Span>>,
}

/// Claims about the entities of a question and of its hits, with their lines.
#[derive(Debug, Default)]
pub(super) struct Claims {
    pub(super) found: Vec<FoundClaim>,
    pub(super) lines: Vec<String>,
    /// Tokens of the lines.
    pub(super) tokens: u32,
    /// True if there was any claim about these entities, whether it held or not.
    pub(super) any: bool,
}

/// Returns the claims about entities that the question names or the search found, best first, within their budget. As of a
/// date, returns only claims that held then, and removes from `hits` what did not.
pub(super) async fn find(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    hits: &mut Hits,
    counter: &LineCounter<'_>,
) -> Result<Claims, QueryError> {
    let decisions = Decisions::read(scope.snapshot).await?;
    let mut places: BTreeMap<EntityKey, Vec<Range<usize>>> = BTreeMap::new();
    for (key, ranges) in names_in(question) {
        places.entry(decisions.resolve(&key)).or_default().extend(ranges);
    }
    let mut keys: BTreeSet<EntityKey> = places.keys().cloned().collect();
    let most = if question.as_of.is_some() { usize::MAX } else { MAX_ENTITIES };
    keys.extend(hits.entities.iter().take(most).map(|found| found.entity.key.clone()));
    if question.as_of.is_some() {
        keys.extend(
            hits.relations.iter().flat_map(|(relation, _)| relation.key.ends().map(EntityKey::clone)),
        );
    }
    let keys: Vec<EntityKey> = keys.into_iter().collect();
    let all = claims_about(scope, &decisions, &keys).await?;
    let any = !all.is_empty();
    let named = named_in_full(places, &all);
    let claims = match &question.as_of {
        Some(date) => {
            let (held, gone): (Vec<_>, Vec<_>) = all.into_iter().partition(|claim| claim.held_at(date));
            take_out(hits, &held, &gone);
            held
        }
        None => all,
    };
    let found = ranked(question, &named, hits, claims);
    let mut chosen = Claims { any, ..Claims::default() };
    let budget = question.max_relation_tokens / SHARE_OF_RELATIONS;
    for claim in found.into_iter().take(MAX_CLAIMS) {
        let line = claim_line(&claim.claim);
        let tokens = chosen.tokens.saturating_add(counter.tokens(&line));
        if tokens > budget {
            break;
        }
        chosen.tokens = tokens;
        chosen.lines.push(line);
        chosen.found.push(claim);
    }
    Ok(chosen)
}

/// Sorts claims by how well they fit the question, best first. Of equal scores, the claim that began last comes first.
fn ranked(
    question: &Question,
    named: &BTreeSet<EntityKey>,
    hits: &Hits,
    claims: Vec<MergedClaim>,
) -> Vec<FoundClaim> {
    let offices = offices_of(&question.text);
    let lowercase = question.text.to_lowercase();
    let near: BTreeMap<&EntityKey, usize> =
        hits.entities.iter().enumerate().map(|(rank, found)| (&found.entity.key, rank)).collect();
    let mut found: Vec<FoundClaim> = claims
        .into_iter()
        .filter_map(|claim| {
            let names = claim.entities().filter(|entity| named.contains(*entity)).count();
            let rank = claim.entities().filter_map(|entity| near.get(entity)).min();
            if names == 0 && rank.is_none() {
                return None;
            }
            let kind = if offices.contains(&claim.kind) || lowercase.contains(&claim.kind) {
                KIND_NAMED
            } else if claim.kind == HEAD && !offices.is_empty() {
                KIND_NAMED / 2.0
            } else {
                0.0
            };
            let near = rank.map_or(0.0, |rank| 1.0 / (2.0 + *rank as f32));
            Some(FoundClaim { score: names as f32 * NAMED + kind + near, claim })
        })
        .collect();
    let start = |claim: &MergedClaim| claim.period.start.as_ref().map_or(i64::MIN, IsoDate::start_ms);
    found.sort_by(|one, other| {
        let order = other.score.total_cmp(&one.score);
        order.then_with(|| start(&other.claim).cmp(&start(&one.claim)))
    });
    // A later holder of the same office comes first, whatever the search ranks.
    found.sort_by(|one, other| {
        let same = one.claim.kind == other.claim.kind
            && one.claim.object == other.claim.object
            && has_one_holder(&one.claim.kind);
        if same { start(&other.claim).cmp(&start(&one.claim)) } else { std::cmp::Ordering::Equal }
    });
    found
}

/// Returns the keys that the question names. `Velora` is left out if the question names `Velora Systems` and `claims` has
/// claims about that too.
fn named_in_full(
    mut places: BTreeMap<EntityKey, Vec<Range<usize>>>,
    claims: &[MergedClaim],
) -> BTreeSet<EntityKey> {
    let known: BTreeSet<&EntityKey> = claims.iter().flat_map(MergedClaim::entities).collect();
    places.retain(|key, _| known.contains(key));
    let is_part = |part: &Range<usize>| {
        places
            .values()
            .flatten()
            .any(|whole| whole.start <= part.start && part.end <= whole.end && part.len() < whole.len())
    };
    let in_full = places.iter().filter(|(_, ranges)| ranges.is_empty() || !ranges.iter().all(is_part));
    in_full.map(|(key, _)| key.clone()).collect()
}

/// Returns the keys of everything in a question that may be a name, with the word ranges it has there. A name that is a
/// keyword or in a script without spaces has no ranges.
fn names_in(question: &Question) -> BTreeMap<EntityKey, Vec<Range<usize>>> {
    let mut keys: BTreeMap<EntityKey, Vec<Range<usize>>> = BTreeMap::new();
    let words: Vec<&str> = question.text.split_whitespace().take(MAX_QUESTION_WORDS).collect();
    for start in 0..words.len() {
        for end in start + 1..=words.len().min(start + MAX_NAME_WORDS) {
            let name = words[start..end].join(" ");
            let name = name.trim_matches(['?', '!', ',', ';', ':', '"', '“', '”', '„', '\'', '‘', '’', '？']);
            let bare = name.strip_suffix("'s").or(name.strip_suffix("’s")).unwrap_or(name);
            let spellings: BTreeSet<EntityKey> =
                [name, bare, name.trim_end_matches('.')].into_iter().filter_map(entity_key).collect();
            for key in spellings {
                keys.entry(key).or_default().push(start..end);
            }
        }
    }
    let runs =
        question.text.split(|c: char| !c.is_alphabetic() || c.is_ascii()).filter(|run| !run.is_empty());
    for run in runs.filter(|run| run.chars().all(|c| !c.is_lowercase() && !c.is_uppercase())) {
        let chars: Vec<char> = run.chars().take(MAX_QUESTION_WORDS).collect();
        for start in 0..chars.len() {
            for end in start + 2..=chars.len().min(start + MAX_NAME_CHARS) {
                if let Some(key) = entity_key(&chars[start..end].iter().collect::<String>()) {
                    keys.entry(key).or_default();
                }
            }
        }
    }
    for key in question.ll_keywords.iter().filter_map(|name| entity_key(name)) {
        keys.entry(key).or_default();
    }
    keys
}

/// Removes from entities and relations what did not hold at the date.
///
/// - A relation is removed if claims connect its entities and none of them held.
/// - Sentences of claims that did not hold are removed from descriptions. If the description of an entity of such a claim
///   contains no sentence of any claim, an LLM wrote it from all times, and it is removed as a whole.
fn take_out(hits: &mut Hits, held: &[MergedClaim], gone: &[MergedClaim]) {
    let pair = |claim: &MergedClaim| RelationKey::new(claim.subject.clone(), claim.object.clone()?);
    let kept: BTreeSet<RelationKey> = held.iter().filter_map(pair).collect();
    let lost: BTreeSet<RelationKey> =
        gone.iter().filter_map(pair).filter(|pair| !kept.contains(pair)).collect();
    let sentences_of = |claims: &[MergedClaim]| -> BTreeSet<String> {
        claims.iter().flat_map(|claim| &claim.quotes).map(|quote| one_line(&quote.description)).collect()
    };
    let stay = sentences_of(held);
    let leave: Vec<String> =
        sentences_of(gone).into_iter().filter(|sentence| !stay.contains(sentence)).collect();
    let touched: BTreeSet<&EntityKey> = gone.iter().flat_map(MergedClaim::entities).collect();
    for FoundEntity { entity, .. } in &mut hits.entities {
        let (rest, found) = without(&entity.description, &leave);
        let is_current = stay.iter().any(|sentence| rest.contains(sentence.as_str()));
        entity.description =
            if touched.contains(&entity.key) && !found && !is_current { String::new() } else { rest };
    }
    hits.relations.retain_mut(|(relation, _)| {
        let Relation { key, description, .. } = relation;
        let (rest, found) = without(description, &leave);
        *description = rest;
        !(lost.contains(key) || found && description.is_empty())
    });
}

/// Returns a text without these sentences, and whether it contained any.
fn without(text: &str, sentences: &[String]) -> (String, bool) {
    let whole = one_line(text);
    let mut rest = whole.clone();
    for sentence in sentences.iter().filter(|sentence| !sentence.is_empty()) {
        if rest.contains(sentence.as_str()) {
            rest = rest.replace(sentence.as_str(), " ");
        }
    }
    if rest == whole {
        return (text.to_owned(), false);
    }
    (rest.split_whitespace().collect::<Vec<_>>().join(" "), true)
}

/// Returns the chunks with the quotes of the claims, best first, each once.
pub(super) fn quoted_chunks(claims: &[FoundClaim]) -> Vec<ChunkId> {
    let mut seen = BTreeSet::new();
    let quotes = claims.iter().flat_map(|found| &found.claim.quotes).map(|quote| quote.chunk.clone());
    quotes.filter(|chunk| seen.insert(chunk.clone())).take(MAX_CLAIMS).collect()
}

/// Returns the sentences of each chunk that did not hold at the date: sentences that state claims, none of which held.
pub(super) async fn withheld<'a>(
    scope: &FilteredSnapshot<'_>,
    date: &IsoDate,
    chunks: impl Iterator<Item = &'a Chunk>,
) -> Result<BTreeMap<ChunkId, Vec<Span>>, QueryError> {
    let chunks: Vec<&Chunk> = chunks.collect();
    let keys: Vec<ExtractionKey> =
        chunks.iter().filter_map(|chunk| chunk.extraction.key().cloned()).collect();
    let extractions = scope.snapshot.extractions(&keys).await?;
    let records: BTreeMap<ExtractionKey, _> = extractions
        .into_iter()
        .flatten()
        .map(|extraction| (extraction.key, extraction.records.claims))
        .collect();
    let decisions = Decisions::read(scope.snapshot).await?;
    let mut entities: BTreeSet<EntityKey> = BTreeSet::new();
    for chunk in &chunks {
        let records = chunk.extraction.key().and_then(|key| records.get(key));
        for claim in records.into_iter().flat_map(|records| claims_of(chunk, records)) {
            entities.insert(decisions.place_mention(&claim.subject, Some(&chunk.id)).key);
        }
    }
    let entities: Vec<EntityKey> = entities.into_iter().collect();
    let mut stated: BTreeMap<ChunkId, Vec<(Span, bool)>> = BTreeMap::new();
    for claim in claims_about(scope, &decisions, &entities).await? {
        let held = claim.held_at(date);
        for quote in &claim.quotes {
            stated.entry(quote.chunk.clone()).or_default().push((quote.span, held));
        }
    }
    let mut withheld = BTreeMap::new();
    for chunk in chunks {
        let Some(quotes) = stated.get(&chunk.id) else { continue };
        let spans: Vec<Span> = sentences(&chunk.text)
            .into_iter()
            .map(|sentence| chunk.span.within(Span::new(sentence.start, sentence.end)))
            .filter(|sentence| {
                let overlaps = |span: &Span| span.start < sentence.end && sentence.start < span.end;
                let of_sentence = || quotes.iter().filter(|(span, _)| overlaps(span));
                of_sentence().next().is_some() && of_sentence().all(|(_, held)| !held)
            })
            .collect();
        if !spans.is_empty() {
            withheld.insert(chunk.id.clone(), spans);
        }
    }
    Ok(withheld)
}

/// Returns the byte ranges in a chunk's text that spans of its document cover.
fn ranges<'a>(chunk: &'a Chunk, spans: &'a [Span]) -> impl Iterator<Item = Range<usize>> + 'a {
    let within = |span: &Span| {
        let start = span.start.checked_sub(chunk.span.start)? as usize;
        let end = span.end.checked_sub(chunk.span.start)? as usize;
        (end <= chunk.text.len()).then_some(start..end)
    };
    spans.iter().filter_map(within)
}

impl AsOf {
    /// Returns the text of a chunk as the answer model sees it, with `[…]` for what is left out.
    pub(super) fn shown(&self, chunk: &Chunk) -> String {
        let spans = self.withheld.get(&chunk.id).map_or(&[][..], Vec::as_slice);
        let (mut shown, mut at) = (String::with_capacity(chunk.text.len()), 0);
        for range in ranges(chunk, spans) {
            shown.push_str(&chunk.text[at..range.start]);
            if !shown.trim_end().ends_with("[…]") {
                shown.push_str("[…]");
            }
            at = range.end;
        }
        shown + &chunk.text[at..]
    }

    /// Returns the text of a chunk with spaces for what is left out, so that byte offsets stay the same.
    pub(super) fn blanked(&self, chunk: &Chunk) -> String {
        let mut text = chunk.text.clone();
        let spans = self.withheld.get(&chunk.id).map_or(&[][..], Vec::as_slice);
        for range in ranges(chunk, spans) {
            text.replace_range(range.clone(), &" ".repeat(range.len()));
        }
        text
    }
}
