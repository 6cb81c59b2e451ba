//! Checks merging and summarizing against the tables in `tests/lightrag`.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::StreamExt;
use graphloom_core::{
    ChatEvent, ChatRequest, ChatStream, Chunk, ChunkExtraction, ChunkId, Clock, Completion, Decisions,
    DocumentId, Embedder, Embeddings, EntityKey, EntityRecord, Fact, FinishReason, GraphKey, LanguageModel,
    Mention, ModelError, Purpose, Records, RelationRecord, Span, Timestamp, Usage, WorkspaceId,
};
use graphloom_storage::memory::MemoryStore;
use serde::Deserialize;

use super::describe::{Summaries, describe};
use super::records::evidence_of;
use super::views::{derive_entity, derive_relation};
use crate::conformance::{Table, words};
use crate::{Engine, Models};

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntityView {
    kind: String,
    descriptions: Vec<String>,
}

#[test]
fn entities_are_merged_as_in_lightrag() {
    #[derive(Deserialize)]
    struct Input {
        documents: Vec<Vec<(String, String)>>,
        relations: Vec<String>,
    }
    let table: Table<Input, EntityView> = Table::read(include_str!("../../tests/lightrag/entities.json"));
    let ada = EntityKey::from_stored("ADA");
    let merged = |input: &Input| {
        let said = |(kind, description): &(String, String)| Records {
            entities: vec![EntityRecord {
                name: "Ada".to_owned(),
                kind: kind.clone(),
                description: description.clone(),
            }],
            ..Records::default()
        };
        let related = |description: &String| about_kelm("", description, 1.0);
        let mentioned = input.documents.iter().flatten().map(said);
        let (mentions, facts) = evidence(mentioned.chain(input.relations.iter().map(related)));
        let draft = derive_entity(&ada, &mentions, &facts, 0, None).expect("it is named");
        EntityView { kind: draft.view.kind, descriptions: draft.fragments }
    };
    table.check(table.rows.iter().map(|row| merged(&row.input)).collect());
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct RelationView {
    weight: f64,
    keywords: Vec<String>,
    descriptions: Vec<String>,
}

#[test]
fn relations_are_merged_as_in_lightrag() {
    type Documents = Vec<Vec<(String, String, f64)>>;
    let table: Table<Documents, RelationView> =
        Table::read(include_str!("../../tests/lightrag/relations.json"));
    let merged = |documents: &Documents| {
        let said = documents.iter().flatten();
        let (_, facts) = evidence(said.map(|(keywords, said, weight)| about_kelm(keywords, said, *weight)));
        let draft = derive_relation(&facts[0].relation, &facts, None).expect("it is stated");
        RelationView {
            weight: draft.view.weight,
            keywords: draft.view.keywords,
            descriptions: draft.fragments,
        }
    };
    table.check(table.rows.iter().map(|row| merged(&row.input)).collect());
}

/// Returns the records of an answer about Ada and Kelm.
fn about_kelm(keywords: &str, description: &str, weight: f64) -> Records {
    let relation = RelationRecord {
        source: "Ada".to_owned(),
        target: "Kelm".to_owned(),
        keywords: keywords.split(',').map(str::to_owned).collect(),
        description: description.to_owned(),
        weight,
    };
    Records { relations: vec![relation], ..Records::default() }
}

/// Returns the records as they are stored, with one chunk for each.
fn evidence(said: impl Iterator<Item = Records>) -> (Vec<Mention>, Vec<Fact>) {
    let (mut mentions, mut facts) = (Vec::new(), Vec::new());
    for (number, records) in said.enumerate() {
        let chunk = Chunk {
            id: ChunkId::from_stored(format!("c{number:03}")),
            document: DocumentId::from_stored("d"),
            ordinal: number as u32,
            span: Span::new(0, 0),
            token_count: 0,
            breadcrumb: Vec::new(),
            text: String::new(),
            extraction: ChunkExtraction::Pending,
        };
        let (some, others) = evidence_of(&chunk, &records, &Decisions::default());
        mentions.extend(some);
        facts.extend(others);
    }
    (mentions, facts)
}

#[tokio::test]
async fn descriptions_are_summarised_as_in_lightrag() {
    type Counts = Vec<(usize, usize)>;
    let table: Table<Counts, Vec<usize>> = Table::read(include_str!("../../tests/lightrag/summaries.json"));
    let owner = GraphKey::Entity(EntityKey::from_stored("ADA"));
    let mut found = Vec::new();
    for row in &table.rows {
        let lengths = row.input.iter().flat_map(|&(count, tokens)| std::iter::repeat_n(tokens, count));
        let fragments: Vec<String> = lengths.enumerate().map(|(i, tokens)| words(i, tokens)).collect();
        let model = Arc::new(TenTokens::default());
        let engine = engine(model.clone());
        let description = describe(&engine, Summaries::Now, &owner, "Ada", fragments, &[]).await;
        assert!(description.missing.is_none());
        let mut asked = model.asked.lock().expect("no test panics here").clone();
        asked.sort_by(|one, other| other.cmp(one));
        found.push(asked);
    }
    table.check(found);
}

fn engine(model: Arc<TenTokens>) -> Engine {
    Engine::new(
        Arc::new(MemoryStore::new(WorkspaceId::default())),
        Models { summarize: Some(model), ..Models::offline(Arc::new(NoVectors)) },
        Arc::new(Stopped),
    )
}

/// Answers with ten tokens, and counts the descriptions that it gets.
#[derive(Default)]
struct TenTokens {
    asked: Mutex<Vec<usize>>,
}

#[async_trait]
impl LanguageModel for TenTokens {
    fn name(&self) -> &str {
        "test:summaries"
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let given: usize =
            request.messages.iter().map(|message| message.content.matches("{\"Description\":").count()).sum();
        self.asked.lock().expect("no test panics here").push(given);
        let usage = Usage::default();
        let done = ChatEvent::Done(Completion { finish: FinishReason::Stop, usage, attempts: 1 });
        Ok(futures::stream::iter([Ok(ChatEvent::Delta(words(900, 10))), Ok(done)]).boxed())
    }
}

/// An embedder that must not be called.
struct NoVectors;

#[async_trait]
impl Embedder for NoVectors {
    fn name(&self) -> &str {
        "test:none"
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        Ok(1)
    }

    async fn embed(&self, _: Purpose, _: &[String]) -> Result<Embeddings, ModelError> {
        unreachable!("descriptions are made without vectors")
    }
}

/// A clock that stands still.
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
}
