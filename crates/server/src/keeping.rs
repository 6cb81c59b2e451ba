//! Stores a question and its answer in a conversation.

use std::collections::BTreeMap;

use graphloom_core::{
    Batch, ChatMessage, ChatRole, Conversation, ConversationId, Exchange, MAX_CONVERSATIONS, MAX_EXCHANGES,
    NewExchange, Revision, Snapshot, StoreError, Timestamp, table,
};
use graphloom_engine::query::{self, Retrieval};
use serde_json::{Value, json};

use crate::access::{hex, random};
use crate::app::now;
use crate::problem::Problem;
use crate::query_request::QueryRequest;
use crate::routes::{KeptAnswer, KeptPlace, unknown_conversation};
use crate::space::Space;

/// Value of a request's field `conversation` that starts a new conversation.
const NEW: &str = "new";
/// Maximum earlier questions that form the history of a question, with their answers.
const HISTORY: usize = 10;
/// Maximum characters of a title that is made from a question.
const TITLE_CHARS: usize = 80;

/// A question that will be stored with its answer.
pub(crate) struct Keeping {
    conversation: Conversation,
    /// Place of the question in the conversation; `None` for the next one.
    ordinal: Option<u32>,
    asked_at: Timestamp,
    question: String,
    settings: Value,
    /// The revision at which the history was read. Nothing that the answer rests on is older.
    read_at: Revision,
    /// The earlier questions and answers that are still stored.
    pub(crate) history: Vec<ChatMessage>,
}

impl Keeping {
    /// Finds or creates the conversation that a request names; `None` if it names none.
    pub(crate) async fn begin(
        space: &Space,
        owner: &str,
        request: &QueryRequest,
    ) -> Result<Option<Self>, Problem> {
        let Some(named) = &request.conversation else {
            return match request.exchange {
                None => Ok(None),
                Some(_) => Err(Problem::invalid("exchange is set without conversation")),
            };
        };
        let snapshot = space.store.snapshot().await?;
        let question = request.query.trim().to_owned();
        let (read_at, asked_at) = (snapshot.revision(), now());
        let (conversation, history) = if named == NEW {
            if request.exchange.is_some() {
                let what =
                    "exchange is the place of a question to ask again, and a new conversation has none";
                return Err(Problem::invalid(what).remedy(Some("leave it out")));
            }
            if snapshot.pages(table::Conversations).all().await?.len() >= MAX_CONVERSATIONS {
                let what = format!("the workspace has {MAX_CONVERSATIONS} conversations, which is the limit");
                return Err(Problem::conflict(what).remedy(Some("delete conversations that are not needed")));
            }
            let id = random::<12>().map_err(|error| Problem::internal(&error))?;
            let conversation = Conversation {
                id: ConversationId::from_stored(hex(&id)),
                owner: owner.to_owned(),
                title: title_of(&question),
                created_at: asked_at,
                updated_at: asked_at,
            };
            (conversation, Vec::new())
        } else {
            let conversation = owned(snapshot.as_ref(), named, owner).await?;
            let all = exchanges(snapshot.as_ref(), &conversation.id).await?;
            if let Some(place) = request.exchange
                && !all.iter().any(|exchange| exchange.ordinal == place)
            {
                let what = format!("the conversation has no question at place {place}");
                let remedy = "leave exchange out to ask the next question; GET /conversations/{conversation_id} lists \
                              the questions with their places";
                return Err(Problem::not_found(what).remedy(Some(remedy)));
            }
            let history = history(all, request.exchange);
            (Conversation { updated_at: asked_at, ..conversation }, history)
        };
        let settings = request.settings();
        let ordinal = request.exchange;
        Ok(Some(Self { conversation, ordinal, asked_at, question, settings, read_at, history }))
    }

    /// Returns the id of the conversation.
    pub(crate) fn id(&self) -> String {
        self.conversation.id.to_string()
    }

    /// Stores the answer. Returns why if that failed, because the answer itself is still valid.
    pub(crate) async fn keep(self, space: &Space, retrieval: &Retrieval, answer: &KeptAnswer) -> KeptPlace {
        let id = self.id();
        match self.try_keep(space, retrieval, answer).await {
            Ok((exchange, is_kept)) => KeptPlace {
                conversation: id,
                exchange: Some(exchange),
                problem: (!is_kept).then(|| {
                    "a document was removed while the question was answered, so the answer is not kept"
                        .to_owned()
                }),
            },
            Err(problem) => {
                tracing::warn!(conversation = id, problem = problem.words(), "an answer was not kept");
                KeptPlace { conversation: id, exchange: None, problem: Some(problem.words()) }
            }
        }
    }

    /// Returns the place, and whether the answer was stored.
    async fn try_keep(
        self,
        space: &Space,
        retrieval: &Retrieval,
        answer: &KeptAnswer,
    ) -> Result<(u32, bool), Problem> {
        let rests_on = query::rests_on(&space.asking, retrieval).await?;
        let id = self.conversation.id.clone();
        let ordinal = match self.ordinal {
            Some(ordinal) => ordinal,
            None => {
                let snapshot = space.store.snapshot().await?;
                let all = exchanges(snapshot.as_ref(), &id).await?;
                all.last().map_or(0, |exchange| exchange.ordinal + 1)
            }
        };
        if ordinal >= MAX_EXCHANGES {
            let what = format!("the conversation has {MAX_EXCHANGES} questions, which is the limit");
            return Err(Problem::conflict(what).remedy(Some("begin a new conversation")));
        }
        let exchange = Exchange {
            conversation: id.clone(),
            ordinal,
            asked_at: self.asked_at,
            question: self.question,
            settings: self.settings,
            answer: Some(graphloom_core::KeptAnswer { rests_on, body: json!(answer) }),
        };
        let batch = Batch {
            put_conversations: vec![self.conversation],
            put_exchanges: vec![NewExchange { exchange, read_at: self.read_at }],
            ..Batch::default()
        };
        space.store.commit(batch).await?;
        let snapshot = space.store.snapshot().await?;
        let kept = exchanges(snapshot.as_ref(), &id).await?;
        let is_kept = kept.iter().any(|exchange| exchange.ordinal == ordinal && exchange.answer.is_some());
        Ok((ordinal, is_kept))
    }
}

/// Returns the conversation with this id if it belongs to the owner.
pub(crate) async fn owned(snapshot: &dyn Snapshot, id: &str, owner: &str) -> Result<Conversation, Problem> {
    let found =
        snapshot.conversations(&[ConversationId::from_stored(id)]).await?.into_iter().flatten().next();
    found.filter(|found| found.owner == owner).ok_or_else(|| unknown_conversation(id))
}

/// Returns the exchanges of a conversation, in order.
pub(crate) async fn exchanges(
    snapshot: &dyn Snapshot,
    id: &ConversationId,
) -> Result<Vec<Exchange>, StoreError> {
    snapshot.pages(table::Exchanges { conversation: Some(id.clone()) }).all().await
}

/// Returns the latest of these questions before this place with their answers, oldest first.
fn history(all: Vec<Exchange>, before: Option<u32>) -> Vec<ChatMessage> {
    let mut kept = BTreeMap::new();
    for exchange in all.into_iter().filter(|exchange| before.is_none_or(|before| exchange.ordinal < before)) {
        let Some(answer) = &exchange.answer else { continue };
        let done = &answer.body["done"];
        if done["answer_kind"] == "not_found" {
            continue;
        }
        if let Some(text) = done["response"].as_str() {
            kept.insert(exchange.ordinal, (exchange.question, text.to_owned()));
        }
    }
    let skipped = kept.len().saturating_sub(HISTORY);
    let messages = kept.into_values().skip(skipped).flat_map(|(question, answer)| {
        [ChatMessage::new(ChatRole::User, question), ChatMessage::new(ChatRole::Assistant, answer)]
    });
    messages.collect()
}

/// Returns the beginning of a question.
fn title_of(question: &str) -> String {
    let line = question.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TITLE_CHARS) {
        None => line,
        Some((end, _)) => {
            let cut = &line[..end];
            format!("{}…", cut.rsplit_once(' ').map_or(cut, |(words, _)| words))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_question_cut_after_the_last_word_that_fits() {
        assert_eq!(title_of("  Who \n built it? "), "Who built it?");
        let long = "word ".repeat(40);
        let title = title_of(&long);
        assert!(title.chars().count() <= TITLE_CHARS && title.ends_with("word…"), "{title}");
        assert_eq!(title_of(&"東".repeat(200)).chars().count(), TITLE_CHARS + 1);
    }
}
