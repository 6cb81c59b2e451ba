//! Tests with the tables of `tests/lightrag` for picking, merging and cutting results.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::*;
use serde::Deserialize;

use super::{Mode, Question, World};
use crate::conformance::{Table, words};
use crate::filtered::FilteredSnapshot;
use crate::graph::derive_entity;
use crate::query::chunks::{MAX_SOURCE_CHUNKS, Passage, pick};
use crate::query::context::LineCounter;
use crate::query::fuse::round_robin;
use crate::query::pick::Sources;
use crate::query::plan::Plan;
use crate::query::truncate::{FittedGraph, truncate};
use crate::query::{Arm, ChunkPick, FoundEntity, budget, references, respond};
use graphloom_text::Tokenizer;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceCounts {
    sources: u32,
    descriptions: usize,
    considered: usize,
    by_arrival: bool,
}

#[tokio::test]
async fn entities_keep_as_many_chunks_as_in_lightrag() {
    #[derive(Deserialize)]
    struct Input {
        documents: Vec<usize>,
    }
    let table: Table<Input, SourceCounts> = Table::read(include_str!("../../../tests/lightrag/sources.json"));
    let mut found = Vec::new();
    for row in &table.rows {
        let total: usize = row.input.documents.iter().sum();
        let mentions: Vec<Mention> = (0..total)
            .map(|i| Mention {
                chunk: ChunkId::from_stored(format!("c{i:03}")),
                ordinal: 0,
                entity: EntityKey::from_stored("ADA"),
                name: "Ada".to_owned(),
                kind: "Person".to_owned(),
                description: format!("d{i}"),
                span: None,
                set_aside: false,
            })
            .collect();
        let draft = derive_entity(&mentions[0].entity, &mentions, &[], 0, None).expect("mentioned");

        let forth: Vec<(usize, usize)> = row.input.documents.iter().copied().enumerate().collect();
        let back: Vec<(usize, usize)> = forth.iter().rev().copied().collect();
        let (one, other) = (chunks_of_ada(&forth).await, chunks_of_ada(&back).await);
        found.push(SourceCounts {
            sources: draft.view.mention_count,
            descriptions: draft.fragments.len(),
            considered: one.len(),
            by_arrival: one != other,
        });
    }
    table.check(found);
}

/// Returns the chunks that a question considers for an entity that every paragraph mentions. `documents` lists the number of
/// each document and the number of its paragraphs, in the order in which they are added.
async fn chunks_of_ada(documents: &[(usize, usize)]) -> Vec<ChunkId> {
    let mut world = World::empty();
    for &(number, paragraphs) in documents {
        let texts: Vec<String> =
            (0..paragraphs).map(|i| format!("Paragraph {i} of {number} on Ada.")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        world.document(&format!("{number}.md"), &texts);
        world.entity("Ada", "Person", "Chemist.", &texts);
        world.commit().await;
    }
    let snapshot = world.engine.store.snapshot().await.expect("a snapshot");
    let scope = FilteredSnapshot::new(snapshot.as_ref(), None, Tokenizer).await.expect("a scope");
    let ada = GraphKey::Entity(EntityKey::from_stored("ADA"));
    let behind = scope.chunks_behind(&[ada], MAX_SOURCE_CHUNKS).await.expect("chunks");
    behind.into_iter().next().expect("one list a key")
}

#[test]
fn chunks_are_picked_as_in_lightrag() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        method: String,
        related: u32,
        lists: Vec<Vec<String>>,
        #[serde(default)]
        similarity: BTreeMap<String, f32>,
        chosen: Option<BTreeSet<String>>,
    }
    let id = |chunk: &String| ChunkId::from_stored(chunk.as_str());
    let table: Table<Input, Vec<String>> = Table::read(include_str!("../../../tests/lightrag/picks.json"));
    let picked = |input: &Input| -> Vec<String> {
        let lists: Vec<Vec<ChunkId>> = input.lists.iter().map(|list| list.iter().map(id).collect()).collect();
        let sources = match &input.chosen {
            Some(chosen) => Sources::of_relations(&lists, &chosen.iter().map(id).collect()),
            None => Sources::of_entities(&lists),
        };
        let chunk_pick = match input.method.as_str() {
            "VECTOR" => ChunkPick::Vector,
            "WEIGHT" => ChunkPick::Weight,
            other => panic!("{other} is no method"),
        };
        let question = Question { chunk_pick, related_chunk_number: input.related, ..Question::default() };
        let similarities = input.similarity.iter().map(|(chunk, score)| (id(chunk), *score)).collect();
        pick(&sources, &question, &similarities).iter().map(ChunkId::to_string).collect()
    };
    table.check(table.rows.iter().map(|row| picked(&row.input)).collect());
}

#[test]
fn lists_take_turns_as_in_lightrag() {
    let table: Table<Vec<Vec<String>>, Vec<String>> =
        Table::read(include_str!("../../../tests/lightrag/turns.json"));
    let merged = |lists: &Vec<Vec<String>>| round_robin(lists.clone(), String::clone);
    table.check(table.rows.iter().map(|row| merged(&row.input)).collect());
}

#[derive(Deserialize)]
struct Room {
    tokens: u32,
}

#[tokio::test]
async fn sections_are_truncated_as_in_lightrag() {
    #[derive(Deserialize)]
    struct Input {
        kind: String,
        lines: Vec<usize>,
        budget: Room,
    }
    let table: Table<Input, usize> = Table::read(include_str!("../../../tests/lightrag/sections.json"));
    let world = World::empty();
    let snapshot = world.engine.store.snapshot().await.expect("a snapshot");
    let scope = FilteredSnapshot::new(snapshot.as_ref(), None, Tokenizer).await.expect("a scope");
    let counter = LineCounter { tokenizer: Tokenizer, caches: &world.engine.caches };
    let mut found = Vec::new();
    for row in &table.rows {
        let Input { kind, lines, budget: Room { tokens } } = &row.input;
        let question =
            Question { max_entity_tokens: *tokens, max_relation_tokens: *tokens, ..Question::default() };
        let texts = lines.iter().enumerate().map(|(i, tokens)| (i, words(i, *tokens)));
        let (entities, relations) = match kind.as_str() {
            "entities" => (texts.map(|(i, text)| entity(i, text)).collect(), Vec::new()),
            "relations" => (Vec::new(), texts.map(|(i, text)| (relation(i, text), None)).collect()),
            other => panic!("{other} is no section"),
        };
        let kept = truncate(&scope, &question, entities, relations, 0, &counter).await.expect("truncated");
        found.push(kept.entities.len() + kept.relations.len());
    }
    table.check(found);
}

fn entity(number: usize, description: String) -> FoundEntity {
    let key = EntityKey::from_stored(format!("E{number}"));
    let name = key.to_string();
    let inputs_hash = ContentHash::of(&[]);
    let entity = Entity {
        key,
        name,
        kind: "Person".to_owned(),
        description,
        mention_count: 1,
        degree: 0,
        inputs_hash,
    };
    FoundEntity { entity, score: None }
}

fn relation(number: usize, description: String) -> Relation {
    let end = |side: char| EntityKey::from_stored(format!("{side}{number}"));
    Relation {
        key: RelationKey::new(end('A'), end('B')).expect("two ends"),
        keywords: Vec::new(),
        description,
        weight: 1.0,
        fact_count: 1,
        inputs_hash: ContentHash::of(&[]),
    }
}

/// Tokens that the budget of passages reserves for headings and the list of documents.
const RESERVED_TOKENS: u32 = 200;

#[tokio::test]
async fn passages_are_truncated_as_in_lightrag() {
    #[derive(Deserialize)]
    struct Input {
        passages: Vec<usize>,
        room: Room,
    }
    let table: Table<Input, usize> = Table::read(include_str!("../../../tests/lightrag/totals.json"));
    let world = World::empty();
    let counter = LineCounter { tokenizer: Tokenizer, caches: &world.engine.caches };
    let mut question = Question { text: "Who?".to_owned(), mode: Mode::Naive, ..Question::default() };
    let instructions = respond::instructions(&world.engine.prompts, &question, Plan::of(question.mode), "");
    let rest = Tokenizer.count(&instructions) + Tokenizer.count(&question.text) + RESERVED_TOKENS;
    let kept = |Input { passages, room: Room { tokens } }: &Input| {
        question.max_total_tokens = rest + tokens;
        let passages =
            passages.iter().enumerate().map(|(i, tokens)| passage("a.md", i, &words(i, *tokens))).collect();
        budget::fit(&world.engine.prompts, &question, 0, &FittedGraph::default(), passages, &counter).len()
    };
    let found = table.rows.iter().map(|row| &row.input).map(kept).collect();
    table.check(found);
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbered {
    documents: Vec<String>,
    numbers: Vec<u32>,
}

#[test]
fn documents_are_numbered_as_in_lightrag() {
    let table: Table<Vec<String>, Numbered> =
        Table::read(include_str!("../../../tests/lightrag/references.json"));
    let numbered = |sources: &Vec<String>| {
        let passages = sources.iter().enumerate().map(|(i, source)| passage(source, i, "x")).collect();
        let (references, chunks) = references::number(passages);
        Numbered {
            documents: references.into_iter().map(|reference| reference.source).collect(),
            numbers: chunks.iter().map(|found| found.reference).collect(),
        }
    };
    table.check(table.rows.iter().map(|row| numbered(&row.input)).collect());
}

/// Returns a passage of the document with this source.
fn passage(source: &str, number: usize, text: &str) -> Passage {
    let content_hash = ContentHash::of(source.as_bytes());
    let id = DocumentId::new(source, &content_hash);
    let span = Span::new(number * 10_000, number * 10_000 + text.len());
    let chunk = Chunk {
        id: ChunkId::new(&id, number as u32, span.start, span.end),
        document: id.clone(),
        ordinal: number as u32,
        span,
        token_count: Tokenizer.count(text),
        breadcrumb: Vec::new(),
        text: text.to_owned(),
        extraction: ChunkExtraction::Pending,
    };
    let document = Document {
        id,
        source: source.to_owned(),
        title: source.to_owned(),
        content_hash,
        text_bytes: 0,
        format: Format::Markdown,
        encoding: "UTF-8".to_owned(),
        lines_match_source: true,
        parts: Vec::new(),
        remarks: Vec::new(),
        meta: BTreeMap::new(),
        visibility: Visibility::Live,
        added_at: Timestamp(0),
    };
    Passage { chunk, document, arm: Arm::Vector, score: None, rerank_score: None, context: None }
}
