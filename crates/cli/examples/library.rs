//! Indexes one text and answers a question about it, without the command line: the smallest program on the library.
//!
//! `cargo run -p graphloom-cli --example library`

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use graphloom_core::{Clock, Timestamp, WorkspaceId};
use graphloom_engine::index::{self, IndexConfig, Source};
use graphloom_engine::prompt::Prompts;
use graphloom_engine::query::{self, QueryCaches, Question};
use graphloom_engine::situate::Situator;
use graphloom_engine::text::Tokenizer;
use graphloom_engine::{Engine, Models};
use graphloom_providers::builtin::BuiltinEmbedder;
use graphloom_storage::sqlite::SqliteStore;

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join("graphloom-library-example");
    let engine = Engine {
        store: Arc::new(SqliteStore::open(&folder, WorkspaceId::default())?),
        // `None` is the offline default of a role: rules, and sentences copied from the documents.
        models: Models {
            extract: None,
            situator: Situator::Off,
            keywords: None,
            summarize: None,
            answer: None,
            embedder: Arc::new(BuiltinEmbedder),
            reranker: None,
        },
        clock: Arc::new(SystemClock),
        tokenizer: Tokenizer,
        prompts: Prompts::default(),
        index: IndexConfig::default(),
        caches: QueryCaches::default(),
    };

    let source = Source {
        name: "bridge.txt".to_owned(),
        bytes: b"Clara Voss opened the Lind bridge in 1931.".to_vec(),
        format: None,
        meta: BTreeMap::new(),
    };
    // After `accept` the document is on disk; `run` indexes everything that waits.
    index::accept(&engine, vec![source]).await?;
    index::run(&engine, &|_| {}, &|_| false).await?;

    let question = Question { text: "Who opened the Lind bridge?".to_owned(), ..Question::default() };
    let retrieval = query::retrieve(&engine, &question).await?;
    let answer = query::answer(&engine, &question, &retrieval, &mut |_| {}).await?;
    query::record(&engine, [&retrieval.spent, &answer.spent]).await?;

    let mut out = io::stdout().lock();
    writeln!(out, "{}", answer.text)?;
    for citation in &answer.citations {
        writeln!(out, "[{}] {}:{}", citation.number, citation.source, citation.lines.0)?;
    }
    Ok(())
}
