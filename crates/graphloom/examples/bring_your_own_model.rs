//! Answers with your own LLM: anything that implements `LanguageModel`.

use std::sync::Arc;

use graphloom::model::{
    ChatEvent, ChatRequest, ChatStream, Completion, FinishReason, Usage, async_trait, stream_of,
};
use graphloom::{Graphloom, LanguageModel, ModelError};

/// Answers every question with the number of its words.
struct WordCounter;

#[async_trait]
impl LanguageModel for WordCounter {
    fn name(&self) -> &str {
        "word-counter"
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let asked = request.messages.last().map(|message| message.content.clone()).unwrap_or_default();
        let answer = format!("The question has {} words.", asked.split_whitespace().count());
        // An answer is a series of pieces followed by its token usage.
        let done = Completion { finish: FinishReason::Stop, usage: Usage::default(), attempts: 1 };
        Ok(stream_of([ChatEvent::Delta(answer), ChatEvent::Done(done)]))
    }
}

#[tokio::main]
async fn main() -> graphloom::Result<()> {
    let place = tempfile::tempdir()?;
    let path = place.path().join("example.graphloom");
    // Rules extract the graph, and the model answers.
    let graph =
        Graphloom::open(path).setting("extract_llm", "none").llm(Arc::new(WordCounter)).build().await?;
    graph.add_text("a.txt", "Clara Voss designed the Lind bridge.").await?;
    println!("{}", graph.ask("Who designed the Lind bridge?").await?.text);
    Ok(())
}
