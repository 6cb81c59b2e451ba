//! Stored conversations: questions with their answers, deleted according to the documents they rest on.
//!
//! An answer repeats what documents say, so it is kept only while every document that it rests on exists. The commit that
//! removes one of these documents also removes the answer, and every later answer of the conversation, because those were
//! written with it as history. Questions are the words of the person who asked, and stay.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ConversationId, DocumentId, Revision, Timestamp};

/// Maximum conversations in a workspace.
pub const MAX_CONVERSATIONS: usize = 10_000;

/// Maximum questions in a conversation.
pub const MAX_EXCHANGES: u32 = 500;

/// A series of questions and answers of one person.
///
/// A conversation is neither evidence nor a view: it is not part of the canonical state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// The credential of the person who asks; nobody else sees the conversation.
    pub owner: String,
    /// Its title.
    pub title: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When the last question was asked, or when it was last renamed.
    pub updated_at: Timestamp,
}

/// A question of a conversation with its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// Its conversation.
    pub conversation: ConversationId,
    /// Its position in the conversation, from 0.
    pub ordinal: u32,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// The question, as asked.
    pub question: String,
    /// How it was asked, such as the mode. The caller defines the meaning.
    pub settings: Value,
    /// The answer; `None` once a document that it rests on is removed.
    pub answer: Option<KeptAnswer>,
}

/// A stored answer, and the documents that it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptAnswer {
    /// The documents that it rests on.
    pub rests_on: RestsOn,
    /// The answer with its citations. The caller defines the meaning.
    pub body: Value,
}

/// The documents whose words an answer may repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestsOn {
    /// These documents.
    Documents(BTreeSet<DocumentId>),
    /// Any document of the workspace: for example, the answer was written from community reports.
    Everything,
}

/// An exchange to put. If documents were removed after they were read for the answer, the store puts the
/// exchange without its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct NewExchange {
    /// The exchange. It replaces the exchange at the same position.
    pub exchange: Exchange,
    /// The revision at which the documents, the graph and the earlier answers were read.
    pub read_at: Revision,
}

impl NewExchange {
    /// Returns the exchange that a store puts: without its answer if documents were removed after `read_at`.
    ///
    /// - `last_removal`: the revision of the last commit that removed documents.
    pub fn lawful(&self, last_removal: Revision) -> Exchange {
        let mut exchange = self.exchange.clone();
        if last_removal > self.read_at {
            exchange.answer = None;
        }
        exchange
    }
}
