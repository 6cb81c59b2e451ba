//! Stored conversations and their answers. An answer is removed with any document that it rests on.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use graphloom_core::{Batch, ConversationId, DocumentId, Exchange, NewExchange, RestsOn, Revision};
use graphloom_rules::batch as rules;
use tokio::try_join;

use super::remove_rows;
use crate::error::Fault;
use crate::rows;
use crate::session::Session;

/// Returns the exchanges whose answers rest on these documents, and all later exchanges of their conversations.
pub(super) async fn resting_on(session: &Session, documents: &[&str]) -> Result<Vec<Exchange>, Fault> {
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "SELECT e.body FROM exchanges e JOIN ( \
            SELECT conversation, min(ordinal) AS first FROM exchanges \
            WHERE workspace_id = $1 AND is_kept AND (documents IS NULL OR documents && $2) GROUP BY conversation \
        ) l ON l.conversation = e.conversation AND e.ordinal >= l.first \
        WHERE e.workspace_id = $1 AND e.is_kept";
    session.rows(sql, &[&documents]).await?.iter().map(|row| rows::parsed(row, 0)).collect()
}

/// Removes the answers of exchanges.
pub(super) async fn remove_answers(session: &Session, exchanges: Vec<Exchange>) -> Result<(), Fault> {
    let without = exchanges.into_iter().map(|exchange| Exchange { answer: None, ..exchange });
    try_join_all(without.map(async |exchange| write(session, &exchange).await)).await.map(drop)
}

/// Removes and puts conversations and exchanges.
///
/// - `last_removal`: the last revision that removed documents, including this one.
pub(super) async fn put(session: &Session, batch: &Batch, last_removal: Revision) -> Result<(), Fault> {
    let exchanges = batch.put_exchanges.iter().map(|new| put_exchange(session, new, last_removal));
    try_join!(biased;
        remove(session, batch),
        put_conversations(session, batch),
        try_join_all(exchanges)
    )
    .map(drop)
}

async fn remove(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.remove_conversations.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = batch.remove_conversations.iter().map(|id| id.as_str()).collect();
    try_join!(biased;
        remove_rows(session, &["exchanges"], "conversation", &ids),
        remove_rows(session, &["conversations"], "id", &ids)
    )
    .map(drop)
}

async fn put_conversations(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.put_conversations.is_empty() {
        return Ok(());
    }
    let put: BTreeMap<&str, _> = batch.put_conversations.iter().map(|it| (it.id.as_str(), it)).collect();
    let ids: Vec<&str> = put.keys().copied().collect();
    let bodies = put.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO conversations SELECT $1, * FROM unnest($2::text[], $3::text[]) \
        ON CONFLICT (workspace_id, id) DO UPDATE SET body = EXCLUDED.body";
    session.run(sql, &[&ids, &bodies]).await.map(drop)
}

async fn put_exchange(session: &Session, new: &NewExchange, last_removal: Revision) -> Result<(), Fault> {
    let exchange = new.lawful(last_removal);
    try_join!(biased; require_conversation(session, &exchange.conversation), write(session, &exchange))
        .map(drop)
}

async fn require_conversation(session: &Session, id: &ConversationId) -> Result<(), Fault> {
    let sql = "SELECT 1 FROM conversations WHERE workspace_id = $1 AND id = $2";
    match session.rows(sql, &[&id.as_str()]).await?.is_empty() {
        true => Err(rules::unknown_conversation(id).into()),
        false => Ok(()),
    }
}

async fn write(session: &Session, exchange: &Exchange) -> Result<(), Fault> {
    let documents: Option<Vec<&str>> = match exchange.answer.as_ref().map(|answer| &answer.rests_on) {
        Some(RestsOn::Documents(documents)) => Some(documents.iter().map(DocumentId::as_str).collect()),
        Some(RestsOn::Everything) | None => None,
    };
    let (ordinal, is_kept, body) =
        (i64::from(exchange.ordinal), exchange.answer.is_some(), rows::body(exchange)?);
    let sql = "INSERT INTO exchanges VALUES ($1, $2, $3, $4, $5, $6) \
        ON CONFLICT (workspace_id, conversation, ordinal) DO UPDATE \
            SET is_kept = EXCLUDED.is_kept, documents = EXCLUDED.documents, body = EXCLUDED.body";
    session
        .run(sql, &[&exchange.conversation.as_str(), &ordinal, &is_kept, &documents, &body])
        .await
        .map(drop)
}
