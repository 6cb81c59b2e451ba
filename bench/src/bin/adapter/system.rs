//! An open workspace and the harness's operations on it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures::{StreamExt, stream};
use graphloom::SystemClock;
use graphloom_core::{DocumentId, WorkspaceId};
use graphloom_engine::chunk_context::ContextWriter;
use graphloom_engine::extract::Gleaning;
use graphloom_engine::index::{self, Acceptance, IndexConfig, Source};
use graphloom_engine::query::{self, Mode, QueryCaches, Question};
use graphloom_engine::{Engine, Models};
use graphloom_providers::builtin::BuiltinEmbedder;
use graphloom_providers::http::{HttpClient, HttpConfig};
use graphloom_providers::openai::{
    OpenAiChat, OpenAiChatConfig, OpenAiEmbedder, OpenAiEmbedderConfig, OutputLimitField,
};
use graphloom_providers::{EmbedBatching, Endpoint, Secret};
use graphloom_storage::sqlite::SqliteStore;

use crate::dump;
use crate::passage_of;
use crate::protocol::{AdapterHits, Auto, Dump, Item, Options, Passage, Passes};

/// The modes the harness may ask for.
pub(crate) const MODES: &[&str] = &["auto", "ppr", "naive", "local", "global", "hybrid", "mix"];

/// Sources per commit; limits the memory for a large corpus.
const ACCEPT_BATCH: usize = 64;
const CHAT_MODEL: &str = "gpt-4o-mini";
const EMBEDDING_MODEL: &str = "text-embedding-3-small";

/// One open workspace.
pub(crate) struct System {
    engine: Arc<Engine>,
    store: Arc<SqliteStore>,
    cold: bool,
}

impl System {
    /// Opens the workspace in `workdir` with the models of the replay server, or with rules if `offline` is set.
    pub(crate) async fn open(workdir: &Path, server: &str, options: &Options) -> anyhow::Result<Self> {
        let store = SqliteStore::open(workdir, WorkspaceId::default()).context("opening the workspace")?;
        let store = Arc::new(store);
        let models = if options.offline { offline() } else { replayed(server)? };
        let mut config = IndexConfig::default();
        if let Some(calls) = options.concurrency {
            config.max_concurrent_calls = calls;
        }
        if let Some(documents) = options.documents {
            config.max_concurrent_documents = documents;
        }
        match options.gleaning {
            Some(Passes::Number(passes)) => config.extract.gleaning = Gleaning::Passes(passes),
            Some(Passes::Word(Auto::Auto)) | None => {}
        }
        if options.chunk_tokens.is_some() {
            config.chunk.max_chunk_tokens = options.chunk_tokens;
        }
        let engine = Engine { index: config, ..Engine::new(store.clone(), models, Arc::new(SystemClock)) };
        Ok(Self { engine: Arc::new(engine), store, cold: options.cold })
    }

    /// Accepts all passages, indexes until no job is left, and counts documents by status.
    pub(crate) async fn index(
        &self,
        passages: Vec<Passage>,
    ) -> anyhow::Result<BTreeMap<&'static str, usize>> {
        let mut passages = passages.into_iter().peekable();
        while passages.peek().is_some() {
            let batch: Vec<Source> = passages.by_ref().take(ACCEPT_BATCH).map(source).collect();
            let names: Vec<String> = batch.iter().map(|source| source.name.clone()).collect();
            for (name, acceptance) in names.iter().zip(index::accept(&self.engine, batch).await?) {
                if let Acceptance::Refused { reason, .. } = acceptance {
                    bail!("{name} was refused: {reason}");
                }
            }
        }
        self.work().await
    }

    /// Queues failures again and indexes until no job is left.
    pub(crate) async fn retry(&self) -> anyhow::Result<BTreeMap<&'static str, usize>> {
        let ids = dump::document_ids(self.engine.store.snapshot().await?.as_ref()).await?;
        index::retry(&self.engine, &ids, None).await?;
        self.work().await
    }

    /// Retrieves for every question, `concurrency` at a time, and measures each retrieval.
    pub(crate) async fn query(
        &self,
        items: Vec<Item>,
        concurrency: usize,
        top_k: usize,
    ) -> anyhow::Result<Vec<AdapterHits>> {
        let tasks = stream::iter(items).map(|item| {
            let engine = match self.cold {
                true => Arc::new(Engine { caches: QueryCaches::default(), ..Engine::clone(&self.engine) }),
                false => Arc::clone(&self.engine),
            };
            tokio::spawn(async move {
                let started = Instant::now();
                let found = retrieve(&engine, &item, top_k).await;
                let latency_s = started.elapsed().as_secs_f64();
                let error = found.as_ref().err().map(|error| format!("{error:#}"));
                AdapterHits {
                    id: item.id,
                    mode: item.mode,
                    passages: found.unwrap_or_default(),
                    latency_s,
                    error,
                }
            })
        });
        let mut tasks = tasks.buffered(concurrency.max(1));
        let mut results = Vec::new();
        while let Some(result) = tasks.next().await {
            results.push(result.context("a question's task ended early")?);
        }
        Ok(results)
    }

    /// Answers one question.
    pub(crate) async fn answer(&self, text: String, mode: &str) -> anyhow::Result<String> {
        let question = Question { text, mode: parse_mode(mode)?, ..Question::default() };
        let retrieval = query::retrieve(&self.engine, &question).await?;
        Ok(query::answer(&self.engine, &question, &retrieval, &mut |_| {}).await?.text)
    }

    /// Removes the documents of one passage.
    pub(crate) async fn delete(&self, passage: &str) -> anyhow::Result<()> {
        let name = source_name(passage);
        let snapshot = self.engine.store.snapshot().await?;
        let documents = snapshot.documents_of_sources(&[name]).await?;
        drop(snapshot);
        let ids: Vec<DocumentId> = documents.into_iter().flatten().map(|document| document.id).collect();
        if ids.is_empty() {
            bail!("no document of passage {passage}");
        }
        index::delete(&self.engine, &ids).await?;
        Ok(())
    }

    /// Returns the whole state.
    pub(crate) async fn dump(&self) -> anyhow::Result<Dump> {
        Ok(dump::dump(self.engine.store.snapshot().await?.as_ref()).await?)
    }

    async fn work(&self) -> anyhow::Result<BTreeMap<&'static str, usize>> {
        // A killed process leaves leases in this worker's name; a run takes them over.
        index::run(&self.engine, &|_| {}, &|_| false).await?;
        // As at the end of `graphloom add`.
        self.store.catch_up()?;
        Ok(dump::statuses(self.engine.store.snapshot().await?.as_ref()).await?)
    }
}

/// How long indexing waits for a service that is down, as `graphloom add` does.
const MAX_PAUSE: Duration = Duration::from_secs(900);

/// Returns rules for every role, and the built-in embedder.
fn offline() -> Models {
    Models::offline(Arc::new(BuiltinEmbedder))
}

/// Returns the models of the replay server for every role.
fn replayed(server: &str) -> anyhow::Result<Models> {
    let config = HttpConfig { max_pause: MAX_PAUSE, ..HttpConfig::default() };
    let http = Arc::new(HttpClient::new(config));
    let base = format!("{}/v1", server.trim_end_matches('/'));
    let endpoint = Endpoint::new("openai", base).with_key(Some(Secret::new("replay")));
    let chat = OpenAiChatConfig {
        endpoint: endpoint.clone(),
        model: CHAT_MODEL.to_owned(),
        temperature: None,
        output_limit_field: OutputLimitField::Auto,
    };
    let embedder = OpenAiEmbedderConfig {
        endpoint,
        model: EMBEDDING_MODEL.to_owned(),
        dimensions: None,
        batching: EmbedBatching::default(),
    };
    let chat = Arc::new(OpenAiChat::new(Arc::clone(&http), chat)?);
    let embedder = OpenAiEmbedder::new(http, embedder)?;
    Ok(Models {
        extract: Some(chat.clone()),
        context_writer: ContextWriter::Off,
        keywords: Some(chat.clone()),
        summarize: Some(chat.clone()),
        answer: Some(chat),
        embedder: Arc::new(embedder),
        reranker: None,
        sentence_scorer: None,
    })
}

async fn retrieve(engine: &Engine, item: &Item, top_k: usize) -> anyhow::Result<Vec<String>> {
    let question = Question {
        text: item.question.clone(),
        mode: parse_mode(&item.mode)?,
        chunk_top_k: top_k,
        ..Question::default()
    };
    let retrieval = query::retrieve(engine, &question).await?;
    let sources: BTreeMap<u32, &str> =
        retrieval.references.iter().map(|reference| (reference.number, reference.source.as_str())).collect();
    let mut seen = BTreeSet::new();
    let ranked = retrieval.chunks.iter().filter_map(|found| sources.get(&found.reference).copied());
    Ok(ranked.filter(|source| seen.insert(*source)).map(|source| passage_of(source).to_owned()).collect())
}

fn parse_mode(name: &str) -> anyhow::Result<Mode> {
    serde_json::from_value(serde_json::Value::String(name.to_owned()))
        .with_context(|| format!("mode {name:?}"))
}

fn source(passage: Passage) -> Source {
    Source {
        name: source_name(&passage.id),
        bytes: passage.text.into_bytes(),
        format: None,
        meta: BTreeMap::new(),
    }
}

fn source_name(passage: &str) -> String {
    format!("{passage}.txt")
}
