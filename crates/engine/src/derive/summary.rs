//! Summaries of tree nodes, written by an LLM or made of document sentences that rules choose.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use graphloom_core::{
    CacheEntry, CacheKind, Call, CallOutcome, ChatMessage, ChatRequest, Chunk, ChunkId, ContentHash,
    Document, DocumentId, LanguageModel, LayerNode, Member, ModelError, Role, Snapshot, Span, StoreError,
};
use serde::{Deserialize, Serialize};

use super::report::{RULES, Reference, request_key};
use super::{LayerPlan, NodeOutcome};
use crate::Engine;
use crate::extract::{after_thinking, ask};
use crate::prompt::TREE_SUMMARY;
use crate::query::{ContentWords, likeness};
use graphloom_offline::{PhraseKind, phrases};
use graphloom_text::{Tokenizer, entity_key, one_line, sentences};

/// Maximum tokens of the passages from which a summary is written. RAPTOR uses 3,500 for leaves of 100 tokens; ten chunks
/// of 1,200 tokens fit here.
pub const MAX_SUMMARY_CONTEXT_TOKENS: u32 = 12_000;
/// Tokens of a summary. RAPTOR uses 100 for leaves of 100 tokens.
pub(super) const SUMMARY_TOKENS: u32 = 300;
/// Maximum words that the LLM is asked for.
const MAX_WORDS: u32 = 200;
/// Output limits of the first attempt, and of the second if the first answer was cut off.
const OUTPUT_TOKENS: [u32; 2] = [2_048, 8_192];
/// Maximum sentences of a summary by rules.
const MAX_SENTENCES: usize = 10;
/// Maximum characters of a sentence that rules choose; longer ones are usually lists or tables.
const MAX_SENTENCE_CHARS: usize = 400;
/// Minimum content words of a sentence that rules choose, if there are others.
const MIN_SENTENCE_WORDS: usize = 4;
/// Maximum sentences per passage that rules consider.
const MAX_LOOKED_AT: usize = 200;
/// Sentences with a higher likeness than this say the same.
const SAME: f64 = 0.5;
/// Maximum topics stored with a node by rules, and maximum topics in its title.
const MAX_TOPICS: usize = 24;
const TITLE_TOPICS: usize = 3;
/// Maximum characters of a title.
const MAX_TITLE_CHARS: usize = 120;

/// The details of a tree node, besides its title and text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeSummary {
    /// The author: the name of an LLM, or `rules` for sentences of the documents.
    pub by: String,
    /// Number of chunks below the node.
    pub passages: u32,
    /// The topics that most passages below it name, found by rules; empty if an LLM wrote the summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<Topic>,
    /// The source of each line of the text, if rules chose it; empty if an LLM wrote the summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<Reference>,
}

/// A name or phrase that occurs in passages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// Its most common form.
    pub name: String,
    /// Number of passages that contain it.
    pub passages: u32,
}

impl NodeSummary {
    /// Returns the summary of a node; `None` if the node has none.
    pub fn of(node: &LayerNode) -> Option<Self> {
        serde_json::from_value(node.details.clone()).ok()
    }

    fn put_into(self, mut node: LayerNode, title: &str, text: String, inputs_hash: ContentHash) -> LayerNode {
        node.title = one_line(title).chars().take(MAX_TITLE_CHARS).collect();
        node.text = text;
        node.details = serde_json::to_value(self).unwrap_or_default();
        node.inputs_hash = inputs_hash;
        node
    }
}

/// Writes the summary of `node`, or keeps the stored one if it was written from the same texts.
pub(super) async fn write(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    planned: &LayerPlan,
    node: LayerNode,
    parts: &[LayerNode],
    stored: Option<&LayerNode>,
) -> Result<NodeOutcome, StoreError> {
    let passages = planned.below(&node.members).len() as u32;
    let texts = Texts::read(snapshot, &node, parts).await?;
    let Some(model) = engine.models.summarize.as_deref() else {
        let inputs = texts.inputs();
        if stored.is_some_and(|stored| stored.inputs_hash == inputs) {
            return Ok(NodeOutcome::Kept);
        }
        let (title, text, summary) = texts.extract(engine.tokenizer, passages);
        let node = summary.put_into(node, &title, text, inputs);
        return Ok(NodeOutcome::New { node, paid: None, calls: Vec::new() });
    };
    let context = texts.context(engine.tokenizer);
    let language = engine.prompts.language("the language of the passages", ", names as in the passages");
    let max_words = MAX_WORDS.to_string();
    let variables = [("context", context.as_str()), ("max_words", &max_words), ("language", &language)];
    let messages = engine.prompts.messages(TREE_SUMMARY, &variables);
    let key = request_key(model, &messages);
    let inputs = key.clone();
    if stored.is_some_and(|stored| stored.inputs_hash == inputs) {
        return Ok(NodeOutcome::Kept);
    }
    let known = snapshot.cached(&[(CacheKind::Node, key.clone())]).await?.pop().flatten();
    let known = known.and_then(|value| parse(std::str::from_utf8(&value).ok()?));
    let ((title, text), paid, calls) = match known {
        Some(summary) => (summary, None, Vec::new()),
        None => match ask_for_summary(engine, model, messages).await {
            (Ok((answer, summary)), calls) => {
                (summary, Some(CacheEntry { kind: CacheKind::Node, key, value: answer.into_bytes() }), calls)
            }
            (Err(error), calls) => return Ok(NodeOutcome::Failed { error, calls }),
        },
    };
    let summary =
        NodeSummary { by: model.name().to_owned(), passages, topics: Vec::new(), quotes: Vec::new() };
    Ok(NodeOutcome::New { node: summary.put_into(node, &title, text, inputs), paid, calls })
}

/// Returns a summary as an LLM writes it: of the maximum length, or the shortest possible.
pub(super) fn sample(long: bool) -> String {
    let words = if long { MAX_WORDS as usize } else { 1 };
    format!("A title of a few words\n\n{}", "word ".repeat(words))
}

/// Returns the answer with its title and text, and the rows for the ledger.
async fn ask_for_summary(
    engine: &Engine,
    model: &dyn LanguageModel,
    messages: Vec<ChatMessage>,
) -> (Result<(String, (String, String)), ModelError>, Vec<Call>) {
    let mut calls = Vec::new();
    for limit in OUTPUT_TOKENS {
        let request = ChatRequest {
            messages: messages.clone(),
            max_output_tokens: Some(limit),
            temperature: Some(0.0),
            ..ChatRequest::default()
        };
        let (answer, call) = ask(model, request, Role::Summarize, None, engine.clock.as_ref()).await;
        let is_cut = call.outcome == CallOutcome::Truncated;
        if call.attempts > 0 {
            calls.push(call);
        }
        match answer {
            // An answer that is cut off again at the second attempt is far too long, and is used as it is.
            Ok(_) if is_cut && limit == OUTPUT_TOKENS[0] => {}
            Ok(answer) => match parse(&answer) {
                Some(summary) => return (Ok((answer, summary)), calls),
                None => break,
            },
            Err(error) => return (Err(error), calls),
        }
    }
    let what = "the answer is not a summary".to_owned();
    (Err(ModelError::Malformed { model: model.name().to_owned(), what }), calls)
}

/// Returns title and text of an answer: its first line without heading marks, and the rest. If there is only one paragraph,
/// its first sentence is the title. `None` if the answer has no words.
fn parse(answer: &str) -> Option<(String, String)> {
    let answer = after_thinking(answer).1.trim();
    let (first, rest) = answer.split_once('\n').unwrap_or((answer, ""));
    let first = first.trim().trim_start_matches(['#', '*', ' ']).trim_end_matches(['*', ' ']);
    let title = first.strip_prefix("Title:").unwrap_or(first).trim_matches(['*', ' ', '"']);
    let text = rest.trim();
    let text = text.strip_prefix("Summary:").unwrap_or(text).trim();
    if title.is_empty() {
        return None;
    }
    if text.is_empty() {
        let sentence = sentences(title).into_iter().next().map_or(title, |range| title[range].trim());
        return Some((sentence.to_owned(), title.to_owned()));
    }
    Some((title.to_owned(), text.to_owned()))
}

/// The texts from which a summary is written.
struct Texts {
    /// Ordered by document and position in it.
    chunks: Vec<Chunk>,
    documents: BTreeMap<DocumentId, Document>,
    parts: Vec<LayerNode>,
}

/// A sentence that can be chosen for a summary.
struct Candidate {
    text: String,
    reference: Reference,
    words: BTreeSet<String>,
    /// The passage or part that contains it.
    member: usize,
}

impl Texts {
    async fn read(
        snapshot: &dyn Snapshot,
        node: &LayerNode,
        parts: &[LayerNode],
    ) -> Result<Self, StoreError> {
        let ids: Vec<ChunkId> = (node.members.iter())
            .filter_map(|member| match member {
                Member::Chunk(id) => Some(id.clone()),
                Member::Entity(_) | Member::Node(_) => None,
            })
            .collect();
        let mut chunks: Vec<Chunk> = snapshot.chunks(&ids).await?.into_iter().flatten().collect();
        chunks.sort_by(|one, other| {
            (&one.document, one.ordinal, &one.id).cmp(&(&other.document, other.ordinal, &other.id))
        });
        let owners: BTreeSet<&DocumentId> = chunks.iter().map(|chunk| &chunk.document).collect();
        let owners: Vec<DocumentId> = owners.into_iter().cloned().collect();
        let documents = snapshot.documents(&owners).await?.into_iter().flatten();
        let documents = documents.map(|document| (document.id.clone(), document)).collect();
        Ok(Self { chunks, documents, parts: parts.to_vec() })
    }

    /// Returns the hash of everything that the rules read.
    fn inputs(&self) -> ContentHash {
        let mut hashed = vec![RULES];
        hashed.extend(self.chunks.iter().map(|chunk| chunk.id.as_str()));
        for part in &self.parts {
            hashed.extend([part.key.as_str(), part.inputs_hash.as_str()]);
        }
        ContentHash::of_parts(&hashed)
    }

    /// Returns all texts as the LLM gets them, without duplicates; the longest are cut until all fit.
    fn context(&self, tokenizer: Tokenizer) -> String {
        let mut seen = BTreeSet::new();
        let mut texts: Vec<(String, &str)> = Vec::new();
        for chunk in self.chunks.iter().filter(|chunk| seen.insert(chunk.text.trim())) {
            let title = self.documents.get(&chunk.document).map_or("", |document| document.title.as_str());
            let headings = std::iter::once(title).chain(chunk.breadcrumb.iter().map(String::as_str));
            let mut place: Vec<String> =
                headings.map(one_line).filter(|heading| !heading.is_empty()).collect();
            place.dedup();
            texts.push((place.join(" > "), chunk.text.trim()));
        }
        for part in self.parts.iter().filter(|part| seen.insert(part.text.trim())) {
            texts.push((one_line(&part.title), part.text.trim()));
        }
        let lengths: Vec<u32> = texts.iter().map(|(_, text)| tokenizer.count(text)).collect();
        let most = fair_share(&lengths, MAX_SUMMARY_CONTEXT_TOKENS);
        let mut context = String::new();
        for (number, (place, text)) in (1..).zip(texts) {
            let number: usize = number;
            let _ = writeln!(context, "[{number}] {place}\n{}\n", tokenizer.truncate(text, most).trim_end());
        }
        context.truncate(context.trim_end().len());
        context
    }

    /// Returns title, text and details by rules: the sentences that share the most words with the other passages, from as
    /// many passages as possible.
    fn extract(&self, tokenizer: Tokenizer, passages: u32) -> (String, String, NodeSummary) {
        let candidates = self.candidates();
        let mut chosen = choose(&candidates, tokenizer);
        chosen.sort_unstable();
        let quotes: Vec<Reference> = chosen.iter().map(|at| candidates[*at].reference.clone()).collect();
        let lines: Vec<&str> = chosen.iter().map(|at| candidates[*at].text.as_str()).collect();
        let topics = self.topics();
        let title = match topics.is_empty() {
            false => topics
                .iter()
                .take(TITLE_TOPICS)
                .map(|topic| topic.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
            true => lines.first().map_or_else(String::new, |line| (*line).to_owned()),
        };
        (title, lines.join("\n"), NodeSummary { by: RULES.to_owned(), passages, topics, quotes })
    }

    /// Returns the sentences of the chunks, and those of which the parts' summaries consist.
    fn candidates(&self) -> Vec<Candidate> {
        let words = ContentWords::new();
        let mut seen = BTreeSet::new();
        let mut candidates = Vec::new();
        for (member, chunk) in self.chunks.iter().enumerate() {
            for range in sentences(&chunk.text).into_iter().take(MAX_LOOKED_AT) {
                let text = one_line(&chunk.text[range.clone()]);
                if text.chars().count() > MAX_SENTENCE_CHARS || !seen.insert(text.clone()) {
                    continue;
                }
                let span = chunk.span.within(Span::new(range.start, range.end));
                let (document, chunk) = (chunk.document.clone(), chunk.id.clone());
                let reference = Reference { document, chunk, span };
                candidates.push(Candidate { words: words.of(&text), text, reference, member });
            }
        }
        for (member, part) in (self.chunks.len()..).zip(&self.parts) {
            let quotes = NodeSummary::of(part).map(|summary| summary.quotes).unwrap_or_default();
            for (line, reference) in part.text.lines().zip(quotes) {
                if seen.insert(line.to_owned()) {
                    let text = line.to_owned();
                    candidates.push(Candidate { words: words.of(&text), text, reference, member });
                }
            }
        }
        candidates
    }

    /// Returns the topics that most passages name first; ties go to the topic that most looks like a name, then by key.
    fn topics(&self) -> Vec<Topic> {
        let mut found: BTreeMap<String, NameCount> = BTreeMap::new();
        for chunk in &self.chunks {
            let mut of_chunk: BTreeMap<String, (String, f32)> = BTreeMap::new();
            for phrase in phrases(&chunk.text) {
                let weight = match phrase.kind {
                    PhraseKind::Name | PhraseKind::Heading | PhraseKind::Quoted => 2.0,
                    PhraseKind::NounPhrase => 1.0,
                    PhraseKind::Date | PhraseKind::Quantity => continue,
                };
                if let Some(key) = entity_key(&phrase.text) {
                    of_chunk.entry(key.to_string()).or_insert((phrase.text, weight));
                }
            }
            for (key, (name, weight)) in of_chunk {
                found.entry(key).or_default().add(name, 1, weight);
            }
        }
        for part in &self.parts {
            for topic in NodeSummary::of(part).map(|summary| summary.topics).unwrap_or_default() {
                let Some(key) = entity_key(&topic.name) else { continue };
                found.entry(key.to_string()).or_default().add(topic.name, topic.passages, 1.0);
            }
        }
        let mut found: Vec<(String, NameCount)> = found.into_iter().collect();
        found.sort_by(|(key, one), (other_key, other)| {
            (other.passages.cmp(&one.passages))
                .then_with(|| other.weight.total_cmp(&one.weight))
                .then_with(|| key.cmp(other_key))
        });
        let topics = found.into_iter().take(MAX_TOPICS);
        topics.map(|(_, named)| Topic { name: named.name(), passages: named.passages }).collect()
    }
}

/// How many passages name a topic, and in which forms.
#[derive(Default)]
struct NameCount {
    forms: BTreeMap<String, u32>,
    passages: u32,
    weight: f32,
}

impl NameCount {
    fn add(&mut self, form: String, passages: u32, weight: f32) {
        *self.forms.entry(form).or_default() += passages;
        self.passages += passages;
        self.weight = self.weight.max(weight);
    }

    /// Returns the most common form, and the first of equally common ones.
    fn name(&self) -> String {
        let best = self.forms.iter().max_by(|one, other| one.1.cmp(other.1).then_with(|| other.0.cmp(one.0)));
        best.map(|(form, _)| form.clone()).unwrap_or_default()
    }
}

/// Returns the positions of the sentences that form the summary.
fn choose(candidates: &[Candidate], tokenizer: Tokenizer) -> Vec<usize> {
    let mut members_with: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for candidate in candidates {
        for word in &candidate.words {
            members_with.entry(word).or_default().insert(candidate.member);
        }
    }
    // A word counts by how many other passages contain it, and a little by itself.
    let worth = |word: &String| 0.1 + (members_with.get(word.as_str()).map_or(1, BTreeSet::len) as f64).ln();
    let is_short = |candidate: &Candidate| candidate.words.len() < MIN_SENTENCE_WORDS;
    let all_short = candidates.iter().all(is_short);
    let mut scored: Vec<(usize, f64)> = candidates
        .iter()
        .enumerate()
        .filter(|(_, candidate)| all_short || !is_short(candidate))
        .map(|(at, candidate)| {
            let total: f64 = candidate.words.iter().map(worth).sum();
            (at, total / (candidate.words.len() as f64 + 4.0).sqrt())
        })
        .collect();
    let mut chosen: Vec<usize> = Vec::new();
    let mut of_member: BTreeMap<usize, u32> = BTreeMap::new();
    let mut tokens = 0;
    while chosen.len() < MAX_SENTENCES {
        let value = |(at, score): &(usize, f64)| {
            score / f64::from(1 + of_member.get(&candidates[*at].member).copied().unwrap_or(0))
        };
        let best = (0..scored.len()).max_by(|a, b| {
            value(&scored[*a]).total_cmp(&value(&scored[*b])).then_with(|| scored[*b].0.cmp(&scored[*a].0))
        });
        let Some(best) = best else { break };
        let (at, _) = scored.swap_remove(best);
        let candidate = &candidates[at];
        let repeats = |other: &usize| likeness(&candidate.words, &candidates[*other].words) > SAME;
        let length = tokenizer.count(&candidate.text);
        if chosen.iter().any(repeats) || (tokens + length > SUMMARY_TOKENS && !chosen.is_empty()) {
            continue;
        }
        tokens += length;
        *of_member.entry(candidate.member).or_default() += 1;
        chosen.push(at);
    }
    chosen
}

/// Returns the maximum tokens per text with which all texts together have at most `limit`.
fn fair_share(lengths: &[u32], limit: u32) -> u32 {
    let mut ascending = lengths.to_vec();
    ascending.sort_unstable();
    let mut left = limit;
    for (at, length) in ascending.iter().enumerate() {
        let share = left / (ascending.len() - at) as u32;
        if *length > share {
            return share;
        }
        left -= length;
    }
    limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_an_answer_is_the_title() {
        let check = |answer: &str| parse(answer);
        let said = |title: &str, text: &str| Some((title.to_owned(), text.to_owned()));
        assert_eq!(check("Bridges of Kelm\n\nThey are old."), said("Bridges of Kelm", "They are old."));
        assert_eq!(check("<think>hm</think>\n## **Bridges**\nOld. Stone.\n"), said("Bridges", "Old. Stone."));
        assert_eq!(check("Title: \"Bridges\"\n\nSummary: Old."), said("Bridges", "Old."));
        assert_eq!(check("They are old. They stand."), said("They are old.", "They are old. They stand."));
        for bad in ["", " \n ", "##"] {
            assert_eq!(check(bad), None, "{bad:?}");
        }
        assert!(parse(&sample(true)).is_some() && parse(&sample(false)).is_some());
    }

    #[test]
    fn the_longest_texts_are_cut_first() {
        assert_eq!(fair_share(&[10, 20, 30], 100), 100);
        assert_eq!(fair_share(&[10, 50, 90], 100), 45);
        assert_eq!(fair_share(&[100, 100], 100), 50);
        assert_eq!(fair_share(&[], 100), 100);
    }

    #[test]
    fn a_summary_by_rules_has_what_passages_share_and_something_from_each() {
        let words = ContentWords::new();
        let reference = |at: u64| Reference {
            document: DocumentId::from_stored("doc"),
            chunk: ChunkId::from_stored("chunk"),
            span: Span { start: at, end: at + 1 },
        };
        let candidate = |(at, (member, text)): (usize, (usize, &str))| Candidate {
            text: text.to_owned(),
            reference: reference(at as u64),
            words: words.of(text),
            member,
        };
        let texts = [
            (0, "The old stone bridge crosses the river Kelm near the market."),
            (0, "Parking costs two coins on Sunday mornings in winter."),
            (1, "A stone bridge over the river Kelm was built by Ada Brown."),
            (1, "A stone bridge over the river Kelm was built by Ada Brown again."),
            (2, "Toll was taken at the bridge until the river flooded."),
        ];
        let candidates: Vec<Candidate> = texts.into_iter().enumerate().map(candidate).collect();
        let chosen = choose(&candidates, Tokenizer);
        assert_eq!(chosen[..3].iter().map(|at| candidates[*at].member).collect::<BTreeSet<_>>().len(), 3);
        assert!(!(chosen.contains(&2) && chosen.contains(&3)), "{chosen:?}");
        assert!(chosen.contains(&0) && chosen.contains(&4));
    }
}
