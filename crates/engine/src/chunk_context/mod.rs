//! Writes the context of chunks: a short text about a chunk's place in its document, indexed before the chunk's own
//! text.
//!
//! A chunk with "its revenue grew by 3%" matches neither the name nor the vector of the company. Source:
//! Anthropic, "Introducing Contextual Retrieval", 2024. docs/methods/contextual.md lists the differences.

mod part;

use std::sync::Arc;

use graphloom_core::{
    Call, CallOutcome, ChatMessage, ChatRequest, ChatRole, Chunk, ChunkContext, ChunkContextKey, Clock,
    Document, DocumentId, LanguageModel, ModelError, Role,
};

use crate::extract::{after_thinking, ask};
use crate::prompt::{CONTEXT_DOCUMENT, CONTEXT_PASSAGE, Prompts};
use graphloom_text::Tokenizer;
use part::Parts;
pub use part::{HEAD_TOKENS, MAX_DOCUMENT_TOKENS};

/// The name of the rule that writes contexts from the title and headings.
pub const HEADINGS: &str = "headings";
/// Maximum tokens of a context; a longer one would drown out the chunk's own words.
pub const MAX_CONTEXT_TOKENS: u32 = 256;
/// Maximum characters of a title.
const MAX_TITLE_CHARS: usize = 80;
/// Output limit of an answer in tokens, as in the source. A model that uses it up on thinking is asked again with
/// [`THINKING_OUTPUT_TOKENS`].
const OUTPUT_TOKENS: u32 = 1000;
const THINKING_OUTPUT_TOKENS: u32 = 8000;

/// Writes the contexts of chunks.
#[derive(Clone, Default)]
pub enum ContextWriter {
    /// Writes none: chunks are indexed without context.
    #[default]
    Off,
    /// Uses the document's title and the headings above the chunk.
    Headings,
    /// Asks an LLM that reads the document with the chunk.
    Model(Arc<dyn LanguageModel>),
}

impl ContextWriter {
    /// Returns the name of the writer; `None` if it writes no contexts.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Off => None,
            Self::Headings => Some(HEADINGS),
            Self::Model(model) => Some(model.name()),
        }
    }
}

/// How one chunk gets its context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContextTask {
    /// No context.
    Nothing,
    /// This text, which costs nothing.
    Words {
        /// The key that it is stored under.
        key: ChunkContextKey,
        /// The context.
        text: String,
    },
    /// The answer of an LLM to this prompt.
    Question(ContextPrompt),
}

/// The question to an LLM about one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContextPrompt {
    /// Hash of model and question.
    pub(crate) key: ChunkContextKey,
    /// The document, or the part of it around the chunk. It is the same for all chunks in that part.
    pub(crate) opening: Arc<str>,
    /// The chunk and the question.
    pub(crate) passage: String,
}

impl ContextPrompt {
    /// Returns the prompt, which starts with the opening.
    pub(crate) fn prompt(&self) -> String {
        format!("{}\n\n{}", self.opening, self.passage)
    }

    /// True if the question must still be asked about a chunk with the context `stored`.
    ///
    /// - `again`: whether to repeat a question that failed before.
    pub(crate) fn is_open(&self, stored: Option<&ChunkContext>, again: bool) -> bool {
        let known = stored.filter(|stored| stored.key == self.key);
        known.is_none_or(|known| again && known.failure().is_some())
    }
}

/// Plans how each chunk of a document gets its context, in order. `text` is the text of the document, which only LLMs need.
///
/// If a document has only one chunk, its context is always title and headings, because an LLM could read nothing else.
pub(crate) fn plan(
    context_writer: &ContextWriter,
    prompts: &Prompts,
    tokenizer: Tokenizer,
    document: &Document,
    text: &str,
    chunks: &[Chunk],
) -> Vec<ContextTask> {
    let by_headings = |chunk: &Chunk| {
        let text = headings_of(document, chunk);
        ContextTask::Words { key: ChunkContextKey::new(&[HEADINGS, &text]), text }
    };
    match context_writer {
        ContextWriter::Off => vec![ContextTask::Nothing; chunks.len()],
        ContextWriter::Headings => chunks.iter().map(by_headings).collect(),
        ContextWriter::Model(_) if chunks.len() < 2 => chunks.iter().map(by_headings).collect(),
        ContextWriter::Model(model) => {
            let parts = Parts::of(text, tokenizer);
            let openings: Vec<Arc<str>> = parts
                .texts()
                .map(|part| {
                    let variables = [("title", document.title.as_str()), ("document", part.as_str())];
                    prompts.render(CONTEXT_DOCUMENT, &variables).into()
                })
                .collect();
            let language = prompts.language("the document's language", ", names as in the document");
            let question = |chunk: &Chunk| {
                let opening = Arc::clone(&openings[parts.around(chunk.span)]);
                let variables = [("text", chunk.text.as_str()), ("language", language.as_str())];
                let passage = prompts.render(CONTEXT_PASSAGE, &variables);
                let key = ChunkContextKey::new(&[model.name(), &opening, &passage]);
                ContextTask::Question(ContextPrompt { key, opening, passage })
            };
            chunks.iter().map(question).collect()
        }
    }
}

/// Returns the title and the headings above a chunk, outermost first. A title that the first heading repeats is written once.
fn headings_of(document: &Document, chunk: &Chunk) -> String {
    let title: String = document.title.trim().chars().take(MAX_TITLE_CHARS).collect();
    let repeated = title.is_empty() || chunk.breadcrumb.first().is_some_and(|first| *first == title);
    let levels = (!repeated).then_some(title).into_iter().chain(chunk.breadcrumb.iter().cloned());
    levels.collect::<Vec<_>>().join(" → ")
}

/// Asks the model for a context. Returns it on one line with at most [`MAX_CONTEXT_TOKENS`], and the ledger rows. `is_shared`:
/// whether other questions start with the same opening, which makes it worth caching at the provider.
pub(crate) async fn write_context(
    question: &ContextPrompt,
    is_shared: bool,
    model: &dyn LanguageModel,
    document: &DocumentId,
    tokenizer: Tokenizer,
    clock: &dyn Clock,
) -> (Result<String, ModelError>, Vec<Call>) {
    let mut calls = Vec::new();
    for limit in [OUTPUT_TOKENS, THINKING_OUTPUT_TOKENS] {
        let request = ChatRequest {
            messages: vec![ChatMessage::new(ChatRole::User, question.prompt())],
            max_output_tokens: Some(limit),
            temperature: Some(0.0),
            shared_prefix_bytes: if is_shared { question.opening.len() } else { 0 },
            ..ChatRequest::default()
        };
        let (answer, call) = ask(model, request, Role::Context, Some(document), clock).await;
        let cut = call.outcome == CallOutcome::Truncated;
        calls.push(call);
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return (Err(error), calls),
        };
        let words: Vec<&str> = after_thinking(&answer).1.split_whitespace().collect();
        let text = words.join(" ");
        if !text.is_empty() {
            return (Ok(tokenizer.truncate(&text, MAX_CONTEXT_TOKENS).trim_end().to_owned()), calls);
        }
        if !cut {
            break;
        }
    }
    let what = "the answer is empty".to_owned();
    (Err(ModelError::Malformed { model: model.name().to_owned(), what }), calls)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use graphloom_core::{
        ChatStream, ChunkExtraction, ChunkId, ContentHash, Format, Span, Timestamp, Visibility,
    };

    use super::*;

    struct Silent;

    #[async_trait::async_trait]
    impl LanguageModel for Silent {
        fn name(&self) -> &str {
            "silent"
        }

        async fn chat(&self, _: ChatRequest) -> Result<ChatStream, ModelError> {
            Err(ModelError::Malformed { model: "silent".to_owned(), what: "never asked".to_owned() })
        }
    }

    fn document(title: &str, text: &str) -> Document {
        let content_hash = ContentHash::of(text.as_bytes());
        Document {
            id: DocumentId::new("a.md", &content_hash),
            source: "a.md".to_owned(),
            title: title.to_owned(),
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
        }
    }

    /// Returns chunks of `bytes` bytes each.
    fn chunks(of: &Document, text: &str, bytes: usize, headings: &[&str]) -> Vec<Chunk> {
        let spans =
            (0..text.len()).step_by(bytes).map(|start| Span::new(start, (start + bytes).min(text.len())));
        let chunk = |(ordinal, span): (usize, Span)| Chunk {
            id: ChunkId::new(&of.id, ordinal as u32, span.start, span.end),
            document: of.id.clone(),
            ordinal: ordinal as u32,
            span,
            token_count: 1,
            breadcrumb: headings.iter().map(|&heading| heading.to_owned()).collect(),
            text: span.slice(text).expect("a span of the text").to_owned(),
            extraction: ChunkExtraction::Pending,
        };
        spans.enumerate().map(chunk).collect()
    }

    fn check_plan(context_writer: &ContextWriter, text: &str, bytes: usize) -> Vec<ContextTask> {
        let document = document("Annual report", text);
        let chunks = chunks(&document, text, bytes, &[]);
        plan(context_writer, &Prompts::default(), Tokenizer, &document, text, &chunks)
    }

    fn check_headings(title: &str, headings: &[&str]) -> String {
        let document = document(title, "text");
        headings_of(&document, &chunks(&document, "text", 4, headings)[0])
    }

    #[test]
    fn headings_follow_the_title_which_appears_once() {
        assert_eq!(check_headings("Report", &["2023", "Revenue"]), "Report → 2023 → Revenue");
        assert_eq!(check_headings("Report", &["Report", "Revenue"]), "Report → Revenue");
        assert_eq!(check_headings(" Report ", &[]), "Report");
        assert_eq!(check_headings("", &[]), "");
        assert_eq!(check_headings(&"ä".repeat(200), &[]).chars().count(), MAX_TITLE_CHARS);
    }

    #[test]
    fn the_prompts_of_all_chunks_of_a_document_have_the_same_opening() {
        let wanted =
            check_plan(&ContextWriter::Model(Arc::new(Silent)), "Acme sold gears. It grew by 3%.", 16);
        let questions: Vec<&ContextPrompt> = (wanted.iter())
            .map(|wanted| match wanted {
                ContextTask::Question(question) => question,
                ContextTask::Nothing | ContextTask::Words { .. } => panic!("{wanted:?}"),
            })
            .collect();
        assert_eq!(questions.len(), 2);
        assert_eq!(questions[0].opening, questions[1].opening);
        assert_ne!(questions[0].key, questions[1].key);
        assert!(questions.iter().all(|question| question.prompt().starts_with(&*question.opening)));
        insta::assert_snapshot!("chunk_context", questions[1].prompt());
    }

    #[test]
    fn a_document_with_one_chunk_gets_its_title_as_context_without_a_call() {
        let by_headings = check_plan(&ContextWriter::Headings, "Acme sold gears.", 99);
        assert_eq!(check_plan(&ContextWriter::Model(Arc::new(Silent)), "Acme sold gears.", 99), by_headings);
        assert!(matches!(&by_headings[..], [ContextTask::Words { text, .. }] if text == "Annual report"));
        assert_eq!(
            check_plan(&ContextWriter::Off, "Acme sold gears.", 8),
            [ContextTask::Nothing, ContextTask::Nothing]
        );
    }

    #[test]
    fn the_requested_language_is_part_of_the_prompt() {
        let mut french = Prompts::default();
        french.set_language("French");
        let document = document("Report", "one two");
        let chunks = chunks(&document, "one two", 4, &[]);
        let context_writer = ContextWriter::Model(Arc::new(Silent));
        let wanted = plan(&context_writer, &french, Tokenizer, &document, "one two", &chunks);
        let Some(ContextTask::Question(question)) = wanted.first() else { panic!("{wanted:?}") };
        assert!(
            question.passage.contains("in French, names as in the document, what"),
            "{}",
            question.passage
        );
    }
}
