//! Conversations that are kept, and their answers, which go with the documents that they rest on.

use std::collections::BTreeMap;

use graphloom_core::{Batch, DocumentId, Exchange, NewExchange, RestsOn, Revision};
use graphloom_rules::batch as rules;

use crate::error::Fault;
use crate::rows;
use crate::session::Session;

/// Removes the answers that rest on these documents, and all later ones of their conversations.
pub(super) async fn remove_answers(session: &Session, documents: &[DocumentId]) -> Result<(), Fault> {
    if documents.is_empty() {
        return Ok(());
    }
    let documents: Vec<&str> = documents.iter().map(DocumentId::as_str).collect();
    let sql = "SELECT e.body FROM exchanges e JOIN ( \
            SELECT conversation, min(ordinal) AS first FROM exchanges \
            WHERE workspace_id = $1 AND is_kept AND (documents IS NULL OR documents && $2) GROUP BY conversation \
        ) l ON l.conversation = e.conversation AND e.ordinal >= l.first \
        WHERE e.workspace_id = $1 AND e.is_kept";
    for row in session.rows(sql, &[&documents]).await? {
        let exchange: Exchange = rows::parsed(&row, 0)?;
        write(session, &Exchange { answer: None, ..exchange }).await?;
    }
    Ok(())
}

/// Removes and puts conversations and exchanges.
///
/// - `last_removal`: the last revision that removed documents, this one included.
pub(super) async fn apply(session: &Session, batch: &Batch, last_removal: Revision) -> Result<(), Fault> {
    if !batch.remove_conversations.is_empty() {
        let ids: Vec<&str> = batch.remove_conversations.iter().map(|id| id.as_str()).collect();
        let sql = "DELETE FROM exchanges WHERE workspace_id = $1 AND conversation = ANY($2)";
        session.run(sql, &[&ids]).await?;
        session.run("DELETE FROM conversations WHERE workspace_id = $1 AND id = ANY($2)", &[&ids]).await?;
    }
    if !batch.put_conversations.is_empty() {
        let put: BTreeMap<&str, _> = batch.put_conversations.iter().map(|it| (it.id.as_str(), it)).collect();
        let ids: Vec<&str> = put.keys().copied().collect();
        let bodies = put.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
        let sql = "INSERT INTO conversations SELECT $1, * FROM unnest($2::text[], $3::text[]) \
            ON CONFLICT (workspace_id, id) DO UPDATE SET body = EXCLUDED.body";
        session.run(sql, &[&ids, &bodies]).await?;
    }
    for new in &batch.put_exchanges {
        put_exchange(session, new, last_removal).await?;
    }
    Ok(())
}

async fn put_exchange(session: &Session, new: &NewExchange, last_removal: Revision) -> Result<(), Fault> {
    let id = &new.exchange.conversation;
    let sql = "SELECT 1 FROM conversations WHERE workspace_id = $1 AND id = $2";
    if session.rows(sql, &[&id.as_str()]).await?.is_empty() {
        return Err(rules::unknown_conversation(id).into());
    }
    write(session, &new.lawful(last_removal)).await
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
