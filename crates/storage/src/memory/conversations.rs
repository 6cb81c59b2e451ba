//! Conversations of the in-memory store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graphloom_core::{Conversation, ConversationId, DocumentId, NewExchange, RestsOn, StoreError};

use super::State;
use crate::rules;

/// Removes the answers that rest on these documents, and all later answers in the same conversations.
pub(super) fn remove_answers(state: &mut State, documents: &[DocumentId]) {
    let mut from: BTreeMap<ConversationId, u32> = BTreeMap::new();
    for ((conversation, ordinal), exchange) in &*state.exchanges {
        let loses = exchange.answer.as_ref().is_some_and(|answer| match &answer.rests_on {
            RestsOn::Everything => true,
            RestsOn::Documents(known) => documents.iter().any(|document| known.contains(document)),
        });
        if loses {
            from.entry(conversation.clone()).or_insert(*ordinal);
        }
    }
    if from.is_empty() {
        return;
    }
    for ((conversation, ordinal), exchange) in Arc::make_mut(&mut state.exchanges) {
        if from.get(conversation).is_some_and(|first| ordinal >= first) {
            exchange.answer = None;
        }
    }
}

/// Removes and puts conversations and exchanges.
pub(super) fn apply(
    state: &mut State,
    removed: Vec<ConversationId>,
    conversations: Vec<Conversation>,
    exchanges: Vec<NewExchange>,
) -> Result<(), StoreError> {
    let removed: BTreeSet<ConversationId> = removed.into_iter().collect();
    if !removed.is_empty() {
        Arc::make_mut(&mut state.conversations).retain(|id, _| !removed.contains(id));
        Arc::make_mut(&mut state.exchanges).retain(|(id, _), _| !removed.contains(id));
    }
    for conversation in conversations {
        Arc::make_mut(&mut state.conversations).insert(conversation.id.clone(), conversation);
    }
    for new in exchanges {
        let id = new.exchange.conversation.clone();
        if !state.conversations.contains_key(&id) {
            return Err(rules::unknown_conversation(&id));
        }
        let exchange = new.lawful(state.last_removal);
        Arc::make_mut(&mut state.exchanges).insert((id, exchange.ordinal), exchange);
    }
    Ok(())
}
