//! The steps from each schema version to the next.

use rusqlite::Connection;

use super::super::vector_tree::{self, TreeLimits};
use super::super::{apply, changes, rows, sums};
use crate::vector;

/// A step from one schema version to the next.
pub(super) type Migration = fn(&Connection) -> rusqlite::Result<()>;

/// Step `n` turns version `n` into version `n + 1`. A new file runs all of them.
pub(super) const MIGRATIONS: &[Migration] = &[
    create_version_1,
    make_version_2,
    make_version_3,
    make_version_4,
    make_version_5,
    make_version_6,
    make_version_7,
    make_version_8,
    add_tracks_and_renewals,
    add_vector_trees,
    index_leases,
    add_situations,
    name_stores,
    sums::cover,
    add_remarks,
    allow_sparse_vectors,
    add_settings,
    count_empty_extractions,
    pack_rows,
    add_layers,
    store_sparse_vectors_coarsely,
    add_claims,
    grow_trees,
    add_conversations,
    add_originals,
    add_budget,
    add_evidence_revision,
    index_documents_by_size,
];

/// Version 1.
///
/// Documents, chunks and vectors have long ids that many rows repeat, so these rows refer to them by integer. Entity
/// keys are short and define the order of results, so graph tables store them as text: writing needs no lookup, and
/// reading needs no sort. Each query of the port is one range of a primary key or of an index that contains everything
/// it needs. Mentions are clustered by entity and facts by relation. By chunk, an index contains the keys.
pub(super) fn create_version_1(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        CREATE TABLE state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            revision INTEGER NOT NULL, graph_revision INTEGER NOT NULL,
            model TEXT, dimensions INTEGER
        );
        INSERT INTO state (id, revision, graph_revision) VALUES (1, 0, 0);

        CREATE TABLE documents (
            id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, source TEXT NOT NULL, title TEXT NOT NULL,
            content_hash TEXT NOT NULL, text_bytes INTEGER NOT NULL, format TEXT NOT NULL, encoding TEXT NOT NULL,
            lines_match_source INTEGER NOT NULL, meta TEXT NOT NULL, live INTEGER NOT NULL, added_at INTEGER NOT NULL
        );
        CREATE INDEX documents_by_source ON documents (source, key);
        CREATE INDEX documents_by_content ON documents (content_hash, key);

        -- A document's text once, in pieces of 64 KiB; a chunk is a slice of it.
        CREATE TABLE segments (
            document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
            ordinal INTEGER NOT NULL, bytes BLOB NOT NULL,
            PRIMARY KEY (document, ordinal)
        ) WITHOUT ROWID;

        -- State: 0 accepted, 1 chunked, 2 merged, 3 failed, 4 cancelled.
        CREATE TABLE jobs (
            document INTEGER PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
            state INTEGER NOT NULL, reason TEXT, owner TEXT, expires_at INTEGER,
            attempts INTEGER NOT NULL, created_at INTEGER NOT NULL
        );
        CREATE INDEX jobs_open ON jobs (created_at) WHERE state < 2;

        -- State: 0 pending, 1 done, 2 failed; since version 6 3 damaged, 4 damaged and queued again.
        CREATE TABLE chunks (
            id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
            document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
            ordinal INTEGER NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL,
            token_count INTEGER NOT NULL, breadcrumb TEXT NOT NULL,
            state INTEGER NOT NULL, extraction TEXT, reason TEXT, attempts INTEGER
        );
        CREATE INDEX chunks_by_document ON chunks (document, ordinal, key);
        CREATE INDEX chunks_by_extraction ON chunks (extraction) WHERE extraction IS NOT NULL;

        -- Body: JSON of responses, records and rejects, compressed with zstd.
        CREATE TABLE extractions (
            id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, model TEXT NOT NULL, body BLOB NOT NULL
        );

        CREATE TABLE mentions (
            entity TEXT NOT NULL, chunk INTEGER NOT NULL REFERENCES chunks ON DELETE CASCADE,
            ordinal INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, description TEXT NOT NULL,
            start INTEGER, stop INTEGER,
            PRIMARY KEY (entity, chunk, ordinal)
        ) WITHOUT ROWID;
        CREATE UNIQUE INDEX mentions_by_chunk ON mentions (chunk, ordinal);

        CREATE TABLE facts (
            a TEXT NOT NULL, b TEXT NOT NULL, chunk INTEGER NOT NULL REFERENCES chunks ON DELETE CASCADE,
            ordinal INTEGER NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, source_is_a INTEGER NOT NULL,
            keywords TEXT NOT NULL, description TEXT NOT NULL, weight REAL NOT NULL,
            PRIMARY KEY (a, b, chunk, ordinal)
        ) WITHOUT ROWID;
        CREATE UNIQUE INDEX facts_by_chunk ON facts (chunk, ordinal);
        CREATE INDEX facts_by_b ON facts (b);

        CREATE TABLE entities (
            key TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, description TEXT NOT NULL,
            mention_count INTEGER NOT NULL, degree INTEGER NOT NULL, inputs_hash TEXT NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE relations (
            a TEXT NOT NULL, b TEXT NOT NULL, keywords TEXT NOT NULL, description TEXT NOT NULL,
            weight REAL NOT NULL, fact_count INTEGER NOT NULL, inputs_hash TEXT NOT NULL,
            PRIMARY KEY (a, b)
        ) WITHOUT ROWID;
        CREATE INDEX relations_by_b ON relations (b);

        -- Of an entity (kind 0, b empty) or a relation (kind 1).
        CREATE TABLE summaries (
            kind INTEGER NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
            PRIMARY KEY (kind, a, b, key)
        ) WITHOUT ROWID;

        -- Kind: 0 chunk, 1 entity, 2 relation. The numbers stand apart, so that listing reads few pages.
        CREATE TABLE vectors (
            kind INTEGER NOT NULL, key TEXT NOT NULL, inputs_hash TEXT NOT NULL, slot INTEGER NOT NULL,
            PRIMARY KEY (kind, key)
        ) WITHOUT ROWID;
        CREATE TABLE vector_data (slot INTEGER PRIMARY KEY, data BLOB NOT NULL);

        CREATE TABLE calls (
            id INTEGER PRIMARY KEY, role TEXT NOT NULL, model TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
            completion_tokens INTEGER NOT NULL, attempts INTEGER NOT NULL, started_at INTEGER NOT NULL,
            duration_ms INTEGER NOT NULL, outcome INTEGER NOT NULL, reason TEXT, document TEXT
        );

        -- What the newest commits changed, for projections to catch up. Parts: 1 vector, 2 text.
        CREATE TABLE changes (
            id INTEGER PRIMARY KEY, nonce INTEGER NOT NULL, kind INTEGER NOT NULL, key TEXT NOT NULL,
            parts INTEGER NOT NULL
        );
        ",
    )
}

/// Version 2: adds stale marks, and stores vectors with ten bits per number instead of sixteen.
fn make_version_2(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        -- Entities and relations to be derived again; keys as in summaries.
        CREATE TABLE stale (
            kind INTEGER NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL, PRIMARY KEY (kind, a, b)
        ) WITHOUT ROWID;
        ",
    )?;
    let mut slots = conn.prepare("SELECT slot FROM vector_data")?;
    let slots: Vec<i64> = slots.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut select = conn.prepare("SELECT data FROM vector_data WHERE slot = ?1")?;
    let mut update = conn.prepare("UPDATE vector_data SET data = ?2 WHERE slot = ?1")?;
    for slot in slots {
        let halves: Vec<u8> = select.query_row([slot], |row| row.get(0))?;
        let vector: Vec<f32> =
            halves.chunks_exact(2).map(|half| from_half(u16::from_le_bytes([half[0], half[1]]))).collect();
        update.execute(rusqlite::params![slot, vector::whole(&vector::codes(&vector))])?;
    }
    Ok(())
}

/// Version 3: adds where the pages, slides or sheets of a document begin, as JSON.
fn make_version_3(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("ALTER TABLE documents ADD COLUMN parts TEXT NOT NULL DEFAULT '[]';")
}

/// Adds to the ledger how many prompt tokens came from the provider's cache.
fn make_version_4(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("ALTER TABLE calls ADD COLUMN cached_prompt_tokens INTEGER NOT NULL DEFAULT 0;")
}

/// Version 5: adds the decisions of people about the graph, and which records they keep out of it.
fn make_version_5(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        -- Body: JSON of what was decided.
        CREATE TABLE decisions (
            place INTEGER NOT NULL, key TEXT NOT NULL, made_at INTEGER NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (place, key)
        ) WITHOUT ROWID;
        ALTER TABLE mentions ADD COLUMN set_aside INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE facts ADD COLUMN set_aside INTEGER NOT NULL DEFAULT 0;
        ",
    )
}

/// Version 6: chunks may be damaged (state 3) or damaged and queued again (state 4). Rows stay the same, but older
/// programs that do not know these states refuse the file.
fn make_version_6(_: &Connection) -> rusqlite::Result<()> {
    Ok(())
}

/// Version 7: adds the cache of model answers to questions.
fn make_version_7(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        -- Kind: 0 keywords, 1 answer, 2 vector. The newest entries have the largest ids.
        CREATE TABLE cache (
            id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, key TEXT NOT NULL, bytes INTEGER NOT NULL,
            value BLOB NOT NULL
        );
        CREATE UNIQUE INDEX cache_by_key ON cache (kind, key);
        CREATE INDEX cache_by_age ON cache (kind, id, bytes);
        ",
    )
}

/// Version 8: adds the number of rejects per extraction and per call, and indexes of documents by date, of documents
/// with failed or damaged chunks, and of chunks with records that are set aside.
fn make_version_8(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        CREATE TABLE rejects (
            extraction INTEGER NOT NULL REFERENCES extractions ON DELETE CASCADE,
            reason TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (extraction, reason)
        ) WITHOUT ROWID;
        ALTER TABLE calls ADD COLUMN rejects INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX documents_by_date ON documents (added_at, key);
        CREATE INDEX chunks_ill ON chunks (document) WHERE state >= 2;
        CREATE INDEX mentions_set_aside ON mentions (chunk) WHERE set_aside = 1;
        CREATE INDEX facts_set_aside ON facts (chunk) WHERE set_aside = 1;
        ",
    )?;
    let mut numbers = conn.prepare("SELECT id FROM extractions")?;
    let numbers: Vec<i64> = numbers.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut select = conn.prepare("SELECT key, model, body FROM extractions WHERE id = ?1")?;
    for number in numbers {
        // An unreadable extraction must not keep the file from being opened. The error is reported when it is read later.
        if let Ok(extraction) = select.query_row([number], rows::unchecked_extraction) {
            apply::count_rejects(conn, number, &extraction)?;
        }
    }
    Ok(())
}

/// Adds which run queued which document, which chunks are being extracted again, and whether the queue is paused.
fn add_tracks_and_renewals(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        CREATE TABLE tracks (
            track TEXT NOT NULL, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
            PRIMARY KEY (track, document)
        ) WITHOUT ROWID;
        CREATE INDEX tracks_by_document ON tracks (document);

        -- State, extraction, reason and attempts as in chunks.
        CREATE TABLE renewals (
            chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, model TEXT NOT NULL,
            state INTEGER NOT NULL, extraction TEXT, reason TEXT, attempts INTEGER
        );
        CREATE INDEX renewals_by_extraction ON renewals (extraction) WHERE extraction IS NOT NULL;

        -- Null while jobs are worked on.
        ALTER TABLE state ADD COLUMN paused_since INTEGER;
        ",
    )
}

/// Adds the number of vectors of each kind, and trees for kinds with many vectors.
fn add_vector_trees(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        -- Root: null while vectors are few.
        CREATE TABLE vector_trees (kind INTEGER PRIMARY KEY, vectors INTEGER NOT NULL, root INTEGER);
        CREATE TABLE vector_nodes (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
        -- In which leaf a vector is, and whose it is.
        CREATE TABLE vector_places (slot INTEGER PRIMARY KEY, leaf INTEGER NOT NULL, key TEXT NOT NULL);
        ",
    )?;
    vector_tree::build_trees(conn, TreeLimits::default())
}

/// Adds an index of the jobs that hold a lease, which are few among many.
fn index_leases(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("CREATE INDEX jobs_leased ON jobs (document) WHERE owner IS NOT NULL;")
}

/// Adds the contexts of chunks.
fn add_situations(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        -- Text is null where situating failed, and then there are reason and attempts.
        CREATE TABLE situations (
            chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, key TEXT NOT NULL, said_by TEXT NOT NULL,
            text TEXT, reason TEXT, attempts INTEGER
        );
        CREATE INDEX situations_by_key ON situations (key);
        CREATE INDEX situations_failed ON situations (chunk) WHERE text IS NULL;
        ",
    )
}

/// Adds an id of the store, which distinguishes it from another store with the same name.
fn name_stores(conn: &Connection) -> rusqlite::Result<()> {
    let random = std::array::from_fn::<[u8; 8], 2, _>(|_| changes::random().to_le_bytes()).concat();
    let id = blake3::hash(&random).to_hex()[..32].to_owned();
    conn.execute_batch("ALTER TABLE state ADD COLUMN store TEXT NOT NULL DEFAULT '';")?;
    conn.execute("UPDATE state SET store = ?1", [id]).map(drop)
}

/// Returns the value of a finite half-precision number, as version 1 stored them.
fn from_half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2.0f32.powi(-24),
        _ => (fraction + 1024.0) * 2.0f32.powi(exponent - 25),
    };
    if bits >> 15 == 0 { size } else { -size }
}

/// Adds remarks for people about how a document was read, as JSON.
fn add_remarks(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("ALTER TABLE documents ADD COLUMN remarks TEXT NOT NULL DEFAULT '[]';")
}

/// Allows sparse vectors. Stored vectors stay as they are, but older programs that do not know the form refuse the file.
fn allow_sparse_vectors(_: &Connection) -> rusqlite::Result<()> {
    Ok(())
}

/// Adds the models and settings that the workspace is built with, as JSON. Null if none are stored.
fn add_settings(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("ALTER TABLE state ADD COLUMN settings TEXT;")
}

/// Adds which extractions have no record.
fn count_empty_extractions(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "CREATE TABLE empty_extractions (
            extraction INTEGER PRIMARY KEY REFERENCES extractions ON DELETE CASCADE
        );",
    )?;
    let mut numbers = conn.prepare("SELECT id FROM extractions")?;
    let numbers: Vec<i64> = numbers.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut select = conn.prepare("SELECT key, model, body FROM extractions WHERE id = ?1")?;
    let mut insert = conn.prepare("INSERT INTO empty_extractions (extraction) VALUES (?1)")?;
    for number in numbers {
        // An unreadable extraction must not keep the file from being opened. The error is reported when it is read later.
        if select.query_row([number], rows::unchecked_extraction).is_ok_and(|it| it.records.name_nothing()) {
            insert.execute([number])?;
        }
    }
    Ok(())
}

/// Stores hashes as bytes instead of digits, sparse vectors in fewer bits, and leaves of sparse vectors without zeros.
fn pack_rows(conn: &Connection) -> rusqlite::Result<()> {
    for table in ["entities", "relations", "vectors"] {
        conn.execute(
            &format!(
                "UPDATE {table} SET inputs_hash = unhex(inputs_hash)
                 WHERE inputs_hash <> '' AND lower(hex(unhex(inputs_hash))) = inputs_hash"
            ),
            [],
        )?;
    }
    let mut slots = conn.prepare("SELECT slot FROM vector_data WHERE substr(data, 1, 1) = x'00'")?;
    let slots: Vec<i64> = slots.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut select = conn.prepare("SELECT data FROM vector_data WHERE slot = ?1")?;
    let mut update = conn.prepare("UPDATE vector_data SET data = ?2 WHERE slot = ?1")?;
    for slot in slots {
        let stored: Vec<u8> = select.query_row([slot], |row| row.get(0))?;
        update.execute(rusqlite::params![slot, vector::of_codes(&sparse_codes(&stored))])?;
    }
    vector_tree::pack_leaves(conn)
}

/// Adds derived views over the whole workspace. The vectors of their nodes have kind 3.
fn add_layers(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        -- Details: JSON of the deriver.
        CREATE TABLE layers (
            name TEXT PRIMARY KEY, settings TEXT NOT NULL, watermark INTEGER NOT NULL, complete INTEGER NOT NULL,
            owner TEXT, expires_at INTEGER, details TEXT NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE nodes (
            id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, layer TEXT NOT NULL REFERENCES layers,
            level INTEGER NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, details TEXT NOT NULL,
            inputs_hash TEXT NOT NULL
        );
        CREATE INDEX nodes_by_level ON nodes (layer, level, key);
        CREATE INDEX nodes_by_layer ON nodes (layer, key);

        -- Kind: 0 chunk, 1 entity, 3 node.
        CREATE TABLE node_members (
            node INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE, kind INTEGER NOT NULL, member TEXT NOT NULL,
            PRIMARY KEY (node, kind, member)
        ) WITHOUT ROWID;
        CREATE INDEX nodes_by_member ON node_members (kind, member);
        ",
    )
}

/// Stores only the coarse parts of new sparse vectors. Stored vectors stay as they are, but older programs that do not
/// know the form refuse the file. Drops an index of facts that no query uses.
fn store_sparse_vectors_coarsely(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("DROP INDEX facts_by_b;")
}

/// Adds dated statements. The body is the claim as JSON, with the names of its entities.
fn add_claims(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        CREATE TABLE claims (
            subject TEXT NOT NULL, chunk INTEGER NOT NULL REFERENCES chunks ON DELETE CASCADE,
            ordinal INTEGER NOT NULL, object TEXT, body TEXT NOT NULL,
            PRIMARY KEY (subject, chunk, ordinal)
        ) WITHOUT ROWID;
        CREATE UNIQUE INDEX claims_by_chunk ON claims (chunk, ordinal);
        CREATE INDEX claims_by_object ON claims (object) WHERE object IS NOT NULL;
        ",
    )
}

/// Adds trees of vectors that do not have all vectors yet.
fn grow_trees(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        -- Older vectors are in the tree up to the key `after`.
        CREATE TABLE growing_trees (kind INTEGER PRIMARY KEY, after TEXT NOT NULL);
        ",
    )
}

/// Adds stored conversations. Bodies are JSON.
fn add_conversations(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        CREATE TABLE conversations (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
        -- Rests on: null where the answer is removed, 0 for the documents below, 1 for everything.
        CREATE TABLE exchanges (
            conversation TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE, ordinal INTEGER NOT NULL,
            rests_on INTEGER, body TEXT NOT NULL,
            PRIMARY KEY (conversation, ordinal)
        ) WITHOUT ROWID;
        CREATE INDEX exchanges_of_everything ON exchanges (conversation, ordinal) WHERE rests_on = 1;
        CREATE TABLE exchange_documents (
            document TEXT NOT NULL, conversation TEXT NOT NULL, ordinal INTEGER NOT NULL,
            PRIMARY KEY (document, conversation, ordinal),
            FOREIGN KEY (conversation, ordinal) REFERENCES exchanges ON DELETE CASCADE
        ) WITHOUT ROWID;
        CREATE INDEX documents_of_exchanges ON exchange_documents (conversation, ordinal);
        -- The last revision that removed documents.
        CREATE TABLE removals (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL);
        ",
    )
}

/// Adds the files that documents were read from, in pieces of 64 KiB.
fn add_originals(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "
        CREATE TABLE originals (
            document INTEGER PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
            hash TEXT NOT NULL, bytes INTEGER NOT NULL
        );
        CREATE TABLE original_segments (
            document INTEGER NOT NULL REFERENCES originals ON DELETE CASCADE,
            ordinal INTEGER NOT NULL, bytes BLOB NOT NULL,
            PRIMARY KEY (document, ordinal)
        ) WITHOUT ROWID;
        ",
    )
}

/// Adds the budget of the workspace.
fn add_budget(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("CREATE TABLE budget (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL);")
}

/// Adds the last revision that changed documents, their jobs or chunks, or the graph.
fn add_evidence_revision(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "ALTER TABLE state ADD COLUMN evidence_revision INTEGER NOT NULL DEFAULT 0;
        UPDATE state SET evidence_revision = revision;",
    )
}

/// Adds an index of documents by size.
fn index_documents_by_size(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("CREATE INDEX documents_by_size ON documents (text_bytes, key)")
}

/// Reads a sparse vector in the form of versions 16 to 18: a zero byte, the number of dimensions in two bytes, then for
/// each number that is not zero its distance from the previous one in a byte, and the number in two bytes. A distance
/// of 255 skips as many dimensions and has no number.
fn sparse_codes(stored: &[u8]) -> Vec<i16> {
    let [_, low, high, rest @ ..] = stored else { return Vec::new() };
    let mut codes = vec![0; usize::from(u16::from_le_bytes([*low, *high]))];
    let (mut rest, mut at) = (rest, 0);
    loop {
        match rest {
            [u8::MAX, after @ ..] => (rest, at) = (after, at + usize::from(u8::MAX)),
            [distance, low, high, after @ ..] => {
                (rest, at) = (after, at + usize::from(*distance));
                if let Some(code) = codes.get_mut(at) {
                    *code = i16::from_le_bytes([*low, *high]).clamp(-MAX_CODE, MAX_CODE);
                }
            }
            _ => return codes,
        }
    }
}

/// Largest number in a stored vector.
const MAX_CODE: i16 = 509;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_numbers_are_read_exactly() {
        for (bits, value) in
            [(0x0000, 0.0), (0x3c00, 1.0), (0xb800, -0.5), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8)]
        {
            assert_eq!(from_half(bits), value, "{bits:#06x}");
        }
    }
}
