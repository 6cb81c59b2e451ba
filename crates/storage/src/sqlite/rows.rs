//! Converts columns to values and back.
//!
//! The last column of each list says whether the row matches its checksum. If it does not, reading it is an error.

use std::collections::BTreeMap;

use graphloom_core::{
    Call, CallOutcome, Chunk, ChunkContext, ChunkContextKey, ChunkContextOutcome, ChunkExtraction, ChunkId,
    Claim, ContentHash, Decision, DecisionId, Document, DocumentId, EmbeddingSpec, Entity, EntityKey,
    Extraction, ExtractionKey, Fact, Format, ItemKey, ItemKind, Job, JobState, Lease, Mention, Records,
    Reject, Relation, RelationKey, Renewal, Role, Span, Timestamp, Visibility,
};
use rusqlite::types::{Type, Value, ValueRef};
use rusqlite::{Error, Result, Row};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::descriptions::{Descriptions, View};
use super::sums::require;

/// zstd's level. Higher levels save little on a few kilobytes.
const COMPRESSION: i32 = 3;
/// Largest body that is read back, as a guard against a damaged length.
const MAX_BODY_BYTES: usize = 256 << 20;

pub(super) const DOCUMENT: &str = "key, source, title, content_hash, text_bytes, format, encoding, \
     lines_match_source, meta, live, added_at, parts, remarks,
     row_sum('documents', id, key, source, title, content_hash, text_bytes, format, encoding, lines_match_source,
        meta, live, added_at, parts, remarks) = sum";

pub(super) fn document(row: &Row<'_>) -> Result<Document> {
    require(row, 13, "documents")?;
    let format: String = row.get(5)?;
    Ok(Document {
        id: DocumentId::from_stored(row.get::<_, String>(0)?),
        source: row.get(1)?,
        title: row.get(2)?,
        content_hash: ContentHash::from_stored(row.get::<_, String>(3)?),
        text_bytes: unsigned(row, 4)?,
        format: Format::from_name(&format).ok_or_else(|| unreadable(5, format!("format {format}")))?,
        encoding: row.get(6)?,
        lines_match_source: row.get(7)?,
        meta: json(row, 8)?,
        visibility: if row.get(9)? { Visibility::Live } else { Visibility::Staged },
        added_at: Timestamp(unsigned(row, 10)?),
        parts: json(row, 11)?,
        remarks: json(row, 12)?,
    })
}

/// From `jobs j JOIN documents d`.
pub(super) const JOB: &str = "d.key, j.state, j.reason, j.owner, j.expires_at, j.attempts, j.created_at,
     row_sum('jobs', j.document, j.state, j.reason, j.owner, j.expires_at, j.attempts, j.created_at) = j.sum";

pub(super) fn job(row: &Row<'_>) -> Result<Job> {
    require(row, 7, "jobs")?;
    let owner: Option<String> = row.get(3)?;
    let lease = match owner {
        Some(owner) => Some(Lease { owner, expires_at: Timestamp(unsigned(row, 4)?) }),
        None => None,
    };
    Ok(Job {
        document: DocumentId::from_stored(row.get::<_, String>(0)?),
        state: job_state_of(row.get(1)?, row.get::<_, Option<String>>(2)?.unwrap_or_default())?,
        lease,
        attempts: row.get(5)?,
        created_at: Timestamp(unsigned(row, 6)?),
    })
}

/// Returns the state for a code and a reason.
pub(super) fn job_state_of(code: u8, reason: String) -> Result<JobState> {
    Ok(match code {
        0 => JobState::Accepted,
        1 => JobState::Chunked,
        2 => JobState::Merged,
        3 => JobState::Failed { reason },
        4 => JobState::Cancelled,
        other => return Err(unreadable(1, format!("job state {other}"))),
    })
}

pub(super) fn job_state(state: &JobState) -> (u8, Option<&str>) {
    match state {
        JobState::Accepted => (0, None),
        JobState::Chunked => (1, None),
        JobState::Merged => (2, None),
        JobState::Failed { reason } => (3, Some(reason)),
        JobState::Cancelled => (4, None),
    }
}

/// From `chunks c JOIN documents d`.
pub(super) const CHUNK: &str = "c.key, d.key, c.ordinal, c.start, c.stop, c.token_count, c.breadcrumb, c.state, \
     c.extraction, c.reason, c.attempts, c.document,
     row_sum('chunks', c.id, c.key, c.document, c.ordinal, c.start, c.stop, c.token_count, c.breadcrumb, c.state,
        c.extraction, c.reason, c.attempts) = c.sum";

/// Reads a chunk without its text, and the number of its document.
pub(super) fn chunk(row: &Row<'_>) -> Result<(Chunk, i64)> {
    require(row, 12, "chunks")?;
    let chunk = Chunk {
        id: ChunkId::from_stored(row.get::<_, String>(0)?),
        document: DocumentId::from_stored(row.get::<_, String>(1)?),
        ordinal: row.get(2)?,
        span: Span { start: unsigned(row, 3)?, end: unsigned(row, 4)? },
        token_count: row.get(5)?,
        breadcrumb: json(row, 6)?,
        text: String::new(),
        extraction: extraction_state(row, 7)?,
    };
    Ok((chunk, row.get(11)?))
}

/// Reads the columns state, extraction, reason and attempts, starting at column `at`.
pub(super) fn extraction_state(row: &Row<'_>, at: usize) -> Result<ChunkExtraction> {
    Ok(match row.get(at)? {
        0 => ChunkExtraction::Pending,
        1 => ChunkExtraction::Done { key: ExtractionKey::from_stored(row.get::<_, String>(at + 1)?) },
        2 => ChunkExtraction::Failed { reason: row.get(at + 2)?, attempts: row.get(at + 3)? },
        state @ (3 | 4) => ChunkExtraction::Damaged {
            key: ExtractionKey::from_stored(row.get::<_, String>(at + 1)?),
            reason: row.get(at + 2)?,
            attempts: row.get(at + 3)?,
            again: state == 4,
        },
        other => return Err(unreadable(at, format!("chunk state {other}"))),
    })
}

/// Returns state, extraction, reason and attempts.
pub(super) fn chunk_state(extraction: &ChunkExtraction) -> (u8, Option<&str>, Option<&str>, Option<u32>) {
    match extraction {
        ChunkExtraction::Pending => (0, None, None, None),
        ChunkExtraction::Done { key } => (1, Some(key.as_str()), None, None),
        ChunkExtraction::Failed { reason, attempts } => (2, None, Some(reason), Some(*attempts)),
        ChunkExtraction::Damaged { key, reason, attempts, again } => {
            (if *again { 4 } else { 3 }, Some(key.as_str()), Some(reason), Some(*attempts))
        }
    }
}

/// From `renewals r JOIN chunks c`.
pub(super) const RENEWAL: &str = "c.key, r.model, r.state, r.extraction, r.reason, r.attempts,
     row_sum('renewals', r.chunk, r.model, r.state, r.extraction, r.reason, r.attempts) = r.sum";

pub(super) fn renewal(row: &Row<'_>) -> Result<Renewal> {
    require(row, 6, "renewals")?;
    Ok(Renewal {
        chunk: ChunkId::from_stored(row.get::<_, String>(0)?),
        model: row.get(1)?,
        extraction: extraction_state(row, 2)?,
    })
}

/// From `situations s JOIN chunks c`.
pub(super) const CHUNK_CONTEXT: &str = "c.key, s.key, s.said_by, s.text, s.reason, s.attempts,
     row_sum('situations', s.chunk, s.key, s.said_by, s.text, s.reason, s.attempts) = s.sum";

pub(super) fn chunk_context(row: &Row<'_>) -> Result<ChunkContext> {
    require(row, 6, "situations")?;
    let text: Option<String> = row.get(3)?;
    Ok(ChunkContext {
        chunk: ChunkId::from_stored(row.get::<_, String>(0)?),
        key: ChunkContextKey::from_stored(row.get::<_, String>(1)?),
        by: row.get(2)?,
        outcome: match text {
            Some(text) => ChunkContextOutcome::Written { text },
            None => ChunkContextOutcome::Failed { reason: row.get(4)?, attempts: row.get(5)? },
        },
    })
}

pub(super) const EXTRACTION: &str = "key, model, body, row_sum('extractions', id, key, model, body) = sum";

/// The compressed part of an extraction.
#[derive(Deserialize)]
struct Body {
    responses: Vec<String>,
    records: Records,
    rejects: Vec<Reject>,
}

#[derive(Serialize)]
struct BodyRef<'a> {
    responses: &'a [String],
    records: &'a Records,
    rejects: &'a [Reject],
}

pub(super) fn extraction(row: &Row<'_>) -> Result<Extraction> {
    require(row, 3, "extractions")?;
    unchecked_extraction(row)
}

/// Reads an extraction from a file that has no checksums yet.
pub(super) fn unchecked_extraction(row: &Row<'_>) -> Result<Extraction> {
    let body =
        zstd::bulk::decompress(row.get_ref(2)?.as_blob()?, MAX_BODY_BYTES).map_err(|e| from_sql(2, e))?;
    let body: Body = serde_json::from_slice(&body).map_err(|e| from_sql(2, e))?;
    Ok(Extraction {
        key: ExtractionKey::from_stored(row.get::<_, String>(0)?),
        model: row.get(1)?,
        responses: body.responses,
        records: body.records,
        rejects: body.rejects,
    })
}

pub(super) fn extraction_body(extraction: &Extraction) -> Result<Vec<u8>> {
    let Extraction { key: _, model: _, responses, records, rejects } = extraction;
    let body = serde_json::to_vec(&BodyRef { responses, records, rejects }).map_err(to_sql)?;
    zstd::bulk::compress(&body, COMPRESSION).map_err(to_sql)
}

/// From `mentions m JOIN chunks c`.
pub(super) const MENTION: &str =
    "c.key, m.ordinal, m.entity, m.name, m.kind, m.description, m.start, m.stop, m.set_aside,
     row_sum('mentions', m.entity, m.chunk, m.ordinal, m.name, m.kind, m.description, m.start, m.stop, m.set_aside)
        = m.sum, c.document";

pub(super) fn mention(row: &Row<'_>, descriptions: &mut Descriptions<'_>) -> Result<Mention> {
    require(row, 9, "mentions")?;
    let start: Option<i64> = row.get(6)?;
    let span = match start {
        Some(_) => Some(Span { start: unsigned(row, 6)?, end: unsigned(row, 7)? }),
        None => None,
    };
    Ok(Mention {
        chunk: ChunkId::from_stored(row.get::<_, String>(0)?),
        ordinal: row.get(1)?,
        entity: EntityKey::from_stored(row.get::<_, String>(2)?),
        name: row.get(3)?,
        kind: row.get(4)?,
        description: descriptions.of_record(row, 5, row.get(10)?)?,
        span,
        set_aside: row.get(8)?,
    })
}

/// From `facts f JOIN chunks c`.
pub(super) const FACT: &str = "c.key, f.ordinal, f.a, f.b, f.source, f.target, f.source_is_a, f.keywords, f.description, f.weight, \
     f.set_aside,
     row_sum('facts', f.a, f.b, f.chunk, f.ordinal, f.source, f.target, f.source_is_a, f.keywords, f.description,
        f.weight, f.set_aside) = f.sum, c.document";

pub(super) fn fact(row: &Row<'_>, descriptions: &mut Descriptions<'_>) -> Result<Fact> {
    require(row, 11, "facts")?;
    Ok(Fact {
        chunk: ChunkId::from_stored(row.get::<_, String>(0)?),
        ordinal: row.get(1)?,
        relation: relation_key(row, 2)?,
        source: row.get(4)?,
        target: row.get(5)?,
        source_is_a: row.get(6)?,
        keywords: json(row, 7)?,
        description: descriptions.of_record(row, 8, row.get(12)?)?,
        weight: row.get(9)?,
        set_aside: row.get(10)?,
    })
}

/// From `claims k JOIN chunks c`.
pub(super) const CLAIM: &str =
    "k.body, row_sum('claims', k.subject, k.chunk, k.ordinal, k.object, k.body) = k.sum";

pub(super) fn claim(row: &Row<'_>) -> Result<Claim> {
    require(row, 1, "claims")?;
    json(row, 0)
}

pub(super) const DECISION: &str =
    "place, key, made_at, body, row_sum('decisions', place, key, made_at, body) = sum";

pub(super) fn decision(row: &Row<'_>) -> Result<Decision> {
    require(row, 4, "decisions")?;
    Ok(Decision {
        order: unsigned(row, 0)?,
        id: DecisionId::from_stored(row.get::<_, String>(1)?),
        made_at: Timestamp(unsigned(row, 2)?),
        action: json(row, 3)?,
    })
}

pub(super) const ENTITY: &str = "key, name, kind, description, mention_count, degree, inputs_hash,
     row_sum('entities', key, name, kind, description, mention_count, degree, inputs_hash) = sum";

pub(super) fn entity(row: &Row<'_>, descriptions: &mut Descriptions<'_>) -> Result<Entity> {
    require(row, 7, "entities")?;
    let key: String = row.get(0)?;
    let description = descriptions.of_view(row, 3, View::Entity(&key))?;
    Ok(Entity {
        key: EntityKey::from_stored(key),
        name: row.get(1)?,
        kind: row.get(2)?,
        description,
        mention_count: row.get(4)?,
        degree: row.get(5)?,
        inputs_hash: hash(row, 6)?,
    })
}

pub(super) const RELATION: &str = "a, b, keywords, description, weight, fact_count, inputs_hash,
     row_sum('relations', a, b, keywords, description, weight, fact_count, inputs_hash) = sum";

pub(super) fn relation(row: &Row<'_>, descriptions: &mut Descriptions<'_>) -> Result<Relation> {
    require(row, 7, "relations")?;
    let key = relation_key(row, 0)?;
    let description = descriptions.of_view(row, 3, View::of(&key))?;
    Ok(Relation {
        key,
        keywords: json(row, 2)?,
        description,
        weight: row.get(4)?,
        fact_count: row.get(5)?,
        inputs_hash: hash(row, 6)?,
    })
}

/// Reads the pair in columns `at` and `at + 1`.
pub(super) fn relation_key(row: &Row<'_>, at: usize) -> Result<RelationKey> {
    let (a, b): (String, String) = (row.get(at)?, row.get(at + 1)?);
    RelationKey::new(EntityKey::from_stored(a), EntityKey::from_stored(b))
        .ok_or_else(|| unreadable(at, "a relation of an entity with itself".to_owned()))
}

pub(super) const CALL: &str = "role, model, prompt_tokens, completion_tokens, attempts, started_at, duration_ms, \
     outcome, reason, document, cached_prompt_tokens, rejects,
     row_sum('calls', id, role, model, prompt_tokens, completion_tokens, attempts, started_at, duration_ms, outcome,
        reason, document, cached_prompt_tokens, rejects) = sum";

pub(super) fn call(row: &Row<'_>) -> Result<Call> {
    require(row, 12, "calls")?;
    let role: String = row.get(0)?;
    let document: Option<String> = row.get(9)?;
    Ok(Call {
        role: role_of(&role).ok_or_else(|| unreadable(0, format!("role {role}")))?,
        model: row.get(1)?,
        prompt_tokens: unsigned(row, 2)?,
        cached_prompt_tokens: unsigned(row, 10)?,
        completion_tokens: unsigned(row, 3)?,
        attempts: row.get(4)?,
        started_at: Timestamp(unsigned(row, 5)?),
        duration_ms: unsigned(row, 6)?,
        outcome: match row.get(7)? {
            0 => CallOutcome::Ok,
            1 => CallOutcome::Truncated,
            2 => CallOutcome::Failed { reason: row.get(8)? },
            other => return Err(unreadable(7, format!("call outcome {other}"))),
        },
        document: document.map(DocumentId::from_stored),
        rejects: row.get(11)?,
    })
}

pub(super) fn call_outcome(outcome: &CallOutcome) -> (u8, Option<&str>) {
    match outcome {
        CallOutcome::Ok => (0, None),
        CallOutcome::Truncated => (1, None),
        CallOutcome::Failed { reason } => (2, Some(reason)),
    }
}

fn role_of(name: &str) -> Option<Role> {
    Role::ALL.into_iter().find(|role| role.name() == name)
}

pub(super) fn embedding(conn: &rusqlite::Connection) -> Result<Option<EmbeddingSpec>> {
    conn.prepare_cached("SELECT model, dimensions FROM state")?.query_row([], |row| {
        let model: Option<String> = row.get(0)?;
        match model {
            Some(model) => Ok(Some(EmbeddingSpec { model, dimensions: row.get(1)? })),
            None => Ok(None),
        }
    })
}

/// Returns the settings that the workspace is built with. Empty if none are stored.
pub(super) fn settings(conn: &rusqlite::Connection) -> Result<BTreeMap<String, String>> {
    let stored: Option<String> =
        conn.prepare_cached("SELECT settings FROM state")?.query_row([], |row| row.get(0))?;
    stored.map_or(Ok(BTreeMap::new()), |stored| serde_json::from_str(&stored).map_err(to_sql))
}

/// Returns the item whose id is in this column.
pub(super) fn item(kind: ItemKind, row: &Row<'_>, at: usize) -> Result<ItemKey> {
    let id = row.get_ref(at)?.as_str()?;
    ItemKey::from_id(kind, id).ok_or_else(|| unreadable(at, format!("key of a vector {id:?}")))
}

pub(super) fn kind_code(kind: ItemKind) -> u8 {
    match kind {
        ItemKind::Chunk => 0,
        ItemKind::Entity => 1,
        ItemKind::Relation => 2,
        ItemKind::Node => 3,
    }
}

/// Returns the stored form of a hash: its bytes, which take half as much as its digits.
pub(super) fn hash_column(hash: &ContentHash) -> Value {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = hash.as_str().as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect();
    match bytes {
        Some(bytes) if rest.is_empty() && !bytes.is_empty() => Value::Blob(bytes),
        _ => Value::Text(hash.as_str().to_owned()),
    }
}

/// Reads the hash in a column.
pub(super) fn hash(row: &Row<'_>, at: usize) -> Result<ContentHash> {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    Ok(match row.get_ref(at)? {
        ValueRef::Blob(bytes) => {
            let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15].map(digit));
            ContentHash::from_stored(digits.collect::<String>())
        }
        text => ContentHash::from_stored(text.as_str()?),
    })
}

/// Reads a column whose numbers are never negative.
pub(super) fn unsigned(row: &Row<'_>, at: usize) -> Result<u64> {
    let value: i64 = row.get(at)?;
    u64::try_from(value).map_err(|_| Error::IntegralValueOutOfRange(at, value))
}

/// Converts a number. The rules have already checked that it fits.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> Result<T> {
    serde_json::from_str(row.get_ref(at)?.as_str()?).map_err(|e| from_sql(at, e))
}

pub(super) fn to_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(to_sql)
}

pub(super) fn unreadable(at: usize, what: String) -> Error {
    Error::FromSqlConversionFailure(at, Type::Null, format!("unknown {what}").into())
}

fn from_sql(at: usize, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::FromSqlConversionFailure(at, Type::Blob, Box::new(error))
}

fn to_sql(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::ToSqlConversionFailure(Box::new(error))
}
