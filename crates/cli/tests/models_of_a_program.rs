//! A workspace that a program built with its own model or embedder, which no setting can name.

use std::sync::Arc;

use graphloom::model::{
    ChatEvent, ChatRequest, ChatStream, Completion, Embedder, Embeddings, FinishReason, LanguageModel,
    ModelError, Purpose, Usage, async_trait, stream_of,
};
use graphloom::{Builder, Graphloom as Library};

use crate::common::Graphloom;

struct Own;

#[async_trait]
impl LanguageModel for Own {
    fn name(&self) -> &str {
        "first-line"
    }

    async fn chat(&self, _: ChatRequest) -> Result<ChatStream, ModelError> {
        let done = Completion { finish: FinishReason::Stop, usage: Usage::default(), attempts: 1 };
        Ok(stream_of([ChatEvent::Delta("Says the program.".to_owned()), ChatEvent::Done(done)]))
    }
}

#[async_trait]
impl Embedder for Own {
    fn name(&self) -> &str {
        "letters"
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        Ok(26)
    }

    async fn embed(&self, _: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        let count =
            |text: &String, letter: u8| 0.1 + text.bytes().filter(|byte| *byte == letter).count() as f32;
        let vectors = texts.iter().map(|text| (b'a'..=b'z').map(|letter| count(text, letter)).collect());
        Ok(Embeddings { vectors: vectors.collect(), usage: Usage::default(), attempts: 0 })
    }
}

/// Returns a folder with a workspace that a program built.
fn built_by_program(own: impl FnOnce(Builder) -> Builder) -> Graphloom {
    let graphloom = Graphloom::new();
    graphloom.write("b.md", "Nils Quant leads the harbour of Ostmark.\n");
    let builder = own(Library::open(graphloom.path(".graphloom/default.graphloom")));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let library = builder.build().await.expect("opened");
        library.add_text("a.md", "Clara Voss designed the Lind bridge.").await.expect("added");
    });
    graphloom
}

#[test]
fn the_command_line_can_read_and_ask_a_workspace_built_with_a_programs_own_model() {
    let graphloom = built_by_program(|builder| builder.llm(Arc::new(Own)));
    let asked = graphloom.run(&["ask", "Who designed the Lind bridge?"]).exits(0);
    assert!(asked.stdout.contains("Clara Voss designed the Lind bridge."), "{}", asked.stdout);
    assert!(asked.stderr.contains("built with the model first-line, which only its program has"));
    graphloom.run(&["status"]).exits(0).says("built with  first-line");
    graphloom.run(&["export"]).exits(0).says("Clara Voss");
    graphloom.run(&["search", "bridge"]).exits(0).says("a.md");
    graphloom.run(&["doctor"]).exits(0).says("first-line is missing");
}

#[test]
fn the_command_line_builds_without_a_programs_own_model_only_after_a_switch() {
    let graphloom = built_by_program(|builder| builder.llm(Arc::new(Own)));
    let before = graphloom.hash();
    let refused = graphloom.run(&["add", "b.md"]).exits(2);
    refused.says("the workspace is built with its program's own model first-line").says("--switch");
    for command in [["derive", "communities"].as_slice(), &["re-extract", "a.md"]] {
        graphloom.run(command).exits(2).says("its program's own model first-line").says("--llm none");
    }
    assert_eq!(graphloom.hash(), before);
    graphloom.run(&["--llm", "none", "derive", "communities"]).exits(0);
    graphloom.run(&["add", "b.md", "--switch"]).exits(0);
    graphloom.run(&["add", "b.md"]).exits(0);
    graphloom.run(&["ask", "Who leads the harbour?"]).exits(0).says("Nils Quant");
}

#[test]
fn without_a_programs_own_embedder_keyword_search_works_and_adding_is_refused() {
    let graphloom = built_by_program(|builder| builder.own_embedder(Arc::new(Own)));
    let asked = graphloom.run(&["ask", "Who designed the Lind bridge?"]).exits(0);
    assert!(asked.stdout.contains("Clara Voss designed the Lind bridge."), "{}", asked.stdout);
    assert!(asked.stderr.contains("built with the embedder letters, which only its program has"));
    graphloom.run(&["add", "b.md"]).exits(2).says("its program's own model letters");
    graphloom.run(&["doctor"]).exits(0).says("letters is missing");
    for command in [["add", "b.md", "--switch"].as_slice(), &["rm", "a.md"]] {
        graphloom.run(command).exits(2).says("embedded with letters").says("graphloom re-embed EMBEDDER");
    }
    graphloom.run(&["re-embed", "builtin"]).exits(0);
    graphloom.run(&["add", "b.md"]).exits(0);
}
