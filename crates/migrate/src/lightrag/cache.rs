//! LightRAG's cache of model calls: finds the answers about each chunk.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Chunk, says_something, text_of};

/// Mode of entries about indexing. Answers to questions have the mode of the question.
const INDEXING: &str = "default";
/// Types of entries with extractions; early releases use `default` or no type.
const EXTRACTIONS: [&str; 4] = ["extract", "entity_extract", "default", ""];
/// Shortest line that identifies a chunk in a prompt, in characters.
const MIN_LINE_CHARS: usize = 16;

/// Answers about chunks.
#[derive(Default)]
pub(super) struct Answers {
    by_chunk: BTreeMap<String, Vec<Entry>>,
    /// Number of extraction answers whose chunk is unknown.
    pub(super) unlinked: usize,
}

struct Entry {
    /// Place in the chunk's list of answers; last if it is not in the list.
    place: usize,
    /// Whether it is an answer to a follow-up call.
    is_gleaning: bool,
    created: f64,
    key: String,
    answer: String,
}

impl Answers {
    /// - `rows`: by `default:extract:HASH`; in early layouts by hash below the mode, or by hash alone.
    pub(super) fn of(rows: Map<String, Value>, chunks: &BTreeMap<String, Chunk>) -> Self {
        let mut listed: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
        for (id, chunk) in chunks {
            for (place, key) in chunk.answers.iter().enumerate() {
                listed.insert(key, (id, place));
            }
        }
        let prompts = Prompts::of(chunks);
        let mut answers = Self::default();
        for (key, row) in flat(rows) {
            if !EXTRACTIONS.contains(&text_of(&row, "cache_type").as_str()) {
                continue;
            }
            let answer = text_of(&row, "return");
            let prompt = text_of(&row, "original_prompt");
            let hash = key.rsplit(':').next().unwrap_or(&key);
            let in_list = listed.get(key.as_str()).or_else(|| listed.get(hash));
            let named = text_of(&row, "chunk_id");
            let chunk = match (in_list, chunks.contains_key(&named)) {
                (Some((id, _)), _) => Some((*id).to_owned()),
                (None, true) => Some(named),
                (None, false) => prompts.chunk_in(&prompt, chunks),
            };
            match chunk {
                Some(chunk) if says_something(&answer) => {
                    answers.by_chunk.entry(chunk).or_default().push(Entry {
                        place: in_list.map_or(usize::MAX, |(_, place)| *place),
                        is_gleaning: prompt.trim_start().starts_with('['),
                        created: row.get("create_time").and_then(Value::as_f64).unwrap_or(0.0),
                        key,
                        answer,
                    });
                }
                Some(_) => {}
                None => answers.unlinked += usize::from(says_something(&answer)),
            }
        }
        for entries in answers.by_chunk.values_mut() {
            entries.sort_by(|one, other| {
                (one.place.cmp(&other.place))
                    .then_with(|| one.is_gleaning.cmp(&other.is_gleaning))
                    .then_with(|| one.created.total_cmp(&other.created))
                    .then_with(|| one.key.cmp(&other.key))
            });
        }
        answers
    }

    pub(super) fn has(&self, chunk: &str) -> bool {
        self.by_chunk.contains_key(chunk)
    }

    /// Removes and returns the answers about a chunk: the first answer, then gleanings, each once.
    pub(super) fn take(&mut self, chunk: &str) -> Option<Vec<String>> {
        let mut seen = BTreeSet::new();
        let answers = self.by_chunk.remove(chunk)?.into_iter().map(|entry| entry.answer);
        Some(answers.filter(|answer| seen.insert(answer.clone())).collect())
    }
}

/// Returns the entries about indexing with their keys, in any layout.
fn flat(rows: Map<String, Value>) -> Vec<(String, Value)> {
    let mut entries = Vec::new();
    for (key, row) in rows {
        if row.get("return").is_some() {
            let mode = key.split_once(':').map_or(INDEXING, |(mode, _)| mode);
            if mode == INDEXING {
                entries.push((key, row));
            }
        } else if key == INDEXING
            && let Value::Object(rows) = row
        {
            entries.extend(rows.into_iter().filter(|(_, row)| row.get("return").is_some()));
        }
    }
    entries
}

/// Recognizes chunks in prompts, for layouts in which entries do not name their chunk.
struct Prompts<'a> {
    /// Chunks by their longest line.
    by_line: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Prompts<'a> {
    fn of(chunks: &'a BTreeMap<String, Chunk>) -> Self {
        let mut by_line: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (id, chunk) in chunks {
            let longest = chunk.text.lines().map(str::trim).max_by_key(|line| line.len()).unwrap_or_default();
            by_line.entry(longest).or_default().push(id);
        }
        Self { by_line }
    }

    /// Returns the longest chunk that the prompt contains.
    fn chunk_in(&self, prompt: &str, chunks: &BTreeMap<String, Chunk>) -> Option<String> {
        // A prompt of a follow-up call contains the conversation as JSON.
        let unescaped = prompt.replace("\\n", "\n").replace("\\\"", "\"");
        let mut found: Option<(&str, usize)> = None;
        for text in [prompt, unescaped.as_str()] {
            for line in text.lines().map(str::trim) {
                for id in self.by_line.get(line).into_iter().flatten() {
                    let chunk = chunks[*id].text.trim();
                    let fits = chunk.len() >= MIN_LINE_CHARS && text.contains(chunk);
                    if fits && found.is_none_or(|(_, length)| chunk.len() > length) {
                        found = Some((id, chunk.len()));
                    }
                }
            }
            if found.is_some() {
                break;
            }
        }
        found.map(|(id, _)| id.to_owned())
    }
}
