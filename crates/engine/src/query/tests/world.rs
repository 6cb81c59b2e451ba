//! A small library with a hand-made graph, an embedder that hashes words, and models with scripted responses.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::StreamExt;
use graphloom_core::*;
use graphloom_storage::memory::MemoryStore;

use crate::{Engine, Models};
use graphloom_text::{Tokenizer, entity_key};

/// Dimensions of the test embedder's vectors.
const DIMENSIONS: usize = 256;

/// An engine over a library.
pub(super) struct World {
    pub(super) engine: Engine,
    pub(super) embedder: Arc<WordHashes>,
    pub(super) store: Arc<MemoryStore>,
    batch: Batch,
    entities: BTreeMap<EntityKey, Entity>,
}

impl World {
    /// Returns a world without documents.
    pub(super) fn empty() -> Self {
        let embedder = Arc::new(WordHashes::default());
        let store = Arc::new(MemoryStore::new(WorkspaceId::default()));
        let models = Models::offline(embedder.clone());
        let engine = Engine::new(store.clone(), models, Arc::new(Ticks::default()));
        Self { engine, embedder, store, batch: Batch::default(), entities: BTreeMap::new() }
    }

    /// Returns a world with two documents, four chunks, five entities and four relations.
    pub(super) async fn library() -> Self {
        let mut world = Self::empty();
        world.document("ada.md", &ADA);
        world.document("london.md", &LONDON);
        world.entity("Ada Lovelace", "Person", "Mathematician who wrote notes.", &[ADA[0], LONDON[0]]);
        world.entity(
            "Analytical Engine",
            "Artifact",
            "Mechanical computer made of brass.",
            &[ADA[0], ADA[1]],
        );
        world.entity("Charles Babbage", "Person", "Inventor with a workshop.", &[ADA[1]]);
        world.entity("Mary Somerville", "Person", "Teacher of science.", &[LONDON[0]]);
        world.entity("London", "Location", "City on the Thames.", &[ADA[1], LONDON[1]]);
        world.relation(
            "Ada Lovelace",
            "Analytical Engine",
            "authorship",
            "She described its programs.",
            2.0,
            &[ADA[0]],
        );
        world.relation(
            "Charles Babbage",
            "Analytical Engine",
            "invention",
            "He drew its plans.",
            1.0,
            &[ADA[1]],
        );
        world.relation(
            "Ada Lovelace",
            "Mary Somerville",
            "education",
            "One tutored the other.",
            1.0,
            &[LONDON[0]],
        );
        world.relation("Charles Babbage", "London", "residence", "He lived there.", 1.0, &[ADA[1]]);
        world.commit().await;
        world
    }

    /// Adds a live document whose chunks are `paragraphs`.
    pub(super) fn document(&mut self, source: &str, paragraphs: &[&str]) {
        let text = paragraphs.join("\n\n");
        let content_hash = ContentHash::of(text.as_bytes());
        let id = DocumentId::new(source, &content_hash);
        let mut start = 0;
        for (ordinal, paragraph) in (0u32..).zip(paragraphs) {
            let span = Span::new(start, start + paragraph.len());
            let chunk = ChunkId::new(&id, ordinal, span.start, span.end);
            self.batch.put_chunks.push(Chunk {
                id: chunk.clone(),
                document: id.clone(),
                ordinal,
                span,
                token_count: Tokenizer.count(paragraph),
                breadcrumb: Vec::new(),
                text: (*paragraph).to_owned(),
                extraction: ChunkExtraction::Pending,
            });
            self.vector(ItemKey::Chunk(chunk.clone()), paragraph);
            start += paragraph.len() + 2;
        }
        let document = Document {
            id,
            source: source.to_owned(),
            title: source.trim_end_matches(".md").to_owned(),
            content_hash,
            text_bytes: text.len() as u64,
            format: Format::Markdown,
            encoding: "UTF-8".to_owned(),
            lines_match_source: true,
            parts: Vec::new(),
            remarks: Vec::new(),
            meta: BTreeMap::new(),
            visibility: Visibility::Live,
            added_at: Timestamp(0),
        };
        self.batch.put_documents.push(NewDocument { document, text });
    }

    /// Adds an entity that the chunks with these texts mention.
    pub(super) fn entity(&mut self, name: &str, kind: &str, description: &str, chunks: &[&str]) {
        let key = key_of(name);
        for text in chunks {
            let chunk = self.chunk(text);
            let ordinal =
                self.batch.put_mentions.iter().filter(|mention| mention.chunk == chunk).count() as u32;
            self.batch.put_mentions.push(Mention {
                chunk,
                ordinal,
                entity: key.clone(),
                name: name.to_owned(),
                kind: kind.to_owned(),
                description: description.to_owned(),
                span: None,
                set_aside: false,
            });
        }
        self.vector(ItemKey::Entity(key.clone()), &format!("{name}\n{description}"));
        let entity = Entity {
            key: key.clone(),
            name: name.to_owned(),
            kind: kind.to_owned(),
            description: description.to_owned(),
            mention_count: chunks.len() as u32,
            degree: 0,
            inputs_hash: ContentHash::of(description.as_bytes()),
        };
        self.entities.insert(key, entity);
    }

    /// Adds a relation that the chunks with these texts state.
    pub(super) fn relation(
        &mut self,
        one: &str,
        other: &str,
        keyword: &str,
        description: &str,
        weight: f64,
        chunks: &[&str],
    ) {
        let key = RelationKey::new(key_of(one), key_of(other)).expect("two ends");
        for text in chunks {
            let chunk = self.chunk(text);
            let ordinal = self.batch.put_facts.iter().filter(|fact| fact.chunk == chunk).count() as u32;
            self.batch.put_facts.push(Fact {
                chunk,
                ordinal,
                relation: key.clone(),
                source: one.to_owned(),
                target: other.to_owned(),
                source_is_a: *key.a() == key_of(one),
                keywords: vec![keyword.to_owned()],
                description: description.to_owned(),
                weight,
                set_aside: false,
            });
        }
        for end in key.ends() {
            self.entities.get_mut(end).expect("entities come before relations").degree += 1;
        }
        self.vector(ItemKey::Relation(key.clone()), &format!("{keyword}\t{one}\n{other}\n{description}"));
        self.batch.put_relations.push(Relation {
            key,
            keywords: vec![keyword.to_owned()],
            description: description.to_owned(),
            weight,
            fact_count: chunks.len() as u32,
            inputs_hash: ContentHash::of(description.as_bytes()),
        });
    }

    /// Removes the vector of a chunk.
    pub(super) fn forget_vector(&mut self, chunk: &str) {
        let id = self.chunk(chunk);
        self.batch.put_vectors.retain(|row| row.entry.item.id() != id.as_str());
    }

    /// Stores everything added so far.
    pub(super) async fn commit(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        batch.embedding =
            Some(EmbeddingSpec { model: "word-hashes".to_owned(), dimensions: DIMENSIONS as u32 });
        batch.put_entities = std::mem::take(&mut self.entities).into_values().collect();
        self.engine.store.commit(batch).await.expect("a valid batch");
    }

    /// Removes a document with everything that depends on it, except views, which become stale.
    pub(super) async fn remove(&self, document: &DocumentId) {
        let snapshot = self.engine.store.snapshot().await.expect("a snapshot");
        let chunks = snapshot.chunks_of(std::slice::from_ref(document)).await.expect("chunks");
        let chunks: Vec<ChunkId> = chunks.into_iter().flatten().map(|chunk| chunk.id).collect();
        let keys = snapshot.graph_keys_of(&chunks).await.expect("keys");
        let set_stale = keys.into_iter().map(|key| (key, true)).collect();
        let batch = Batch { remove_documents: vec![document.clone()], set_stale, ..Batch::default() };
        self.engine.store.commit(batch).await.expect("a valid batch");
    }

    /// Sets an answer model that replies with these deltas, one list per request.
    pub(super) fn answering(&mut self, answers: &[&[&str]]) -> Arc<Scripted> {
        let model = Arc::new(Scripted::new("test:answers", answers));
        self.engine.models.answer = Some(model.clone());
        model
    }

    /// Sets such an answer model with another name.
    pub(super) fn answering_as(&mut self, name: &str, answers: &[&[&str]]) {
        self.engine.models.answer = Some(Arc::new(Scripted::new(name, answers)));
    }

    /// Sets an answer model that fails.
    pub(super) fn failing_answers(&mut self) {
        self.engine.models.answer = Some(Arc::new(Failing));
    }

    /// Sets a keyword model that fails.
    pub(super) fn failing_keywords(&mut self) {
        self.engine.models.keywords = Some(Arc::new(Failing));
    }

    /// Makes the store read-only.
    pub(super) fn refusing_to_write(&mut self) {
        self.engine.store = Arc::new(ReadOnly(self.engine.store.clone()));
    }

    /// Sets a keyword model with these answers.
    pub(super) fn finding_keywords(&mut self, answers: &[&str]) -> Arc<Scripted> {
        let answers: Vec<&[&str]> = answers.iter().map(std::slice::from_ref).collect();
        let model = Arc::new(Scripted::new("test:keywords", &answers));
        self.engine.models.keywords = Some(model.clone());
        model
    }

    /// Sets a reranker that scores a passage by how often it contains `word`, or fails if there is no word.
    pub(super) fn reranking_by(&mut self, word: Option<&str>) -> Arc<WordCounter> {
        let reranker = Arc::new(WordCounter { word: word.map(str::to_owned), asked: Mutex::default() });
        self.engine.models.reranker = Some(reranker.clone());
        reranker
    }

    fn chunk(&self, text: &str) -> ChunkId {
        let chunk = self.batch.put_chunks.iter().find(|chunk| chunk.text == text);
        chunk.expect("the chunk was added before").id.clone()
    }

    fn vector(&mut self, item: ItemKey, text: &str) {
        let entry = VectorEntry { item, inputs_hash: ContentHash::of(text.as_bytes()) };
        self.batch.put_vectors.push(VectorRow { entry, vector: word_hashes(text) });
    }
}

/// Chunks of the first document.
pub(super) const ADA: [&str; 2] = [
    "Ada Lovelace wrote notes on the Analytical Engine. The notes hold \"a program\".",
    "Charles Babbage designed the Analytical Engine in London. It was never built.",
];

/// Chunks of the second document.
pub(super) const LONDON: [&str; 2] = [
    "Mary Somerville taught Ada Lovelace mathematics. Letters survive.",
    "London hosted the Great Exhibition in 1851. Six million visitors came.",
];

/// Embeds a text as the set of its words, each a hashed dimension, so that cosine is the share of common words.
#[derive(Default)]
pub(super) struct WordHashes {
    /// Texts embedded so far.
    pub(super) texts: Mutex<Vec<Vec<String>>>,
    /// True if every request fails.
    pub(super) fails: AtomicBool,
}

#[async_trait]
impl Embedder for WordHashes {
    fn name(&self) -> &str {
        "word-hashes"
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        Ok(DIMENSIONS as u32)
    }

    fn is_lexical(&self) -> bool {
        true
    }

    async fn embed(&self, _: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        self.texts.lock().expect("no test panics here").push(texts.to_vec());
        if self.fails.load(Ordering::Relaxed) {
            return Err(ModelError::Timeout { model: Embedder::name(self).to_owned(), idle_ms: 5 });
        }
        let vectors = texts.iter().map(|text| word_hashes(text)).collect();
        Ok(Embeddings { vectors, usage: Usage { prompt_tokens: 7, ..Usage::default() }, attempts: 1 })
    }
}

fn word_hashes(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0f32; DIMENSIONS];
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words.map(str::to_lowercase).collect::<BTreeSet<_>>() {
        let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        vector[(hash >> 20) as usize % DIMENSIONS] = 1.0;
    }
    let length = vector.iter().sum::<f32>().sqrt().max(1.0);
    vector.iter().map(|x| x / length).collect()
}

/// Scores a passage by how often it contains a word, and keeps the requests.
pub(super) struct WordCounter {
    word: Option<String>,
    pub(super) asked: Mutex<Vec<(String, Vec<String>)>>,
}

#[async_trait]
impl Reranker for WordCounter {
    fn name(&self) -> &str {
        "test:reranker"
    }

    async fn rerank(&self, query: &str, passages: &[String]) -> Result<Reranking, ModelError> {
        self.asked.lock().expect("no test panics here").push((query.to_owned(), passages.to_vec()));
        let model = self.name().to_owned();
        let Some(word) = &self.word else {
            return Err(ModelError::Unauthorized { model, what: "no such key".to_owned() });
        };
        let scores = passages.iter().map(|passage| passage.matches(word.as_str()).count() as f32).collect();
        Ok(Reranking { scores, usage: Usage { prompt_tokens: 5, ..Usage::default() }, attempts: 1 })
    }
}

/// Answers each request with the next prepared deltas, and keeps the requests.
pub(super) struct Scripted {
    name: String,
    answers: Mutex<VecDeque<Vec<String>>>,
    requests: Mutex<Vec<ChatRequest>>,
    calls: AtomicUsize,
}

impl Scripted {
    fn new(name: &str, answers: &[&[&str]]) -> Self {
        let owned = |deltas: &&[&str]| deltas.iter().map(|delta| (*delta).to_owned()).collect();
        Self {
            name: name.to_owned(),
            answers: Mutex::new(answers.iter().map(owned).collect()),
            requests: Mutex::default(),
            calls: AtomicUsize::new(0),
        }
    }

    /// Returns the number of requests.
    pub(super) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns the requests.
    pub(super) fn requests(&self) -> Vec<ChatRequest> {
        self.requests.lock().expect("no test panics here").clone()
    }
}

#[async_trait]
impl LanguageModel for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.requests.lock().expect("no test panics here").push(request);
        let deltas =
            self.answers.lock().expect("no test panics here").pop_front().expect("an answer is prepared");
        let usage = Usage { prompt_tokens: 10, completion_tokens: 3, ..Usage::default() };
        let done = ChatEvent::Done(Completion { finish: FinishReason::Stop, usage, attempts: 1 });
        let events = deltas.into_iter().map(ChatEvent::Delta).chain([done]).map(Ok);
        Ok(futures::stream::iter(events.collect::<Vec<_>>()).boxed())
    }
}

/// A read-only store.
struct ReadOnly(Arc<dyn Store>);

#[async_trait]
impl Store for ReadOnly {
    fn fault(&self) -> Option<String> {
        self.0.fault()
    }

    fn workspace(&self) -> &WorkspaceId {
        self.0.workspace()
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.0.snapshot().await
    }

    async fn commit(&self, _: Batch) -> Result<Revision, StoreError> {
        Err(StoreError::Backend { operation: "committing".to_owned(), source: "read-only".into() })
    }

    async fn graph_turn(&self) -> Result<GraphTurn, StoreError> {
        self.0.graph_turn().await
    }

    async fn summaries_turn(&self) -> Result<Option<GraphTurn>, StoreError> {
        self.0.summaries_turn().await
    }

    async fn workers(&self) -> Result<usize, StoreError> {
        self.0.workers().await
    }
}

/// Fails every request.
struct Failing;

#[async_trait]
impl LanguageModel for Failing {
    fn name(&self) -> &str {
        "test:failing"
    }

    async fn chat(&self, _: ChatRequest) -> Result<ChatStream, ModelError> {
        Err(ModelError::Timeout { model: self.name().to_owned(), idle_ms: 5 })
    }
}

/// A clock that advances one millisecond whenever it is read.
#[derive(Default)]
struct Ticks(AtomicU64);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn key_of(name: &str) -> EntityKey {
    entity_key(name).expect("a name")
}
