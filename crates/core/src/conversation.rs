//! Conversations that are kept: questions with their answers, inside the law of deletion.
//!
//! An answer repeats what documents say, so it is kept only as long as every document that it rests on. The commit that
//! removes one of them removes the answer too, and every later answer of the conversation, which was written with it as
//! history. Questions are the words of the person who asked, and stay.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ConversationId, DocumentId, Revision, Timestamp};

/// The most conversations of a workspace.
pub const MAX_CONVERSATIONS: usize = 10_000;

/// The most questions of a conversation.
pub const MAX_EXCHANGES: u32 = 500;

/// Questions and answers of one person that follow each other.
///
/// Neither evidence nor a view: not part of the canonical state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// The credential of the person who asks; no other sees it.
    pub owner: String,
    /// Its title.
    pub title: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last asked in or renamed.
    pub updated_at: Timestamp,
}

/// A question of a conversation with its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// Its conversation.
    pub conversation: ConversationId,
    /// Its place in the conversation, from 0.
    pub ordinal: u32,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// The question, as asked.
    pub question: String,
    /// How it was asked, such as the mode. The asker defines the meaning.
    pub settings: Value,
    /// The answer; `None` once a document that it rests on is removed.
    pub answer: Option<KeptAnswer>,
}

/// An answer, and what it needs to be kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptAnswer {
    /// What it rests on.
    pub rests_on: RestsOn,
    /// The answer with its citations. The asker defines the meaning.
    pub body: Value,
}

/// The documents whose words an answer may repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestsOn {
    /// These documents.
    Documents(BTreeSet<DocumentId>),
    /// Any document of the workspace, such as an answer from reports of communities.
    Everything,
}

/// An exchange to put. A store puts it without its answer if documents were removed since they were read for it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewExchange {
    /// The exchange; it replaces the one at the same place.
    pub exchange: Exchange,
    /// The revision that the documents, the graph and earlier answers were read at.
    pub read_at: Revision,
}

impl NewExchange {
    /// What a store puts.
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
