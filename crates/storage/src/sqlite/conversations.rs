//! Stored conversations and their answers. An answer is removed with any document that it rests on.

use std::collections::BTreeMap;

use graphloom_core::{
    Batch, Conversation, ConversationId, DocumentId, Exchange, NewExchange, RestsOn, Revision, StoreError,
};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Result, Row, params, params_from_iter};

use super::error::Context;
use super::read::{query, select, sql_limit};
use super::{rows, sums};
use crate::rules;

pub(super) const CONVERSATION: &str = "body, row_sum('conversations', id, body) = sum";

const EXCHANGE: &str = "body, row_sum('exchanges', conversation, ordinal, rests_on, body) = sum";

pub(super) fn conversation_of(row: &Row<'_>) -> Result<Conversation> {
    sums::require(row, 1, "conversations")?;
    rows::json(row, 0)
}

fn exchange_of(row: &Row<'_>) -> Result<Exchange> {
    sums::require(row, 1, "exchanges")?;
    rows::json(row, 0)
}

pub(super) fn conversation(conn: &Connection, id: &ConversationId) -> Result<Option<Conversation>> {
    conn.prepare_cached(&query(CONVERSATION, "conversations WHERE id = ?1"))?
        .query_row([id.as_str()], conversation_of)
        .optional()
}

/// Returns a page of the exchanges of one conversation, or of all conversations.
pub(super) fn exchanges(
    conn: &Connection,
    of: Option<&ConversationId>,
    after: Option<&(ConversationId, u32)>,
    limit: usize,
) -> Result<Vec<Exchange>> {
    let mut conditions = Vec::new();
    let mut values = vec![Value::from(sql_limit(limit))];
    if let Some(of) = of {
        conditions.push(format!("conversation = ?{}", values.len() + 1));
        values.push(of.to_string().into());
    }
    if let Some((conversation, ordinal)) = after {
        conditions.push(format!("(conversation, ordinal) > (?{}, ?{})", values.len() + 1, values.len() + 2));
        values.extend([conversation.to_string().into(), (*ordinal).into()]);
    }
    let filter =
        if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    let from = format!("exchanges {filter} ORDER BY conversation, ordinal LIMIT ?1");
    select(conn, &query(EXCHANGE, &from), params_from_iter(values), exchange_of)
}

/// Removes the answers that rest on these documents, and all later answers in the same conversations.
pub(super) fn remove_answers(conn: &Connection, documents: &[DocumentId], revision: Revision) -> Result<()> {
    if documents.is_empty() {
        return Ok(());
    }
    conn.prepare_cached("INSERT OR REPLACE INTO removals (id, revision) VALUES (1, ?1)")?
        .execute([rows::signed(revision.0)])?;
    let mut first: BTreeMap<String, u32> = BTreeMap::new();
    let mut note = |row: &Row<'_>| -> Result<()> {
        let (conversation, ordinal): (String, u32) = (row.get(0)?, row.get(1)?);
        let known = first.entry(conversation).or_insert(ordinal);
        *known = ordinal.min(*known);
        Ok(())
    };
    let mut of_document =
        conn.prepare_cached("SELECT conversation, ordinal FROM exchange_documents WHERE document = ?1")?;
    for document in documents {
        let mut found = of_document.query([document.as_str()])?;
        while let Some(row) = found.next()? {
            note(row)?;
        }
    }
    let mut of_everything =
        conn.prepare_cached("SELECT conversation, ordinal FROM exchanges WHERE rests_on = 1")?;
    let mut found = of_everything.query([])?;
    while let Some(row) = found.next()? {
        note(row)?;
    }
    if first.is_empty() {
        return Ok(());
    }
    for (conversation, ordinal) in &first {
        let from = "exchanges WHERE conversation = ?1 AND ordinal >= ?2 AND rests_on IS NOT NULL";
        let kept = select(conn, &query(EXCHANGE, from), params![conversation, ordinal], exchange_of)?;
        kept.into_iter().try_for_each(|exchange| write(conn, &Exchange { answer: None, ..exchange }))?;
    }
    Ok(())
}

/// Removes and puts conversations and exchanges.
pub(super) fn apply(conn: &Connection, batch: &Batch) -> Result<(), StoreError> {
    for id in &batch.remove_conversations {
        conn.prepare_cached("DELETE FROM conversations WHERE id = ?1")
            .and_then(|mut delete| delete.execute([id.as_str()]))
            .during("removing conversations")?;
    }
    for conversation in &batch.put_conversations {
        let body = rows::to_json(conversation).during("writing a conversation")?;
        conn.prepare_cached(
            "INSERT INTO conversations (id, body) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET body = ?2",
        )
        .and_then(|mut put| put.execute(params![conversation.id.as_str(), body]))
        .during("putting a conversation")?;
    }
    for new in &batch.put_exchanges {
        let id = &new.exchange.conversation;
        let exists = conn
            .prepare_cached("SELECT 1 FROM conversations WHERE id = ?1")
            .and_then(|mut select| select.exists([id.as_str()]))
            .during("finding a conversation")?;
        if !exists {
            return Err(rules::unknown_conversation(id));
        }
        put_exchange(conn, new).during("putting an exchange")?;
    }
    Ok(())
}

fn put_exchange(conn: &Connection, new: &NewExchange) -> Result<()> {
    let last_removal = conn
        .prepare_cached("SELECT revision FROM removals")?
        .query_row([], |row| rows::unsigned(row, 0))
        .optional()?
        .map_or(Revision(0), Revision);
    let exchange = new.lawful(last_removal);
    write(conn, &exchange)
}

fn write(conn: &Connection, exchange: &Exchange) -> Result<()> {
    let (conversation, ordinal) = (exchange.conversation.as_str(), exchange.ordinal);
    let rests_on = exchange.answer.as_ref().map(|answer| match &answer.rests_on {
        RestsOn::Documents(_) => 0,
        RestsOn::Everything => 1,
    });
    conn.prepare_cached("DELETE FROM exchange_documents WHERE conversation = ?1 AND ordinal = ?2")?
        .execute(params![conversation, ordinal])?;
    conn.prepare_cached(
        "INSERT INTO exchanges (conversation, ordinal, rests_on, body) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (conversation, ordinal) DO UPDATE SET rests_on = ?3, body = ?4",
    )?
    .execute(params![conversation, ordinal, rests_on, rows::to_json(exchange)?])?;
    let Some(RestsOn::Documents(documents)) = exchange.answer.as_ref().map(|answer| &answer.rests_on) else {
        return Ok(());
    };
    let mut insert = conn.prepare_cached(
        "INSERT INTO exchange_documents (document, conversation, ordinal) VALUES (?1, ?2, ?3)",
    )?;
    documents
        .iter()
        .try_for_each(|document| insert.execute(params![document.as_str(), conversation, ordinal]).map(drop))
}
