//! Applies random batches to a store and to the in-memory reference and compares everything that can be read.

use std::sync::Arc;

use graphloom_core::{
    Batch, CacheEntry, CacheKind, Call, CallOutcome, ChunkExtraction, ContentHash, GraphKey, ItemKind, Job,
    JobState, LayerName, LayerNode, Lease, Member, NewExchange, QueueState, Require, RestsOn, Revision, Role,
    SetOriginal, Snapshot, Span, Store, StoreError, Timestamp, WorkspaceId,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

mod compare;

use self::compare::{compare, compare_searches, compare_text};
use super::conversations::{conversation, exchange};
use super::{block_on, sample};
use crate::memory::MemoryStore;

/// Rows per page of a scan. Small, so that pages end in the middle of groups.
const PAGE: usize = 2;
/// Documents, extractions and summaries are named by number, entities by name.
const DOCUMENTS: u8 = 4;
const CHUNKS: u32 = 3;
const ENTITIES: [&str; 4] = ["ADA", "BOB", "Ç", "D\u{1}D"];
const LAYERS: [&str; 2] = ["themes", "tree"];
/// The text of every document. Its three chunks overlap.
const TEXT: &str = "Ada met Bob in Zürich, 東京 and Rome.";

/// One change in a batch. Numbers wrap around the number of existing items.
#[derive(Debug, Clone)]
enum Change {
    Document { document: u8, staged: bool, title: u8 },
    Original { document: u8, said: Option<u8> },
    Remove { document: u8 },
    Activate { document: u8 },
    Job { document: u8, state: u8, lease: Option<u8>, created_at: u8 },
    Chunk { document: u8, ordinal: u32, extraction: u8 },
    Extraction { name: u8, said: u8 },
    SetExtraction { document: u8, ordinal: u32, extraction: u8 },
    Renewal { document: u8, ordinal: u32, extraction: u8 },
    EndRenewal { document: u8, ordinal: u32 },
    ChunkContext { document: u8, ordinal: u32, name: u8, said: Option<u8> },
    EndContext { document: u8, ordinal: u32 },
    Track { track: u8, document: u8 },
    Queue { paused: bool },
    Clear { document: u8, ordinal: u32 },
    Mention { document: u8, ordinal: u32, number: u32, entity: usize, set_aside: bool },
    Fact { document: u8, ordinal: u32, number: u32, ends: (usize, usize), set_aside: bool },
    Claim { document: u8, ordinal: u32, number: u32, ends: (usize, usize) },
    Decision { order: u64, entity: usize },
    Entity { entity: usize, said: u8 },
    RemoveEntity { entity: usize },
    Relation { ends: (usize, usize), said: u8 },
    RemoveRelation { ends: (usize, usize) },
    Summaries { ends: (usize, usize), names: Vec<u8> },
    Stale { ends: (usize, usize), is_stale: bool },
    Layer { layer: usize, watermark: u8, complete: bool },
    RemoveLayer { layer: usize },
    Node { node: Numbered, said: u8 },
    RemoveNode { node: Numbered },
    Vector { kind: usize, ends: (usize, usize), document: u8, values: [i8; 3] },
    NodeVector { node: Numbered, values: [i8; 3] },
    Call { said: u8 },
    Remember { kind: usize, key: u8, said: u8 },
    Forget { kind: usize },
    Conversation { number: u8, said: u8 },
    EndConversation { number: u8 },
    Exchange { number: u8, ordinal: u32, rests_on: Option<Vec<u8>>, read_at: u64 },
    Embedding { dimensions: u32 },
    ReplaceEmbedding,
    RequireJob { document: u8, state: u8, lease: Option<u8>, created_at: u8 },
    RequireExtraction { document: u8, ordinal: u32, extraction: u8 },
    RequireGraph { revision: u64 },
    RequireRevision { revision: u64 },
    RequireLayer { layer: usize, known: Option<(u8, bool)> },
    RequireSource { document: u8, known: Vec<(u8, bool, u8)> },
}

/// A layer and one of its nodes. The nodes have an entity, a chunk, or both of these nodes and another entity as members.
type Numbered = (usize, u8);

/// Applies this many random histories to the store that `open` creates and to the reference.
///
/// # Panics
///
/// If the two stores differ.
pub fn compare_with_memory<S: Store, G>(open: impl Fn() -> (S, G), histories: u32) {
    let config = Config { cases: histories, failure_persistence: None, ..Config::default() };
    let history = prop::collection::vec(prop::collection::vec(change(), 1..12), 1..8);
    let result = TestRunner::new(config).run(&history, |history| {
        let (store, _guard) = open();
        block_on(check_history(&store, &history));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

async fn check_history(store: &dyn Store, history: &[Vec<Change>]) {
    let memory = MemoryStore::new(WorkspaceId::default());
    commit_both(store, &memory, foundation()).await;
    let mut older: Option<(Box<dyn Snapshot>, Box<dyn Snapshot>)> = None;
    for changes in history {
        commit_both(store, &memory, batch(changes)).await;
        let found = store.snapshot().await.expect("a snapshot");
        let expected = memory.snapshot().await.expect("a snapshot");
        compare(&*found, &*expected).await;
        // A snapshot from before the newest commit still returns the same results.
        if let Some((found, expected)) = &older {
            compare_searches(&**found, &**expected).await;
        }
        older = Some((found, expected));
    }
    let (found, expected) = older.expect("a history has batches");
    compare_text(&*found, &*expected).await;
}

/// Returns what the record with this number says about an entity or relation: words of the text or other words.
fn said_of(name: &str, number: u32) -> String {
    match number % 3 {
        0 => TEXT[..24].to_owned(),
        1 => format!("{} {name}", &TEXT[4..]),
        _ => format!("{name} number {number}"),
    }
}

/// Returns the description of an entity or relation: what its records say, or something else.
fn described(name: &str, said: u8) -> String {
    let said_of = |number: u8| said_of(name, u32::from(number));
    let number = said / 4 % 3;
    match said % 4 {
        0 => format!("said {said}"),
        1 => said_of(number),
        2 => format!("{}\n{}", said_of(number), said_of(number + 1)),
        _ => format!("{}\nand more\n{}", said_of(number), said_of(number + 2)),
    }
}

/// Returns a batch of things to refer to, so that most random batches are accepted.
fn foundation() -> Batch {
    let mut batch = Batch { embedding: Some(sample::space(3)), ..Batch::default() };
    for number in 0..DOCUMENTS {
        batch.put_extractions.push(sample::extraction(&number.to_string(), "first"));
        let new = document(number, number == 3, 0);
        batch.put_jobs.push(sample::job(&new.document.id, 5));
        batch.put_chunks.extend((0..CHUNKS).map(|ordinal| chunk(number, ordinal, number)));
        batch.put_documents.push(new);
    }
    batch.put_conversations = vec![conversation("0", ""), conversation("1", "")];
    batch
}

async fn commit_both(store: &dyn Store, memory: &MemoryStore, batch: Batch) {
    let expected = outcome(memory.commit(batch.clone()).await);
    let found = outcome(store.commit(batch).await);
    assert_eq!(found, expected);
}

fn outcome(result: Result<Revision, StoreError>) -> Result<Revision, &'static str> {
    result.map_err(|error| match error {
        StoreError::Conflict { .. } => "conflict",
        StoreError::Invalid { .. } => "invalid",
        StoreError::EmbeddingMismatch { .. } => "embedding mismatch",
        other => panic!("the store failed: {other:?}"),
    })
}

fn change() -> impl Strategy<Value = Change> {
    use Change::{
        Activate, Call, Chunk, ChunkContext, Claim, Clear, Conversation, Decision, Document, Embedding,
        EndContext, EndConversation, EndRenewal, Entity, Exchange, Extraction, Fact, Forget, Job, Layer,
        Mention, Node, NodeVector, Original, Queue, Relation, Remember, Remove, RemoveEntity, RemoveLayer,
        RemoveNode, RemoveRelation, Renewal, ReplaceEmbedding, RequireExtraction, RequireGraph, RequireJob,
        RequireLayer, RequireRevision, RequireSource, SetExtraction, Stale, Summaries, Track, Vector,
    };
    let document = 0..DOCUMENTS;
    let place = (0..DOCUMENTS, 0..CHUNKS);
    let required = place.clone();
    let entity = 0..ENTITIES.len();
    let ends = (0..ENTITIES.len(), 1..ENTITIES.len());
    let number = 0..3u32;
    let layer = 0..LAYERS.len();
    let node = (0..LAYERS.len(), 0..8u8);
    let lease = prop::option::of(0..3u8);
    prop_oneof![
        2 => (document.clone(), any::<bool>(), 0..3u8)
            .prop_map(|(document, staged, title)| Document { document, staged, title }),
        2 => document.clone().prop_map(|document| Remove { document }),
        2 => (document.clone(), prop::option::of(any::<u8>()))
            .prop_map(|(document, said)| Original { document, said }),
        1 => document.clone().prop_map(|document| Activate { document }),
        2 => (document.clone(), 0..5u8, lease.clone(), 0..9u8)
            .prop_map(|(document, state, lease, created_at)| Job { document, state, lease, created_at }),
        4 => (place.clone(), 0..6u8)
            .prop_map(|((document, ordinal), extraction)| Chunk { document, ordinal, extraction }),
        2 => (0..5u8, any::<u8>()).prop_map(|(name, said)| Extraction { name, said }),
        2 => (place.clone(), 0..9u8)
            .prop_map(|((document, ordinal), extraction)| SetExtraction { document, ordinal, extraction }),
        3 => (place.clone(), 0..7u8)
            .prop_map(|((document, ordinal), extraction)| Renewal { document, ordinal, extraction }),
        1 => place.clone().prop_map(|(document, ordinal)| EndRenewal { document, ordinal }),
        3 => (place.clone(), 0..3u8, prop::option::of(0..3u8)).prop_map(
            |((document, ordinal), name, said)| ChunkContext { document, ordinal, name, said }
        ),
        1 => place.clone().prop_map(|(document, ordinal)| EndContext { document, ordinal }),
        2 => (0..2u8, document.clone()).prop_map(|(track, document)| Track { track, document }),
        1 => any::<bool>().prop_map(|paused| Queue { paused }),
        1 => place.clone().prop_map(|(document, ordinal)| Clear { document, ordinal }),
        5 => (place.clone(), number.clone(), entity.clone(), any::<bool>()).prop_map(
            |((document, ordinal), number, entity, set_aside)| {
                Mention { document, ordinal, number, entity, set_aside }
            }
        ),
        5 => (place.clone(), number.clone(), ends.clone(), any::<bool>()).prop_map(
            |((document, ordinal), number, ends, set_aside)| Fact { document, ordinal, number, ends, set_aside }
        ),
        4 => (place, number, ends.clone())
            .prop_map(|((document, ordinal), number, ends)| Claim { document, ordinal, number, ends }),
        2 => (0..4u64, entity.clone()).prop_map(|(order, entity)| Decision { order, entity }),
        4 => (entity.clone(), any::<u8>()).prop_map(|(entity, said)| Entity { entity, said }),
        2 => entity.prop_map(|entity| RemoveEntity { entity }),
        4 => (ends.clone(), any::<u8>()).prop_map(|(ends, said)| Relation { ends, said }),
        2 => ends.clone().prop_map(|ends| RemoveRelation { ends }),
        2 => (ends.clone(), prop::collection::vec(0..4u8, 0..3))
            .prop_map(|(ends, names)| Summaries { ends, names }),
        2 => (ends.clone(), any::<bool>()).prop_map(|(ends, is_stale)| Stale { ends, is_stale }),
        2 => (layer.clone(), 0..9u8, any::<bool>())
            .prop_map(|(layer, watermark, complete)| Layer { layer, watermark, complete }),
        1 => layer.prop_map(|layer| RemoveLayer { layer }),
        5 => (node.clone(), any::<u8>()).prop_map(|(node, said)| Node { node, said }),
        1 => node.clone().prop_map(|node| RemoveNode { node }),
        2 => (node, prop::array::uniform3(-2..3i8))
            .prop_map(|(node, values)| NodeVector { node, values }),
        8 => (0..3usize, ends, document.clone(), prop::array::uniform3(-2..3i8))
            .prop_map(|(kind, ends, document, values)| Vector { kind, ends, document, values }),
        1 => any::<u8>().prop_map(|said| Call { said }),
        2 => (0..CacheKind::ALL.len(), 0..3u8, any::<u8>()).prop_map(|(kind, key, said)| Remember { kind, key, said }),
        1 => (0..CacheKind::ALL.len()).prop_map(|kind| Forget { kind }),
        2 => (0..3u8, any::<u8>()).prop_map(|(number, said)| Conversation { number, said }),
        1 => (0..3u8).prop_map(|number| EndConversation { number }),
        4 => (
            0..3u8,
            0..3u32,
            prop::option::of(prop::collection::vec(document.clone(), 0..3)),
            0..9u64,
        )
            .prop_map(|(number, ordinal, rests_on, read_at)| {
                Exchange { number, ordinal, rests_on, read_at }
            }),
        1 => (3..5u32).prop_map(|dimensions| Embedding { dimensions }),
        1 => Just(ReplaceEmbedding),
        1 => (0..9u64).prop_map(|revision| RequireRevision { revision }),
        1 => (document.clone(), 0..5u8, lease, 0..9u8)
            .prop_map(|(document, state, lease, created_at)| RequireJob { document, state, lease, created_at }),
        1 => (required, 0..9u8).prop_map(|((document, ordinal), extraction)| {
            RequireExtraction { document, ordinal, extraction }
        }),
        1 => (0..LAYERS.len(), prop::option::of((0..9u8, any::<bool>())))
            .prop_map(|(layer, known)| RequireLayer { layer, known }),
        1 => (0..9u64).prop_map(|revision| RequireGraph { revision }),
        1 => (document.clone(), prop::collection::vec((document, any::<bool>(), 0..3u8), 0..3))
            .prop_map(|(document, known)| RequireSource { document, known }),
    ]
}

fn batch(changes: &[Change]) -> Batch {
    let mut batch = Batch::default();
    for change in changes.iter().cloned() {
        match change {
            Change::Document { document: number, staged, title } => {
                batch.put_documents.push(document(number, staged, title));
            }
            Change::Remove { document: number } => {
                batch.remove_documents.push(document(number, false, 0).document.id)
            }
            Change::Original { document: number, said } => {
                let document = document(number, false, 0).document.id;
                let bytes = said.map(|said| Arc::new(vec![said; usize::from(said)]));
                batch.set_originals.push(SetOriginal { document, bytes });
            }
            Change::Activate { document: number } => {
                batch.activate_documents.push(document(number, false, 0).document.id);
            }
            Change::Job { document: number, state, lease: holder, created_at } => {
                batch.put_jobs.push(job(number, state, holder, created_at));
            }
            Change::Chunk { document, ordinal, extraction } => {
                batch.put_chunks.push(chunk(document, ordinal, extraction));
            }
            Change::Extraction { name, said } => {
                batch.put_extractions.push(sample::extraction(&name.to_string(), &format!("said {said}")));
            }
            Change::SetExtraction { document, ordinal, extraction } => {
                batch.set_extractions.push((chunk(document, ordinal, 0).id, state(extraction)));
            }
            Change::Renewal { document, ordinal, extraction } => {
                batch.put_renewals.push(sample::renewal(&chunk(document, ordinal, 0).id, state(extraction)));
            }
            Change::EndRenewal { document, ordinal } => {
                batch.remove_renewals.push(chunk(document, ordinal, 0).id);
            }
            Change::ChunkContext { document, ordinal, name, said } => {
                let text =
                    said.map(|said| format!("IndexedTexts in {}", ["Paris", "東京", ""][usize::from(said)]));
                let id = chunk(document, ordinal, 0).id;
                batch.put_chunk_contexts.push(sample::chunk_context(&id, &name.to_string(), text.as_deref()));
            }
            Change::EndContext { document, ordinal } => {
                batch.remove_chunk_contexts.push(chunk(document, ordinal, 0).id);
            }
            Change::Track { track, document: number } => {
                let id = document(number, false, 0).document.id;
                batch.put_tracks.push((sample::track(&track.to_string()), id));
            }
            Change::Queue { paused } => {
                batch.set_queue = Some(match paused {
                    true => QueueState::Paused { since: Timestamp(3) },
                    false => QueueState::Running,
                });
            }
            Change::Clear { document, ordinal } => batch.clear_graph_of.push(chunk(document, ordinal, 0).id),
            Change::Mention { document, ordinal, number, entity, set_aside } => {
                let mut mention = sample::mention(&chunk(document, ordinal, 0).id, number, ENTITIES[entity]);
                mention.set_aside = set_aside;
                mention.description = said_of(ENTITIES[entity], number);
                batch.put_mentions.push(mention);
            }
            Change::Fact { document, ordinal, number, ends, set_aside } => {
                let (one, other) = names(ends);
                let mut fact = sample::fact(&chunk(document, ordinal, 0).id, number, one, other);
                fact.set_aside = set_aside;
                fact.description = said_of(&fact.relation.to_string(), number);
                batch.put_facts.push(fact);
            }
            Change::Claim { document, ordinal, number, ends } => {
                let (one, other) = names(ends);
                let object = Some(other).filter(|_| number != 1);
                batch.put_claims.push(sample::claim(&chunk(document, ordinal, 0).id, number, one, object));
            }
            Change::Decision { order, entity } => {
                batch.put_decisions.push(sample::decision(order, ENTITIES[entity], "decided"));
            }
            Change::Entity { entity, said } => {
                batch.put_entities.push(sample::entity(ENTITIES[entity], &described(ENTITIES[entity], said)));
            }
            Change::RemoveEntity { entity } => batch.remove_entities.push(sample::key(ENTITIES[entity])),
            Change::Relation { ends, said } => {
                let (one, other) = names(ends);
                let description = described(&sample::pair(one, other).to_string(), said);
                batch.put_relations.push(sample::relation(one, other, &description));
            }
            Change::RemoveRelation { ends } => {
                let (one, other) = names(ends);
                batch.remove_relations.push(sample::pair(one, other));
            }
            Change::Summaries { ends, names } => {
                let summaries = names.iter().map(|name| sample::summary(&name.to_string())).collect();
                let owner = if ends.1 == 1 { entity_of(ends) } else { relation_of(ends) };
                batch.set_summaries.push((owner, summaries));
            }
            Change::Stale { ends, is_stale } => {
                let key = if ends.1 == 1 { entity_of(ends) } else { relation_of(ends) };
                batch.set_stale.push((key, is_stale));
            }
            Change::Vector { kind, ends, document, values } => {
                let kind = ItemKind::ALL[kind];
                let id = match kind {
                    ItemKind::Chunk => chunk(document, ends.0 as u32 % CHUNKS, 0).id.to_string(),
                    ItemKind::Entity => ENTITIES[ends.0].to_owned(),
                    ItemKind::Relation => {
                        let (one, other) = names(ends);
                        sample::pair(one, other).to_string()
                    }
                    ItemKind::Node => node((0, document)).key.to_string(),
                };
                batch.put_vectors.push(sample::vector(kind, &id, &values.map(f32::from)));
            }
            Change::NodeVector { node: number, values } => {
                let key = node(number).key;
                batch.put_vectors.push(sample::vector(ItemKind::Node, key.as_str(), &values.map(f32::from)));
            }
            Change::Layer { layer, watermark, complete } => {
                batch.put_layers.push(sample::layer(LAYERS[layer], u64::from(watermark), complete));
            }
            Change::RemoveLayer { layer } => {
                batch.remove_layers.push(LayerName::from_stored(LAYERS[layer]));
            }
            Change::Node { node: number, said } => {
                let mut node = node(number);
                node.text = format!("Written of {said} in Rome");
                batch.put_nodes.push(node);
            }
            Change::RemoveNode { node: number } => batch.remove_nodes.push(node(number).key),
            Change::Call { said } => batch.append_calls.push(call(said)),
            Change::Remember { kind, key, said } => {
                let value = vec![said; usize::from(said)];
                batch.put_cached.push(CacheEntry { kind: CacheKind::ALL[kind], key: cache_key(key), value });
            }
            Change::Forget { kind } => batch.clear_caches.push(CacheKind::ALL[kind]),
            Change::ReplaceEmbedding => batch.replace_embedding = true,
            Change::Conversation { number, said } => {
                batch.put_conversations.push(conversation(&number.to_string(), &said.to_string()));
            }
            Change::EndConversation { number } => {
                batch.remove_conversations.push(conversation(&number.to_string(), "").id);
            }
            Change::Exchange { number, ordinal, rests_on, read_at } => {
                let rests_on = rests_on.map_or(RestsOn::Everything, |numbers| {
                    let id = |number: u8| document(number, false, 0).document.id;
                    RestsOn::Documents(numbers.into_iter().map(id).collect())
                });
                batch.put_exchanges.push(NewExchange {
                    read_at: Revision(read_at),
                    ..exchange(&number.to_string(), ordinal, rests_on)
                });
            }
            Change::Embedding { dimensions } => batch.embedding = Some(sample::space(dimensions)),
            Change::RequireJob { document, state, lease, created_at } => {
                batch.require.push(Require::JobIs(job(document, state, lease, created_at)));
            }
            Change::RequireExtraction { document, ordinal, extraction } => {
                let chunk = chunk(document, ordinal, 0).id;
                batch.require.push(Require::ExtractionIs { chunk, extraction: state(extraction) });
            }
            Change::RequireRevision { revision } => {
                batch.require.push(Require::UnchangedSince(Revision(revision)));
            }
            Change::RequireGraph { revision } => {
                batch.require.push(Require::GraphUnchangedSince(Revision(revision)));
            }
            Change::RequireLayer { layer, known } => {
                let name = LayerName::from_stored(LAYERS[layer]);
                let layer = known.map(|(at, complete)| sample::layer(LAYERS[layer], u64::from(at), complete));
                batch.require.push(Require::LayerIs { name, layer });
            }
            Change::RequireSource { document: number, known } => {
                let source = document(number, false, 0).document.source;
                let documents = known
                    .into_iter()
                    .map(|(known, staged, title)| document(known, staged, title).document)
                    .collect();
                batch.require.push(Require::SourceIs { source, documents });
            }
        }
    }
    batch
}

/// Returns a document. Documents 0 and 2 share a source, and so do 1 and 3, but their texts differ.
fn document(number: u8, staged: bool, title: u8) -> graphloom_core::NewDocument {
    let mut new = sample::document(&format!("source {}", number % 2), &format!("{TEXT} {number}"));
    new.document.title = format!("title {title}");
    if staged { sample::staged(new) } else { new }
}

fn chunk(document_number: u8, ordinal: u32, extraction: u8) -> graphloom_core::Chunk {
    let new = document(document_number, false, 0);
    let span = match ordinal {
        0 => Span::new(0, 11),
        1 => Span::new(8, TEXT.len()),
        _ => Span::new(0, new.text.len()),
    };
    let mut chunk = sample::chunk(&new, ordinal, span);
    chunk.extraction = state(extraction);
    chunk
}

fn node((layer, number): Numbered) -> LayerNode {
    let entity = |at: u8| Member::Entity(sample::key(ENTITIES[usize::from(at)]));
    let members = match number {
        0..4 => vec![entity(number)],
        4 | 5 => vec![Member::Chunk(chunk(number - 4, 1, 0).id)],
        6 => [0, 4]
            .map(|number| Member::Node(node((layer, number)).key))
            .into_iter()
            .chain([entity(3)])
            .collect(),
        _ => vec![Member::Node(node((0, 6)).key), entity(2)],
    };
    LayerNode::new(&LayerName::from_stored(LAYERS[layer]), u32::from(number / 4), members)
}

fn state(extraction: u8) -> ChunkExtraction {
    match extraction {
        0..=4 => ChunkExtraction::Done { key: sample::extraction(&extraction.to_string(), "").key },
        5 => ChunkExtraction::Pending,
        6 | 7 => ChunkExtraction::Damaged {
            key: sample::extraction(&(extraction - 6).to_string(), "").key,
            reason: "1 record cut".to_owned(),
            attempts: 1,
            again: extraction == 7,
        },
        _ => ChunkExtraction::Failed { reason: "timeout".to_owned(), attempts: 3 },
    }
}

fn job(document_number: u8, state: u8, holder: Option<u8>, created_at: u8) -> Job {
    let mut job = sample::job(&document(document_number, false, 0).document.id, u64::from(created_at));
    job.lease = lease(holder);
    job.attempts = u32::from(state);
    job.state = match state {
        0 => JobState::Accepted,
        1 => JobState::Chunked,
        2 => JobState::Merged,
        3 => JobState::Cancelled,
        _ => JobState::Failed { reason: "unreadable".to_owned() },
    };
    job
}

fn lease(holder: Option<u8>) -> Option<Lease> {
    holder.map(|holder| Lease {
        owner: format!("worker {holder}"),
        expires_at: Timestamp(u64::from(holder) * 10),
    })
}

fn call(said: u8) -> Call {
    Call {
        role: if said.is_multiple_of(2) { Role::Extract } else { Role::Embed },
        model: format!("model {said}"),
        prompt_tokens: u64::from(said),
        cached_prompt_tokens: u64::from(said / 2),
        completion_tokens: 2,
        attempts: 1,
        started_at: Timestamp(7),
        duration_ms: 9,
        outcome: match said % 3 {
            0 => CallOutcome::Ok,
            1 => CallOutcome::Truncated,
            _ => CallOutcome::Failed { reason: "refused".to_owned() },
        },
        document: said.is_multiple_of(2).then(|| document(said % DOCUMENTS, false, 0).document.id),
        rejects: u32::from(said % 3),
    }
}

fn cache_key(number: u8) -> ContentHash {
    ContentHash::of(&[number])
}

/// Returns two different entities.
fn names((one, distance): (usize, usize)) -> (&'static str, &'static str) {
    (ENTITIES[one], ENTITIES[(one + distance) % ENTITIES.len()])
}

fn entity_of((one, _): (usize, usize)) -> GraphKey {
    GraphKey::Entity(sample::key(ENTITIES[one]))
}

fn relation_of(ends: (usize, usize)) -> GraphKey {
    let (one, other) = names(ends);
    GraphKey::Relation(sample::pair(one, other))
}
