//! An LLM as a judge: asks with our prompts, parses strictly, and saves verdicts so that no verdict is paid for twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graphloom_core::{ChatMessage, ChatRequest, ChatRole, ContentHash, LanguageModel, ModelError, complete};
use graphloom_engine::prompt::{Prompt, Prompts};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::journal::{Journal, JournalContent, JournalError};

/// Maximum attempts per verdict.
const MAX_ATTEMPTS: usize = 2;

/// Maximum positions in an answer at which JSON is tried.
const MAX_BEGINNINGS: usize = 64;

/// Maximum characters of an invalid answer in a message.
const CLIP: usize = 120;

/// A judge with its saved answers.
pub struct Judge {
    model: Arc<dyn LanguageModel>,
    prompts: Prompts,
    memory: Mutex<Memory>,
}

struct Memory {
    answers: BTreeMap<ContentHash, String>,
    journal: Journal,
    spent: JudgeSpent,
}

/// The cost of judging.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeSpent {
    /// Number of calls.
    pub calls: u64,
    /// Number of saved answers that were used.
    pub remembered: u64,
    /// Tokens sent, as counted by the provider.
    pub prompt_tokens: u64,
    /// Sent tokens that were read from the provider's prompt cache.
    pub cached_prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
}

/// Why judging failed.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The model failed.
    #[error("asking the judge")]
    Model(#[from] ModelError),
    /// Its answer has the wrong form.
    #[error("invalid verdict from judge {judge}: {what}; the answer was {answer:?}")]
    Unreadable {
        /// The judge.
        judge: String,
        /// The error.
        what: String,
        /// The start of the answer.
        answer: String,
    },
    /// Its answer could not be saved.
    #[error("saving a verdict")]
    Keep(#[from] JournalError),
}

impl JudgeError {
    /// A remedy, unless the cause has one.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Unreadable { .. } => Some("run it again; if that does not help, choose another judge_llm"),
            Self::Model(_) | Self::Keep(_) => None,
        }
    }
}

impl Judge {
    /// - `journal`, `kept`: where answers are saved, and the answers saved so far.
    pub fn new(
        model: Arc<dyn LanguageModel>,
        prompts: Prompts,
        journal: Journal,
        kept: JournalContent<String>,
    ) -> Self {
        let memory = Memory { answers: kept.rows, journal, spent: JudgeSpent::default() };
        Self { model, prompts, memory: Mutex::new(memory) }
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        self.model.name()
    }

    /// The cost so far.
    pub fn spent(&self) -> JudgeSpent {
        self.memory().spent
    }

    /// Asks with a prompt and parses the verdict; if it is invalid, asks again with the error. Saves only valid answers, so
    /// that a later run repeats the others.
    ///
    /// - `read`: parses the verdict, or returns an error message for the judge.
    pub(crate) async fn ask<T>(
        &self,
        prompt: Prompt,
        variables: &[(&str, &str)],
        read: impl Fn(&str) -> Result<T, String> + Send + Sync,
    ) -> Result<T, JudgeError> {
        let mut messages = self.prompts.messages(prompt, variables);
        let key = self.key(&messages);
        if let Some(verdict) = self.remembered(&key).and_then(|answer| read(&answer).ok()) {
            self.memory().spent.remembered += 1;
            return Ok(verdict);
        }
        let mut attempt = 1;
        loop {
            let answer = self.ask_model(&messages).await?;
            match read(&answer) {
                // Saved under the first question, even after a second attempt, so that it is found without a call.
                Ok(verdict) => {
                    self.keep(key, answer)?;
                    return Ok(verdict);
                }
                Err(what) if attempt == MAX_ATTEMPTS => {
                    let judge = self.name().to_owned();
                    return Err(JudgeError::Unreadable {
                        judge,
                        what,
                        answer: answer.chars().take(CLIP).collect(),
                    });
                }
                Err(what) => {
                    attempt += 1;
                    messages.push(ChatMessage::new(ChatRole::Assistant, answer));
                    let again = format!(
                        "That could not be read: {what}. Answer again in the form asked for, and nothing else."
                    );
                    messages.push(ChatMessage::new(ChatRole::User, again));
                }
            }
        }
    }

    /// Returns the key of a question to the judge.
    fn key(&self, messages: &[ChatMessage]) -> ContentHash {
        let mut parts = vec![self.name().to_owned()];
        for message in messages {
            parts.push(format!("{:?}", message.role));
            parts.push(message.content.clone());
        }
        ContentHash::of_parts(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remembered(&self, key: &ContentHash) -> Option<String> {
        self.memory().answers.get(key).cloned()
    }

    fn keep(&self, key: ContentHash, answer: String) -> Result<(), JournalError> {
        let mut memory = self.memory();
        memory.journal.append(&key, &answer)?;
        memory.answers.insert(key, answer);
        Ok(())
    }

    async fn ask_model(&self, messages: &[ChatMessage]) -> Result<String, ModelError> {
        let request = ChatRequest { messages: messages.to_vec(), ..ChatRequest::default() };
        let (answer, completion) = complete(self.model.as_ref(), request).await?;
        let spent = &mut self.memory().spent;
        spent.calls += 1;
        spent.prompt_tokens += completion.usage.prompt_tokens;
        spent.cached_prompt_tokens += completion.usage.cached_prompt_tokens;
        spent.completion_tokens += completion.usage.completion_tokens;
        Ok(answer)
    }
}

/// Returns the first JSON value of this type in an answer, after the model's thinking. Ignores text around it.
///
/// - `opening`: the character the value starts with.
pub(crate) fn json_in<T: DeserializeOwned>(answer: &str, opening: char) -> Result<T, String> {
    let answer = answer.rsplit_once("</think>").map_or(answer, |(_, after)| after);
    let mut fault = None;
    for (at, _) in answer.match_indices(opening).take(MAX_BEGINNINGS) {
        match serde_json::Deserializer::from_str(&answer[at..]).into_iter::<T>().next() {
            Some(Ok(value)) => return Ok(value),
            Some(Err(error)) => fault = fault.or(Some(error.to_string())),
            None => {}
        }
    }
    Err(fault.unwrap_or_else(|| format!("there is no JSON value that begins with {opening}")))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::VecDeque;

    use async_trait::async_trait;
    use futures::{StreamExt, stream};
    use graphloom_core::{ChatEvent, ChatStream, Completion, FinishReason, Usage};
    use graphloom_engine::prompt::JUDGE_CLAIMS;

    use super::*;

    /// A model with scripted answers that records its prompts.
    #[derive(Default)]
    pub(crate) struct Script {
        says: Mutex<VecDeque<String>>,
        pub(crate) asked: Mutex<Vec<String>>,
    }

    impl Script {
        pub(crate) fn of(says: &[&str]) -> Arc<Self> {
            let says = says.iter().map(|said| (*said).to_owned()).collect();
            Arc::new(Self { says: Mutex::new(says), asked: Mutex::default() })
        }
    }

    #[async_trait]
    impl LanguageModel for Script {
        fn name(&self) -> &str {
            "test:script"
        }

        async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
            let last = request.messages.last().map(|message| message.content.clone()).unwrap_or_default();
            self.asked.lock().expect("not poisoned").push(last);
            let said = self.says.lock().expect("not poisoned").pop_front().unwrap_or_default();
            let usage = Usage { prompt_tokens: 10, cached_prompt_tokens: 0, completion_tokens: 2 };
            let done = Completion { finish: FinishReason::Stop, usage, attempts: 1 };
            Ok(stream::iter([Ok(ChatEvent::Delta(said)), Ok(ChatEvent::Done(done))]).boxed())
        }
    }

    /// Runs a future to its end.
    pub(crate) fn wait<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work)
    }

    /// A judge with scripted answers that saves them in `folder`.
    pub(crate) fn judge(model: Arc<Script>, folder: &std::path::Path) -> Judge {
        let (journal, kept) = Journal::open(&folder.join("judge.jsonl"), true).expect("opened");
        Judge::new(model, Prompts::default(), journal, kept)
    }

    fn numbers(judge: &Judge) -> Result<Vec<u32>, JudgeError> {
        let read = |said: &str| json_in::<Vec<u32>>(said, '[');
        wait(judge.ask(JUDGE_CLAIMS, &[("question", "Q?"), ("text", "T.")], read))
    }

    #[test]
    fn an_unreadable_verdict_is_requested_again_and_verdicts_are_cached_across_processes() {
        let folder = tempfile::tempdir().expect("a folder");
        let model = Script::of(&["no idea", "Here: [1, 2]. Done [x]"]);
        let first = judge(model.clone(), folder.path());
        assert_eq!(numbers(&first).expect("a verdict"), [1, 2]);
        let asked = model.asked.lock().expect("not poisoned").clone();
        assert!(
            asked[1].starts_with("That could not be read: there is no JSON value that begins with [."),
            "{asked:?}"
        );
        assert_eq!((first.spent().calls, first.spent().prompt_tokens), (2, 20));
        drop(first);
        let second = judge(Script::of(&[]), folder.path());
        assert_eq!(numbers(&second).expect("a verdict"), [1, 2]);
        assert_eq!(second.spent(), JudgeSpent { remembered: 1, ..JudgeSpent::default() });
    }

    #[test]
    fn the_next_run_asks_again_for_unreadable_verdicts() {
        let folder = tempfile::tempdir().expect("a folder");
        numbers(&judge(Script::of(&["?", "no"]), folder.path())).expect_err("unreadable");
        let again = judge(Script::of(&["[3]"]), folder.path());
        assert_eq!(numbers(&again).expect("a verdict"), [3]);
        assert_eq!((again.spent().calls, again.spent().remembered), (1, 0));
    }

    #[test]
    fn a_cached_verdict_that_is_no_longer_readable_is_requested_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = judge(Script::of(&[]), folder.path());
        let key = first.key(&first.prompts.messages(JUDGE_CLAIMS, &[("question", "Q?"), ("text", "T.")]));
        first.keep(key, "of another release".to_owned()).expect("kept");
        drop(first);
        let again = judge(Script::of(&["[3]"]), folder.path());
        assert_eq!(numbers(&again).expect("a verdict"), [3]);
        drop(again);
        let last = judge(Script::of(&[]), folder.path());
        assert_eq!((numbers(&last).expect("a verdict"), last.spent().remembered), (vec![3], 1));
    }

    #[test]
    fn a_verdict_that_stays_unreadable_is_an_error_with_the_answer() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = numbers(&judge(Script::of(&["?", "<think>[1]</think> [\"a\"]"]), folder.path()))
            .expect_err("unreadable");
        let expected = "invalid verdict from judge test:script: invalid type: string \"a\", expected u32 at line 1 \
                        column 4; the answer was \"<think>[1]</think> [\\\"a\\\"]\"";
        assert_eq!(error.to_string(), expected);
    }
}
