//! Converts the bytes of an answer into chat events, for all protocols.

use std::time::Instant;

use futures::StreamExt;
use futures::stream;
use graphloom_core::{ChatEvent, ChatRequest, ChatStream, Completion, FinishReason, ModelError, Usage};
use tracing::Span;
use tracing::field::Empty;

use crate::http::{Cost, HttpAnswer, HttpClient, Output, Target, provider_error};

/// The parts of an answer that have been read so far.
#[derive(Debug, Default)]
pub(crate) struct PartialAnswer {
    /// Text that was not passed on yet.
    pub(crate) text: String,
    pub(crate) finish: Option<FinishReason>,
    pub(crate) usage: Usage,
    /// Whether the protocol's end marker was read.
    pub(crate) ended: bool,
}

/// The status used for errors in a response with status 200.
const OK: u16 = 200;

/// Why bytes could not be parsed.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// They violate the protocol.
    Malformed(String),
    /// They contain the provider's error message.
    ProviderError(Vec<u8>),
    /// They show that the provider will never answer this request.
    Refused(String),
}

/// Returns the expected cost of a chat request.
pub(crate) fn cost_of(http: &HttpClient, request: &ChatRequest) -> Cost {
    let output = request.max_output_tokens.map_or(Output::Unknown, |most| Output::AtMost(u64::from(most)));
    http.cost(request.messages.iter().map(|message| message.content.as_str()), output)
}

/// Words that occur in messages about rejected schemas.
const SCHEMA_WORDS: [&str; 7] =
    ["schema", "response_format", "responseschema", "structured", "tool", "grammar", "format"];

/// Converts a rejection that mentions the requested schema into a separate error.
pub(crate) fn of_shape(request: &ChatRequest, error: ModelError) -> ModelError {
    match error {
        ModelError::Refused { model, status, what } if request.shape.is_some() => {
            let message = what.to_lowercase();
            match SCHEMA_WORDS.iter().any(|word| message.contains(word)) {
                true => ModelError::ShapeRefused { model, status, what },
                false => ModelError::Refused { model, status, what },
            }
        }
        error => error,
    }
}

/// The parser of a chat protocol.
pub(crate) trait ChatProtocol: Send + 'static {
    /// Parses `chunk` into `partial`.
    fn read(&mut self, chunk: &[u8], partial: &mut PartialAnswer) -> Result<(), Unreadable>;

    /// Parses the remaining bytes at the end.
    fn finish(&mut self, partial: &mut PartialAnswer) -> Result<(), Unreadable>;
}

/// Creates the span of one model call. Usage and outcome are recorded at its end.
pub(crate) fn call_span(operation: &'static str, provider: &str, model: &str) -> Span {
    tracing::info_span!(
        "model_call",
        gen_ai.operation.name = operation,
        gen_ai.provider.name = provider,
        gen_ai.request.model = model,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.response.finish_reason = Empty,
        attempts = Empty,
        elapsed_ms = Empty,
    )
}

pub(crate) fn record_usage(span: &Span, usage: Usage, attempts: u32, started: Instant) {
    span.record("gen_ai.usage.input_tokens", usage.prompt_tokens);
    span.record("gen_ai.usage.cache_read.input_tokens", usage.cached_prompt_tokens);
    span.record("gen_ai.usage.output_tokens", usage.completion_tokens);
    span.record("attempts", attempts);
    span.record("elapsed_ms", u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX));
}

/// Returns the events of `answer`.
///
/// - `as_made`: whether to stream deltas; otherwise one delta carries the whole text.
pub(crate) fn chat_events(
    answer: HttpAnswer,
    target: Target,
    protocol: impl ChatProtocol,
    as_made: bool,
    span: Span,
    started: Instant,
) -> ChatStream {
    let reader = Reader {
        answer,
        target,
        protocol,
        as_made,
        partial: PartialAnswer::default(),
        over: false,
        span,
        started,
    };
    stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        match reader.next_event().await {
            Ok(done @ ChatEvent::Done(_)) => Some((Ok(done), None)),
            Ok(delta) => Some((Ok(delta), Some(reader))),
            Err(error) => {
                tracing::warn!(parent: &reader.span, %error, "the answer ended early");
                Some((Err(error), None))
            }
        }
    })
    .boxed()
}

struct Reader<P> {
    answer: HttpAnswer,
    target: Target,
    protocol: P,
    as_made: bool,
    partial: PartialAnswer,
    /// Whether the bytes have ended.
    over: bool,
    span: Span,
    started: Instant,
}

impl<P: ChatProtocol> Reader<P> {
    async fn next_event(&mut self) -> Result<ChatEvent, ModelError> {
        loop {
            let ended = self.partial.ended || self.over;
            if !self.partial.text.is_empty() && (self.as_made || ended) {
                return Ok(ChatEvent::Delta(std::mem::take(&mut self.partial.text)));
            }
            if ended {
                return self.completion().map(ChatEvent::Done);
            }
            let read = match self.answer.chunk().await? {
                Some(chunk) => self.protocol.read(&chunk, &mut self.partial),
                None => {
                    self.over = true;
                    self.protocol.finish(&mut self.partial)
                }
            };
            read.map_err(|unreadable| self.error(unreadable))?;
        }
    }

    /// Returns the end of the answer. An answer without a finish reason or end marker was cut off.
    fn completion(&mut self) -> Result<Completion, ModelError> {
        let finish = match self.partial.finish {
            Some(finish) => finish,
            None if self.partial.ended => FinishReason::Stop,
            None => {
                let what = "the answer ended early".to_owned();
                return Err(ModelError::Malformed { model: self.target.model().to_owned(), what });
            }
        };
        let completion = Completion { finish, usage: self.partial.usage, attempts: self.answer.attempts() };
        self.answer.settle(completion.usage);
        record_usage(&self.span, completion.usage, completion.attempts, self.started);
        self.span.record("gen_ai.response.finish_reason", tracing::field::debug(finish));
        Ok(completion)
    }

    fn error(&self, unreadable: Unreadable) -> ModelError {
        let malformed = |what: &str| ModelError::Malformed {
            model: self.target.model().to_owned(),
            what: self.target.readable(what),
        };
        match unreadable {
            Unreadable::Malformed(what) => malformed(&what),
            Unreadable::Refused(what) => ModelError::Refused {
                model: self.target.model().to_owned(),
                status: OK,
                what: self.target.readable(&what),
            },
            Unreadable::ProviderError(body) => provider_error(&self.target, &body)
                .unwrap_or_else(|| malformed(&String::from_utf8_lossy(&body))),
        }
    }
}
