//! Cases of conversations, and of answers that are removed with their documents.

use graphloom_core::{
    Batch, Conversation, ConversationId, DocumentId, Exchange, KeptAnswer, NewExchange, RestsOn, Revision,
    Snapshot, Store, StoreError, Timestamp, table, write_dump,
};
use serde_json::json;

use super::sample;
use super::steps::{commit, get, view};

/// Returns a conversation of `owner`.
pub fn conversation(id: &str, owner: &str) -> Conversation {
    Conversation {
        id: ConversationId::from_stored(id),
        owner: owner.to_owned(),
        title: format!("About {id}"),
        created_at: Timestamp(1),
        updated_at: Timestamp(2),
    }
}

/// Returns an exchange with an answer that rests on `rests_on`.
pub fn exchange(id: &str, ordinal: u32, rests_on: RestsOn) -> NewExchange {
    let exchange = Exchange {
        conversation: ConversationId::from_stored(id),
        ordinal,
        asked_at: Timestamp(3),
        question: format!("Question {ordinal}?"),
        settings: json!({ "mode": "auto" }),
        answer: Some(KeptAnswer { rests_on, body: json!({ "text": format!("Answer {ordinal}") }) }),
    };
    NewExchange { exchange, read_at: Revision(0) }
}

fn on(documents: &[&DocumentId]) -> RestsOn {
    RestsOn::Documents(documents.iter().map(|&id| id.clone()).collect())
}

/// Returns for each exchange, by conversation and ordinal, whether it has its answer.
async fn kept(view: &dyn Snapshot) -> Vec<(String, u32, bool)> {
    let all = get(view.pages_of(table::Exchanges { conversation: None }, 2).all().await);
    all.iter()
        .map(|exchange| (exchange.conversation.to_string(), exchange.ordinal, exchange.answer.is_some()))
        .collect()
}

fn rows(expected: &[(&str, u32, bool)]) -> Vec<(String, u32, bool)> {
    expected.iter().map(|&(id, ordinal, is_kept)| (id.to_owned(), ordinal, is_kept)).collect()
}

async fn dumped(store: &dyn Store) -> String {
    let mut out = Vec::new();
    write_dump(view(store).await.as_ref(), &mut out).await.expect("memory does not fail").hash
}

/// A conformance case.
pub async fn an_answer_is_removed_with_any_document_it_rests_on_and_so_are_later_ones(store: &dyn Store) {
    let (first, second) = (sample::document("a", "Ada met Bob"), sample::document("b", "Bob met Cem"));
    let (one, two) = (first.document.id.clone(), second.document.id.clone());
    commit(store, Batch { put_documents: vec![first, second], ..Batch::default() }).await;
    let before = dumped(store).await;
    let put = Batch {
        put_conversations: vec![conversation("x", "ada"), conversation("y", "bob"), conversation("z", "bob")],
        put_exchanges: vec![
            exchange("x", 0, on(&[&two])),
            exchange("x", 1, on(&[&one, &two])),
            exchange("x", 2, on(&[])),
            exchange("y", 0, on(&[&two])),
            exchange("z", 0, RestsOn::Everything),
        ],
        ..Batch::default()
    };
    let (put, revision) = (put.clone(), commit(store, put).await);
    let full = view(store).await;
    assert_eq!(dumped(store).await, before, "conversations are not part of the canonical state");
    let ids = ["y", "none"].map(ConversationId::from_stored);
    assert_eq!(get(full.conversations(&ids).await), [Some(put.put_conversations[1].clone()), None]);
    let of_x = table::Exchanges { conversation: Some(ConversationId::from_stored("x")) };
    let expected: Vec<Exchange> = put.put_exchanges[..3].iter().map(|new| new.exchange.clone()).collect();
    assert_eq!(get(full.pages_of(of_x, 2).all().await), expected);

    commit(store, Batch { remove_documents: vec![one.clone()], ..Batch::default() }).await;
    let after = view(store).await;
    let left = rows(&[("x", 0, true), ("x", 1, false), ("x", 2, false), ("y", 0, true), ("z", 0, false)]);
    assert_eq!(kept(after.as_ref()).await, left);
    assert_eq!(kept(full.as_ref()).await.iter().filter(|(_, _, is_kept)| *is_kept).count(), 5);
    let removed = get(after.scan(table::Exchanges { conversation: None }, None, 9).await).remove(1);
    assert_eq!((removed.question.as_str(), removed.settings), ("Question 1?", json!({ "mode": "auto" })));

    // Answers whose data was read before the removal are too late.
    let late = [
        NewExchange { read_at: revision, ..exchange("x", 3, on(&[&two])) },
        NewExchange { read_at: after.revision(), ..exchange("x", 4, on(&[&two])) },
        NewExchange { read_at: revision, ..exchange("z", 1, RestsOn::Everything) },
        NewExchange { read_at: after.revision(), ..exchange("z", 2, RestsOn::Everything) },
    ];
    commit(store, Batch { put_exchanges: late.to_vec(), ..Batch::default() }).await;
    let later = kept(view(store).await.as_ref()).await;
    assert_eq!(later[3..5], rows(&[("x", 3, false), ("x", 4, true)]));
    assert_eq!(later[6..], rows(&[("z", 0, false), ("z", 1, false), ("z", 2, true)]));
}

/// A conformance case.
pub async fn conversations_can_be_stored_renamed_and_removed_with_their_exchanges(store: &dyn Store) {
    let stray = Batch { put_exchanges: vec![exchange("x", 0, on(&[]))], ..Batch::default() };
    assert!(matches!(store.commit(stray).await, Err(StoreError::Invalid { .. })));
    let put = Batch {
        put_conversations: vec![conversation("x", "ada"), conversation("y", "bob")],
        put_exchanges: vec![exchange("x", 0, on(&[])), exchange("y", 0, on(&[])), exchange("y", 1, on(&[]))],
        ..Batch::default()
    };
    commit(store, put).await;
    let renamed = Conversation { title: "Radium".to_owned(), ..conversation("x", "ada") };
    let replaced = exchange("y", 1, RestsOn::Everything);
    let change = Batch {
        remove_conversations: vec![ConversationId::from_stored("none")],
        put_conversations: vec![renamed.clone()],
        put_exchanges: vec![NewExchange { read_at: Revision(9), ..replaced.clone() }],
        ..Batch::default()
    };
    commit(store, change).await;
    let view_of = view(store).await;
    let all = get(view_of.scan(table::Conversations, None, 9).await);
    assert_eq!(all, [renamed, conversation("y", "bob")]);
    let last = get(view_of.scan(table::Exchanges { conversation: None }, None, 9).await).remove(2);
    assert_eq!(last, replaced.exchange);
    let remove = vec![ConversationId::from_stored("y")];
    commit(store, Batch { remove_conversations: remove, ..Batch::default() }).await;
    let after = view(store).await;
    assert_eq!(kept(after.as_ref()).await, rows(&[("x", 0, true)]));
    assert_eq!(get(after.scan(table::Conversations, None, 9).await).len(), 1);
}
