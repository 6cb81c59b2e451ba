//! Everything needed to implement your own model: the traits, their types, and `async_trait`.

pub use async_trait::async_trait;
use futures::{StreamExt, stream};
pub use graphloom_core::{
    ChatEvent, ChatMessage, ChatRequest, ChatRole, ChatStream, Completion, Embedder, Embeddings,
    FinishReason, LanguageModel, ModelError, Purpose, Reranker, Reranking, Usage,
};

/// Returns a finished answer as a stream. The last event is [`ChatEvent::Done`].
pub fn stream_of(events: impl IntoIterator<Item = ChatEvent, IntoIter: Send + 'static>) -> ChatStream {
    stream::iter(events.into_iter().map(Ok)).boxed()
}
