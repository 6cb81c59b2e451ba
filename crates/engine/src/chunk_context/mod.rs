//! Writes the context of chunks: a few words about a chunk's place in its document, indexed before the chunk's own
//! text.
//!
//! A chunk with "its revenue grew by 3%" is found neither by the name nor by the vector of the company. Source:
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
/// Most tokens of a context; a longer one would drown the chunk's own words.
pub const MAX_CONTEXT_TOKENS: u32 = 256;
/// Most characters of a title.
const MAX_TITLE_CHARS: usize = 80;
/// Most tokens of an answer, that of the source; a model that thinks first is given [`THINKING_OUTPUT_TOKENS`] where it
/// used them up.
const OUTPUT_TOKENS: u32 = 1000;
const THINKING_OUTPUT_TOKENS: u32 = 8000;

/// What writes the contexts of chunks.
#[derive(Clone, Default)]
pub enum ContextWriter {
    /// Nothing: chunks are indexed by their own words.
    #[default]
    Off,
    /// The document's title and the headings above the chunk.
    Headings,
    /// A model that reads the document with the chunk.
    Model(Arc<dyn LanguageModel>),
}

impl ContextWriter {
    /// Who says the contexts; `None` where there are none.
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
    /// Not at all.
    Nothing,
    /// In these words, which cost nothing.
    Words {
        /// The key they are stored under.
        key: ChunkContextKey,
        /// The context.
        text: String,
    },
    /// As a model answers this.
    Asked(ContextPrompt),
}

/// What a model is asked about one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContextPrompt {
    /// Hash of model and question.
    pub(crate) key: ChunkContextKey,
    /// The document, or the part of it around the chunk: the same for all chunks whose context is written from it.
    pub(crate) opening: Arc<str>,
    /// The chunk and what is asked.
    pub(crate) passage: String,
}

impl ContextPrompt {
    /// The prompt, which begins with the opening.
    pub(crate) fn prompt(&self) -> String {
        format!("{}\n\n{}", self.opening, self.passage)
    }

    /// Whether it is still to be asked about a chunk that has `stored`.
    ///
    /// - `again`: whether a question that failed before is asked again.
    pub(crate) fn is_open(&self, stored: Option<&ChunkContext>, again: bool) -> bool {
        let known = stored.filter(|stored| stored.key == self.key);
        known.is_none_or(|known| again && known.failure().is_some())
    }
}

/// How each chunk of a document gets its context, in order. `text` is the document's; only models need it.
///
/// The context of the only chunk of a document is its title, whatever writes the others: the chunk is all that could be read.
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
                ContextTask::Asked(ContextPrompt { key, opening, passage })
            };
            chunks.iter().map(question).collect()
        }
    }
}

/// The title and the headings above a chunk, outermost first; a title that the first heading repeats is said once.
fn headings_of(document: &Document, chunk: &Chunk) -> String {
    let title: String = document.title.trim().chars().take(MAX_TITLE_CHARS).collect();
    let repeated = title.is_empty() || chunk.breadcrumb.first().is_some_and(|first| *first == title);
    let levels = (!repeated).then_some(title).into_iter().chain(chunk.breadcrumb.iter().cloned());
    levels.collect::<Vec<_>>().join(" → ")
}

/// What the model says, on one line and at most [`MAX_CONTEXT_TOKENS`] long, and the ledger's rows. `is_shared` says
/// whether other questions begin with the same opening, so that it is worth a place in the provider's cache.
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

    /// Chunks of so many bytes each.
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
    fn headings_follow_the_title_which_is_said_once() {
        assert_eq!(check_headings("Report", &["2023", "Revenue"]), "Report → 2023 → Revenue");
        assert_eq!(check_headings("Report", &["Report", "Revenue"]), "Report → Revenue");
        assert_eq!(check_headings(" Report ", &[]), "Report");
        assert_eq!(check_headings("", &[]), "");
        assert_eq!(check_headings(&"ä".repeat(200), &[]).chars().count(), MAX_TITLE_CHARS);
    }

    #[test]
    fn all_chunks_of_a_document_are_asked_about_after_the_same_opening() {
        let wanted =
            check_plan(&ContextWriter::Model(Arc::new(Silent)), "Acme sold gears. It grew by 3%.", 16);
        let questions: Vec<&ContextPrompt> = (wanted.iter())
            .map(|wanted| match wanted {
                ContextTask::Asked(question) => question,
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
    fn a_document_of_one_chunk_is_contextualized_by_its_title_without_a_question() {
        let by_headings = check_plan(&ContextWriter::Headings, "Acme sold gears.", 99);
        assert_eq!(check_plan(&ContextWriter::Model(Arc::new(Silent)), "Acme sold gears.", 99), by_headings);
        assert!(matches!(&by_headings[..], [ContextTask::Words { text, .. }] if text == "Annual report"));
        assert_eq!(
            check_plan(&ContextWriter::Off, "Acme sold gears.", 8),
            [ContextTask::Nothing, ContextTask::Nothing]
        );
    }

    #[test]
    fn the_language_asked_for_is_part_of_the_question() {
        let mut french = Prompts::default();
        french.set_language("French");
        let document = document("Report", "one two");
        let chunks = chunks(&document, "one two", 4, &[]);
        let context_writer = ContextWriter::Model(Arc::new(Silent));
        let wanted = plan(&context_writer, &french, Tokenizer, &document, "one two", &chunks);
        let Some(ContextTask::Asked(question)) = wanted.first() else { panic!("{wanted:?}") };
        assert!(
            question.passage.contains("in French, names as in the document, what"),
            "{}",
            question.passage
        );
    }
}
