//! The file's tables, and how a file is created, opened, backed up and migrated.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use graphloom_core::{Revision, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::error::{Context, backend, classified, opening};
use super::locks::Waiting;
use super::place::{self, Place};
use super::unlocked::{self, Stamp};
use super::vector_tree::{self, TreeLimits};
use super::{apply, changes, rows, sums};
use crate::{private, vector};

/// How long a connection that reads waits for another process that recovers or creates the file.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Prepared statements kept per connection; every statement of the crate fits.
const STATEMENT_CACHE: usize = 128;
/// Page cache of the connection that writes, in KiB (negative as SQLite wants it): room for the pages of one merge, and for
/// the inner nodes of trees of a million vectors, which many merges read.
const WRITER_CACHE_KIB: i32 = -32768;
/// Page cache of a connection that reads.
const READER_CACHE_KIB: i32 = -4096;
/// The log is cut back to this after a checkpoint.
const WAL_LIMIT_BYTES: i64 = 64 << 20;
/// Bytes of a file that is written to find out whether there is room: what the smallest commit needs.
const PROBE_BYTES: usize = 128 << 10;
/// Marks the file as ours: `GrLm`.
const APPLICATION_ID: i32 = 0x4772_4c6d;

/// One step from a schema version to the next.
type Migration = fn(&Connection) -> rusqlite::Result<()>;

/// Step `n` makes version `n + 1` of version `n`. A new file runs all of them.
const MIGRATIONS: &[Migration] = &[
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
];

/// Version 1.
///
/// Documents, chunks and vectors have long ids that many rows repeat, so those rows name them by integer. Entity
/// keys are short and are the order answers come in, so graph tables hold them as text: no lookup to write, no sort
/// to read. Each question of the port is one range of a primary key or of an index that holds what is asked:
/// mentions by entity and facts by relation cluster their rows; by chunk, an index holds the keys.
fn create_version_1(conn: &Connection) -> rusqlite::Result<()> {
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

/// Version 2: marks what is to be derived again, and keeps vectors in ten bits a number instead of sixteen.
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
        update.execute(rusqlite::params![slot, vector::encode(&vector)])?;
    }
    Ok(())
}

/// Adds to the ledger how many tokens came from the provider's prompt cache.
fn make_version_4(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("ALTER TABLE calls ADD COLUMN cached_prompt_tokens INTEGER NOT NULL DEFAULT 0;")
}

/// Version 5: what people decided about the graph, and which records that keeps out of it.
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

/// Version 6: chunks may be damaged, state 3, or damaged and queued again, state 4. Rows stay as they are; a program that does
/// not know these states refuses the file.
fn make_version_6(_: &Connection) -> rusqlite::Result<()> {
    Ok(())
}

/// Version 7: what is remembered of models' answers to questions.
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

/// Version 8: how many pieces of each extraction's answers were no records, and of each call's; documents by date, those
/// with chunks that are not well, and chunks with records that are set aside.
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
        // One that cannot be read must not keep the file from being opened; reading it later says what is wrong.
        if let Ok(extraction) = select.query_row([number], rows::unchecked_extraction) {
            apply::count_rejects(conn, number, &extraction)?;
        }
    }
    Ok(())
}

/// Which run queued which document, which chunks are asked about anew, and whether the queue is paused.
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

/// How many vectors there are of each kind, and trees of those of many.
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
    vector_tree::plant_all(conn, TreeLimits::default())
}

/// An index of the jobs that hold a lease, which are few of many.
fn index_leases(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("CREATE INDEX jobs_leased ON jobs (document) WHERE owner IS NOT NULL;")
}

/// What situates chunks in their documents.
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

/// An id of the store, which tells it from another one of the same name.
fn name_stores(conn: &Connection) -> rusqlite::Result<()> {
    let random = std::array::from_fn::<[u8; 8], 2, _>(|_| changes::random().to_le_bytes()).concat();
    let id = blake3::hash(&random).to_hex()[..32].to_owned();
    conn.execute_batch("ALTER TABLE state ADD COLUMN store TEXT NOT NULL DEFAULT '';")?;
    conn.execute("UPDATE state SET store = ?1", [id]).map(drop)
}

/// The value of a finite half-precision number, as version 1 stored them.
fn from_half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2.0f32.powi(-24),
        _ => (fraction + 1024.0) * 2.0f32.powi(exponent - 25),
    };
    if bits >> 15 == 0 { size } else { -size }
}

/// What people should know of how a document was read, as JSON.
fn add_remarks(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("ALTER TABLE documents ADD COLUMN remarks TEXT NOT NULL DEFAULT '[]';")
}

/// Version 3: where the pages, slides or sheets of a document begin, as JSON.
fn make_version_3(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("ALTER TABLE documents ADD COLUMN parts TEXT NOT NULL DEFAULT '[]';")
}

/// Opens the file for writing, creating or migrating it first where needed.
///
/// # Errors
///
/// [`StoreError::Lost`] where less is there than was committed. Then nothing is written, the log not emptied, and what
/// is left can be looked at.
pub(super) fn open_writer(path: &Path, waiting: &Arc<Waiting>) -> Result<(Connection, Place), StoreError> {
    let marked = place::read_mark(path).filter(|marked| marked.revision > Revision(0));
    place::require_file(path, marked.as_ref())?;
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Its log and its index of the log get the permissions of the file.
    private::create_missing_file(path).map_err(|e| backend(format!("creating {}", path.display()), e))?;
    let mut conn = Connection::open_with_flags(path, flags).opening(path)?;
    waiting.guide(&mut conn).opening(path)?;
    denied().map_err(|error| classified(backend("opening".to_owned(), error), path))?;
    // The last connection to a file moves the log into it. With a damaged log that must not happen.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).opening(path)?;
    place::require_reached(path, marked.as_ref(), &place::committed(&conn).opening(path)?)?;
    bring_up_to_date(&mut conn, path, MIGRATIONS)?;
    // SQLite does not wait here by itself where another process opens the file, too.
    waiting.until_free(|| conn.pragma_update(None, "journal_mode", "WAL")).opening(path)?;
    // The writer copies the log itself, once it has answered.
    conn.pragma_update(None, "wal_autocheckpoint", 0).opening(path)?;
    conn.pragma_update(None, "synchronous", "FULL").opening(path)?;
    conn.pragma_update(None, "foreign_keys", true).opening(path)?;
    conn.pragma_update(None, "journal_size_limit", WAL_LIMIT_BYTES).opening(path)?;
    sums::keep(&conn).opening(path)?;
    tune(&conn, WRITER_CACHE_KIB).opening(path)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).opening(path)?;
    let found = place::committed(&conn).opening(path)?;
    if found.revision > Revision(0) {
        place::raise_mark(path, &found);
    }
    let place = Place::of(path, found.store);
    Ok((conn, place))
}

/// An empty file of this release, in memory.
pub(super) fn new_in_memory() -> rusqlite::Result<Connection> {
    let conn = Connection::open_in_memory()?;
    sums::register(&conn)?;
    MIGRATIONS.iter().try_for_each(|migration| migration(&conn))?;
    Ok(conn)
}

/// A connection that reads.
pub(super) struct ReadConnection {
    pub(super) conn: Connection,
    /// How the file was, where no locks keep it so.
    pub(super) unlocked: Option<Stamp>,
}

/// Opens a connection that only reads; the file exists and is up to date. Where the files that locks need cannot be made, it
/// reads without.
pub(super) fn open_reader(path: &Path) -> Result<ReadConnection, StoreError> {
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(BUSY_TIMEOUT)?;
        conn.pragma_update(None, "query_only", true)?;
        // Only now the files beside it are opened.
        conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(ReadConnection { conn, unlocked: None })
    };
    let opened = match open() {
        Err(error) if unlocked::may_help(&error) => match unlocked::open(path).opening(path)? {
            Some((conn, stamp)) => Ok(ReadConnection { conn, unlocked: Some(stamp) }),
            None => Err(error),
        },
        opened => opened,
    };
    let opened = opened.opening(path).map_err(|error| unwritable(error, path))?;
    sums::register(&opened.conn).opening(path)?;
    tune(&opened.conn, READER_CACHE_KIB).opening(path)?;
    Ok(opened)
}

/// The place of a file that cannot be opened for writing for this `reason`; the reason where it cannot be read either, or is
/// not of this version.
pub(super) fn readable(path: &Path, reason: StoreError) -> Result<Place, StoreError> {
    let supported = MIGRATIONS.len() as u32;
    let marked = place::read_mark(path).filter(|marked| marked.revision > Revision(0));
    let Ok(mut reader) = open_reader(path) else { return Err(reason) };
    let look = reader.conn.transaction_with_behavior(TransactionBehavior::Deferred).opening(path)?;
    if version_of(&look, path, supported)? != supported {
        return Err(reason);
    }
    let found = place::committed(&look).opening(path)?;
    place::require_reached(path, marked.as_ref(), &found)?;
    Ok(Place::read_only(path, found.store))
}

/// The error that says why the folder of `path` cannot be written, where SQLite only says that a file could not be opened
/// or written; else the same error.
pub(super) fn unwritable(error: StoreError, path: &Path) -> StoreError {
    let StoreError::Backend { operation, source } = error else { return error };
    let is_unclear = source.downcast_ref::<rusqlite::Error>().is_some_and(unlocked::may_help);
    match probe(path) {
        Err(reason @ (StoreError::DiskFull { .. } | StoreError::ReadOnly { .. })) if is_unclear => reason,
        _ => StoreError::Backend { operation, source },
    }
}

/// Fails where a test has this thread's writes fail.
fn denied() -> std::io::Result<()> {
    #[cfg(test)]
    if let Some(kind) = DENIED.get() {
        return Err(kind.into());
    }
    Ok(())
}

#[cfg(test)]
thread_local! {
    /// How opening a store for writing fails in this thread.
    pub(super) static DENIED: std::cell::Cell<Option<std::io::ErrorKind>> = const { std::cell::Cell::new(None) };
}

/// Finds out whether files beside the store can be written, by one that is removed again.
pub(super) fn probe(path: &Path) -> Result<(), StoreError> {
    let probe = place::beside(path, &format!(".{}.probe", std::process::id()));
    let written = denied().and_then(|()| std::fs::write(&probe, vec![1; PROBE_BYTES]));
    // Part of it may be there.
    let _ = std::fs::remove_file(&probe);
    written.map_err(|error| classified(backend(format!("writing beside {}", path.display()), error), path))
}

fn tune(conn: &Connection, cache_kib: i32) -> rusqlite::Result<()> {
    conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // Without this, statements are compiled again whenever a bound limit or key changes.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.pragma_update(None, "cache_size", cache_kib)
}

/// Runs the migrations the file has not seen, after copying an older file to a backup beside it.
fn bring_up_to_date(conn: &mut Connection, path: &Path, migrations: &[Migration]) -> Result<(), StoreError> {
    sums::register(conn).opening(path)?;
    let supported = migrations.len() as u32;
    // One transaction, so that a file that another process is creating is seen either empty or whole.
    let look = conn.transaction_with_behavior(TransactionBehavior::Deferred).opening(path)?;
    let version = version_of(&look, path, supported)?;
    drop(look);
    if version == supported {
        return Ok(());
    }
    if version > 0 {
        back_up(conn, path, version)?;
    }
    // Another process may have done it meanwhile: look again, now alone.
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate).opening(path)?;
    let version = version_of(&transaction, path, supported)?;
    sums::condemn(&transaction).opening(path)?;
    for migration in &migrations[version as usize..] {
        migration(&transaction).map_err(|error| not_of_version(error, path, version))?;
    }
    // Tables may have got columns after the sums of their rows were first made.
    if sums::are_kept(&transaction).opening(path)? {
        sums::cover(&transaction).opening(path)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).opening(path)?;
    transaction.pragma_update(None, "user_version", supported).opening(path)?;
    transaction.commit().opening(path)
}

/// A migration that fails in itself met another schema than that of the version.
fn not_of_version(error: rusqlite::Error, path: &Path, version: u32) -> StoreError {
    let refused = match &error {
        rusqlite::Error::SqlInputError { msg, .. } => Some(msg.clone()),
        rusqlite::Error::SqliteFailure(code, _) if code.code == ErrorCode::Unknown => Some(error.to_string()),
        _ => None,
    };
    match refused {
        Some(why) => StoreError::Corrupt {
            path: path.display().to_string(),
            what: format!(
                "its tables are not those of schema version {version}, which it says it has: {why}"
            ),
        },
        None => opening(error, path),
    }
}

/// The file's schema version; 0 for an empty file. Reads several things, so it needs a transaction around it.
fn version_of(conn: &Connection, path: &Path, supported: u32) -> Result<u32, StoreError> {
    debug_assert!(!conn.is_autocommit(), "another process may create the file between two reads");
    let read = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).opening(path);
    let application = read("PRAGMA application_id")?;
    let tables = read("SELECT count(*) FROM sqlite_schema")?;
    let is_new = application == 0 && tables == 0;
    if !is_new && application != i64::from(APPLICATION_ID) {
        let what = "a database of another program".to_owned();
        return Err(StoreError::Corrupt { path: path.display().to_string(), what });
    }
    let found = u32::try_from(read("PRAGMA user_version")?).unwrap_or(u32::MAX);
    if found > supported {
        return Err(StoreError::Newer { path: path.display().to_string(), found, supported });
    }
    Ok(found)
}

/// Copies the file, whatever its log holds included, to `<file>.v<version>.backup`.
fn back_up(conn: &Connection, path: &Path, version: u32) -> Result<(), StoreError> {
    let backup = place::beside(path, &format!(".v{version}.backup"));
    let partial = place::beside(path, &format!(".v{version}.{}.partial", std::process::id()));
    let operation = || format!("backing up {} to {}", path.display(), backup.display());
    if partial.exists() {
        std::fs::remove_file(&partial).map_err(|e| backend(operation(), e))?;
    }
    private::create_missing_file(&partial).map_err(|e| backend(operation(), e))?;
    conn.execute("VACUUM INTO ?1", [partial.to_string_lossy()]).map_err(|e| backend(operation(), e))?;
    std::fs::rename(&partial, &backup).map_err(|e| backend(operation(), e))?;
    tracing::info!(file = %path.display(), backup = %backup.display(), "backed up before migrating");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Patience, read};
    use super::*;

    fn create_old(conn: &Connection) -> rusqlite::Result<()> {
        conn.execute_batch("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('kept');")
    }

    fn add_column(conn: &Connection) -> rusqlite::Result<()> {
        conn.execute_batch("ALTER TABLE notes ADD COLUMN seen INTEGER NOT NULL DEFAULT 7;")
    }

    fn fails(conn: &Connection) -> rusqlite::Result<()> {
        conn.execute_batch("DROP TABLE notes; SELECT nonsense;")
    }

    fn open_writer(path: &Path) -> Result<Connection, StoreError> {
        super::open_writer(path, &Waiting::new(path, Patience::Endless)).map(|(conn, _)| conn)
    }

    fn check_open(path: &Path, migrations: &[Migration]) -> Result<Connection, StoreError> {
        let mut conn = Connection::open(path).opening(path)?;
        bring_up_to_date(&mut conn, path, migrations)?;
        Ok(conn)
    }

    #[test]
    fn an_older_file_is_backed_up_and_migrated() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        drop(check_open(&path, &[create_old]).expect("a new file"));
        let conn = check_open(&path, &[create_old, add_column]).expect("a migrated file");
        let row = conn.query_row("SELECT text, seen FROM notes", [], |r| Ok((r.get(0)?, r.get(1)?)));
        assert_eq!(row, Ok(("kept".to_owned(), 7)));
        let backup = dir.path().join("w.graphloom.v1.backup");
        let conn = check_open(&backup, &[create_old]).expect("the backup opens as the older version");
        assert_eq!(conn.query_row("SELECT text FROM notes", [], |r| r.get(0)), Ok("kept".to_owned()));
    }

    #[test]
    fn half_precision_numbers_are_read_as_what_they_were() {
        for (bits, value) in
            [(0x0000, 0.0), (0x3c00, 1.0), (0xb800, -0.5), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8)]
        {
            assert_eq!(from_half(bits), value, "{bits:#06x}");
        }
    }

    #[test]
    fn version_2_reads_the_vectors_of_version_1() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        let conn = check_open(&path, &MIGRATIONS[..1]).expect("version 1");
        // The halves of 0.6, -0.8 and 0.
        let halves: Vec<u8> = [0x38cd_u16, 0xba66, 0].iter().flat_map(|half| half.to_le_bytes()).collect();
        conn.execute("INSERT INTO vector_data (data) VALUES (?1)", [halves]).expect("a vector");
        drop(conn);
        let conn = check_open(&path, &MIGRATIONS[..2]).expect("version 2");
        let data: Vec<u8> =
            conn.query_row("SELECT data FROM vector_data", [], |row| row.get(0)).expect("still there");
        let vector = vector::decode(&data);
        assert!((vector[0] - 0.6).abs() < 1e-3 && (vector[1] + 0.8).abs() < 1e-3 && vector[2] == 0.0);
    }

    #[test]
    fn documents_of_version_1_have_no_parts_and_no_remarks() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        let conn = check_open(&path, &[create_version_1]).expect("a new file");
        conn.execute_batch(
            "INSERT INTO documents (key, source, title, content_hash, text_bytes, format, encoding, lines_match_source,
                meta, live, added_at) VALUES ('d', 's', 't', 'h', 1, 'text', 'UTF-8', 1, '{}', 1, 0)",
        )
        .expect("a document");
        drop(conn);
        let conn = open_writer(&path).expect("a migrated file");
        let parts = conn.query_row("SELECT parts FROM documents", [], |row| row.get::<_, String>(0));
        assert_eq!(parts.as_deref(), Ok("[]"));
        let remarks = conn.query_row("SELECT remarks FROM documents", [], |row| row.get::<_, String>(0));
        assert_eq!(remarks.as_deref(), Ok("[]"));
        assert!(dir.path().join("w.graphloom.v1.backup").exists());
    }

    #[test]
    fn ledger_rows_of_older_files_have_no_cached_tokens() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        let conn = check_open(&path, &MIGRATIONS[..3]).expect("an older file");
        let insert = "INSERT INTO calls (role, model, prompt_tokens, completion_tokens, attempts, started_at,
                      duration_ms, outcome) VALUES ('extract', 'm', 7, 1, 1, 0, 0, 0)";
        conn.execute(insert, []).expect("a call");
        drop(conn);
        let conn = check_open(&path, MIGRATIONS).expect("migrated");
        let select = "SELECT prompt_tokens, cached_prompt_tokens FROM calls";
        assert_eq!(conn.query_row(select, [], |row| Ok((row.get(0)?, row.get(1)?))), Ok((7, 0)));
    }

    #[test]
    fn older_files_remember_no_answers_and_take_them_from_then_on() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        drop(check_open(&path, &MIGRATIONS[..6]).expect("an older file"));
        let conn = open_writer(&path).expect("a migrated file");
        let count = |conn: &Connection| conn.query_row("SELECT count(*) FROM cache", [], |row| row.get(0));
        assert_eq!(count(&conn), Ok(0));
        conn.execute("INSERT INTO cache (kind, key, bytes, value) VALUES (1, 'k', 1, x'00')", [])
            .expect("an entry");
        assert_eq!(count(&conn), Ok(1));
    }

    #[test]
    fn chunks_of_older_files_keep_their_state() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        let conn = check_open(&path, &MIGRATIONS[..5]).expect("version 5");
        conn.execute_batch(
            "INSERT INTO documents (id, key, source, title, content_hash, text_bytes, format, encoding,
                lines_match_source, meta, live, added_at) VALUES (1, 'd', 's', 't', 'h', 1, 'text', 'UTF-8', 1, '{}', 1, 0);
             INSERT INTO chunks (key, document, ordinal, start, stop, token_count, breadcrumb, state, reason, attempts)
                VALUES ('c', 1, 0, 0, 1, 1, '[]', 2, 'timeout', 3);",
        )
        .expect("a failed chunk");
        drop(conn);
        let conn = check_open(&path, &MIGRATIONS[..6]).expect("version 6");
        let chunk = conn.query_row("SELECT state, reason FROM chunks", [], |r| Ok((r.get(0)?, r.get(1)?)));
        assert_eq!(chunk, Ok((2, "timeout".to_owned())));
    }

    #[test]
    fn rejects_of_older_files_are_counted_and_an_unreadable_answer_is_passed_over() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        let conn = check_open(&path, &MIGRATIONS[..7]).expect("an older file");
        let extraction = crate::conformance::sample::extraction("x", "said");
        let body = rows::extraction_body(&extraction).expect("a body");
        let insert = "INSERT INTO extractions (key, model, body) VALUES (?1, 'm', ?2)";
        conn.execute(insert, rusqlite::params!["good", body]).expect("an extraction");
        conn.execute(insert, rusqlite::params!["damaged", [1u8, 2, 3]]).expect("an extraction");
        drop(conn);
        let conn = check_open(&path, MIGRATIONS).expect("migrated");
        let counted = conn.query_row("SELECT reason, sum(number) FROM rejects", [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
        });
        assert_eq!(counted, Ok(("field_count".to_owned(), 1)));
    }

    #[test]
    fn the_queue_of_an_older_file_runs() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        drop(check_open(&path, &MIGRATIONS[..8]).expect("an older file"));
        let conn = check_open(&path, MIGRATIONS).expect("migrated");
        let select =
            "SELECT paused_since, (SELECT count(*) FROM tracks), (SELECT count(*) FROM renewals) FROM state";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        assert_eq!(conn.query_row(select, [], read), Ok((None::<i64>, 0, 0)));
    }

    #[test]
    fn leases_of_an_older_file_are_found_by_their_index() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        let conn = check_open(&path, &MIGRATIONS[..10]).expect("an older file");
        conn.execute_batch(
            "INSERT INTO documents (id, key, source, title, content_hash, text_bytes, format, encoding,
                lines_match_source, meta, live, added_at) VALUES (1, 'd', 's', 't', 'h', 1, 'text', 'UTF-8', 1, '{}', 1, 0);
             INSERT INTO jobs VALUES (1, 1, NULL, 'w', 9, 1, 0);",
        )
        .expect("a leased job");
        drop(conn);
        let conn = check_open(&path, MIGRATIONS).expect("migrated");
        let leased = read::leased_jobs(&conn).expect("a list");
        assert_eq!(leased[0].lease.as_ref().map(|lease| lease.owner.as_str()), Some("w"));
    }

    #[test]
    fn chunks_of_an_older_file_are_not_situated() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        drop(check_open(&path, &MIGRATIONS[..11]).expect("an older file"));
        let conn = check_open(&path, MIGRATIONS).expect("migrated");
        let count = conn.query_row("SELECT count(*) FROM situations", [], |row| row.get(0));
        assert_eq!(count, Ok(0));
    }

    #[test]
    fn stores_of_an_older_release_get_ids_of_their_own() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = |name: &str| {
            let path = dir.path().join(name);
            drop(check_open(&path, &MIGRATIONS[..12]).expect("an older file"));
            let conn = check_open(&path, MIGRATIONS).expect("migrated");
            place::committed(&conn).expect("how far it is").store
        };
        let (one, other) = (store("one"), store("other"));
        assert_eq!((one.len(), other.len()), (32, 32));
        assert_ne!(one, other);
    }

    #[test]
    fn rows_of_an_older_release_get_checksums_and_damaged_ones_do_not_get_new_ones() {
        fn change_documents(conn: &Connection) -> rusqlite::Result<()> {
            conn.execute_batch("ALTER TABLE documents ADD COLUMN seen INTEGER NOT NULL DEFAULT 7;")
        }
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        let conn = check_open(&path, &MIGRATIONS[..12]).expect("an older file");
        for key in ["d", "e"] {
            let insert = "INSERT INTO documents (key, source, title, content_hash, text_bytes, format, encoding,
                lines_match_source, meta, live, added_at) VALUES (?1, ?1, 't', 'h', 1, 'text', 'UTF-8', 1, '{}', 1, 0)";
            conn.execute(insert, [key]).expect("a document");
        }
        drop(conn);
        let conn = check_open(&path, MIGRATIONS).expect("migrated");
        assert_eq!(sums::damaged_rows(&conn).expect("compared"), []);
        conn.execute("UPDATE documents SET title = 'x' WHERE key = 'e'", []).expect("damaged");
        drop(conn);
        let newer: Vec<Migration> =
            MIGRATIONS.iter().copied().chain([change_documents as Migration]).collect();
        let conn = check_open(&path, &newer).expect("migrated");
        let damaged: Vec<String> = sums::damaged_rows(&conn)
            .expect("compared")
            .iter()
            .map(|row| format!("{} {}", row.table, row.id()))
            .collect();
        assert_eq!(damaged, ["documents 2"]);
    }

    #[test]
    fn a_migration_that_fails_leaves_the_file_as_it_was() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        drop(check_open(&path, &[create_old]).expect("a new file"));
        assert!(check_open(&path, &[create_old, fails]).is_err());
        let conn = check_open(&path, &[create_old]).expect("still version 1");
        assert_eq!(conn.query_row("SELECT text FROM notes", [], |r| r.get(0)), Ok("kept".to_owned()));
    }

    #[test]
    fn a_file_that_another_process_creates_is_judged_once_it_is_whole() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        let rival = Connection::open(&path).expect("a connection");
        sums::register(&rival).expect("the function of sums");
        rival.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
        MIGRATIONS.iter().try_for_each(|migration| migration(&rival)).expect("half of a file");
        let opened = std::thread::scope(|scope| {
            let opening = scope.spawn(|| open_writer(&path).map(drop));
            rival.pragma_update(None, "application_id", APPLICATION_ID).expect("marked");
            rival.pragma_update(None, "user_version", MIGRATIONS.len() as u32).expect("marked");
            rival.execute_batch("COMMIT").expect("a whole file");
            opening.join().expect("no panic")
        });
        assert!(opened.is_ok(), "{opened:?}");
    }

    #[test]
    fn a_file_that_says_it_is_older_than_its_tables_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.graphloom");
        let conn = open_writer(&path).expect("a new file");
        conn.pragma_update(None, "user_version", 1).expect("said");
        drop(conn);
        let Err(StoreError::Corrupt { what, .. }) = open_writer(&path).map(drop) else {
            panic!("it is refused")
        };
        assert!(what.contains("schema version 1"), "{what}");
        let conn = Connection::open(&path).expect("a database");
        conn.pragma_update(None, "user_version", MIGRATIONS.len() as u32).expect("said rightly");
        drop(conn);
        open_writer(&path).expect("nothing was changed");
    }

    #[test]
    fn newer_and_foreign_files_are_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let newer = dir.path().join("newer.graphloom");
        drop(check_open(&newer, &[create_old, add_column]).expect("a new file"));
        let refused = check_open(&newer, &[create_old]).map(drop);
        assert!(matches!(refused, Err(StoreError::Newer { found: 2, supported: 1, .. })), "{refused:?}");

        let foreign = dir.path().join("foreign.graphloom");
        let conn = Connection::open(&foreign).expect("a database");
        conn.execute_batch("CREATE TABLE other (x)").expect("a table");
        assert!(matches!(open_writer(&foreign).map(drop), Err(StoreError::Corrupt { .. })));

        let text = dir.path().join("text.graphloom");
        std::fs::write(&text, "no database at all, but long enough to be looked at".repeat(100))
            .expect("a file");
        assert!(matches!(open_writer(&text).map(drop), Err(StoreError::Corrupt { .. })));
    }
}
