//! The full-text projection: a tantivy index beside the file. A search first updates it from the change log.
//!
//! If the folder cannot be written, the index is updated in memory, on top of the files in the folder ([`files`]).
//!
//! Losing the folder loses no data: an index is rebuilt if it is missing, damaged, of another history, or further
//! behind than the log reaches. One process at a time may write it. While another process writes, a search uses the
//! index as it is: hits that are not in the snapshot are dropped, and entries of the last commits may be missing until
//! that process is done. [`FullText::projection`] tells how current the index is.

pub(super) mod directory;
mod files;
mod matches;
mod statistics;
mod tokens;
mod within;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use graphloom_core::{ItemKind, Projection, Revision, StoreError, table};
use graphloom_rules::search::{ScoredId, TextQuery};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tantivy::directory::error::LockError;
use tantivy::indexer::IndexWriterOptions;
use tantivy::merge_policy::{LogMergePolicy, NoMergePolicy};
use tantivy::schema::{FAST, Field, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::{
    Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, TantivyError,
    Term,
};

use self::files::{Files, WriteFault};
use self::statistics::{KEPT_REMOVED, Statistics, Tidy};
use self::tokens::Words;
use self::within::FilterCache;
use super::changes::{self, Mark};
use super::error::{Condition, Context, backend};
use super::removal::remove_folder;
use super::{Reader, layers, read, rows, scan};
use crate::words;

/// Memory of the index writer. tantivy accepts no less.
const WRITER_BYTES: usize = 15_000_000;
/// Entries written before the index writer commits and frees the memory they took.
const ENTRIES_A_COMMIT: usize = 10_000;
/// Words of a question that are searched. More words never improved the results.
const MAX_QUERY_WORDS: usize = 256;
/// How often an outdated index in memory checks whether its folder can be written again.
const FOLDER_RETRY: Duration = Duration::from_secs(30);
/// Bytes written by that check.
const PROBE_BYTES: usize = 1 << 20;
/// Rows read at a time during a rebuild.
const REBUILD_PAGE: usize = 1000;
/// Increased when the words or the fields change, so that older indexes are rebuilt.
pub(super) const FORMAT: u32 = 4;

/// The field with the key of a hit.
const KEY: &str = "key";
/// The name of the tokenizer [`Words`] in the schema.
const WORDS: &str = "graphloom_words";
/// The name of the projection in reports.
const NAME: &str = "full_text";

/// The index of one workspace, opened when it is first needed.
pub(super) struct FullText {
    folder: PathBuf,
    open: Mutex<Option<Open>>,
    /// True if the index in the folder is damaged and cannot be removed.
    is_folder_useless: AtomicBool,
    denied: WriteFault,
}

/// The index as a search sees it.
pub(super) struct IndexView {
    searcher: Searcher,
    statistics: Arc<Statistics>,
    within: Arc<FilterCache>,
    fields: Fields,
    /// True if the index has exactly the entries of the snapshot. Otherwise each hit is looked up in the snapshot.
    holds_all: bool,
    identity: Arc<()>,
}

struct Open {
    /// Distinguishes this index from the one that replaces it after damage.
    identity: Arc<()>,
    files: Files,
    /// When the index was opened, or its folder was last found not to be writable.
    opened: Instant,
    index: Index,
    reader: IndexReader,
    /// Counts over what the reader sees.
    statistics: Arc<Statistics>,
    within: Arc<FilterCache>,
    fields: Fields,
    /// How current the index is. `None` if that is unknown or the index belongs to another history.
    state: Option<State>,
}

/// The state that a commit of the index stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    format: u32,
    mark: Mark,
    revision: Revision,
    /// True if the index has exactly the entries of the snapshot at `mark`. False during an update.
    #[serde(default)]
    is_settled: bool,
}

#[derive(Clone, Copy)]
struct Fields {
    /// Kind and key. A change replaces the entry with this value.
    uid: Field,
    /// The key alone, for hits.
    key: Field,
    kind: Field,
    /// The words, in one field per kind, so that each kind has its own statistics.
    words: [Field; ItemKind::ALL.len()],
}

/// Why the index failed.
enum Fault {
    /// Another process is writing.
    Locked,
    /// The disk is full or the folder is not writable.
    Unwritable(Condition),
    /// The index is damaged or the disk failed.
    Index(TantivyError),
    /// The store failed.
    Store(StoreError),
}

impl Fault {
    fn into_store_error(self) -> StoreError {
        match self {
            Self::Locked => backend("searching text".to_owned(), "another process is creating the index"),
            Self::Unwritable(_) => backend(
                "searching text".to_owned(),
                "the index can be written neither to its folder nor in memory",
            ),
            Self::Index(error) => backend("searching text".to_owned(), error),
            Self::Store(error) => error,
        }
    }
}

impl From<TantivyError> for Fault {
    fn from(error: TantivyError) -> Self {
        match error {
            TantivyError::LockFailure(LockError::LockBusy, _) => Self::Locked,
            other => Self::Index(other),
        }
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        match Condition::of_disk(&error) {
            Some(condition) => Self::Unwritable(condition),
            None => Self::Index(error.into()),
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Runs `work` on the index and turns panics into errors. tantivy trusts the files it reads and panics on some kinds of damage.
fn guarded<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<String>().map(String::as_str);
        let what = what.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        Err(Fault::Index(TantivyError::InternalError(format!("reading the index: {what}"))))
    })
}

impl FullText {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            open: Mutex::default(),
            is_folder_useless: AtomicBool::new(false),
            denied: WriteFault::default(),
        }
    }

    /// Returns the best matches in the snapshot, from an index that is ready for it.
    ///
    /// Searches run in parallel. They need the snapshot's connection only if hits have to be looked up in it.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the index or the store fails. A damaged index is first rebuilt.
    pub(super) fn search(
        &self,
        reader: &Mutex<Reader>,
        ready: &IndexView,
        query: &TextQuery,
    ) -> Result<Vec<ScoredId>, StoreError> {
        let words = query.weighted_words(MAX_QUERY_WORDS);
        if words.is_empty() || query.limit == 0 {
            return Ok(Vec::new());
        }
        let at_hand = || reader.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |id: &str| read::has_text(&at_hand().conn, query.kind, id).during("checking a hit");
        let found = match guarded(|| matches::find(ready, query, &words, &holds)) {
            Err(Fault::Index(error)) => {
                let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                // Another search may have found the same damage.
                if open.as_ref().is_some_and(|open| Arc::ptr_eq(&open.identity, &ready.identity)) {
                    match self.discard(&mut open, &error) {
                        // The next index is in memory.
                        Ok(()) | Err(Fault::Unwritable(_)) => {}
                        Err(fault) => return Err(fault.into_store_error()),
                    }
                }
                drop(open);
                let renewed = self.ready(&at_hand())?;
                guarded(|| matches::find(&renewed, query, &words, &holds))
            }
            found => found,
        };
        found.map_err(Fault::into_store_error)
    }

    /// The folder of the index.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the files of the index whose checksums do not match. Empty if there is no index.
    pub(super) fn damaged_files(&self) -> std::io::Result<Vec<PathBuf>> {
        // Before its first commit and during its removal, the index has nothing that a search would read.
        match self.folder.join("meta.json").exists() {
            true => directory::damaged_files(&self.folder),
            false => Ok(Vec::new()),
        }
    }

    /// Returns the index updated to the snapshot, or as close to it as possible. A damaged index is removed and rebuilt once.
    pub(super) fn ready(&self, reader: &Reader) -> Result<IndexView, StoreError> {
        let now = changes::newest(&reader.conn).during("reading the change log")?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.leave_memory(&mut open, now);
        let ready = match self.renewed(&mut open, reader, now) {
            Err(Fault::Index(error)) => match self.discard(&mut open, &error) {
                Ok(()) => self.renewed(&mut open, reader, now),
                Err(fault) => Err(fault),
            },
            ready => ready,
        };
        let ready = match ready {
            Err(Fault::Unwritable(condition)) => {
                tracing::warn!(
                    ?condition,
                    folder = %self.folder.display(),
                    "the full-text index cannot be written and is brought up to date in memory"
                );
                self.renewed_in_memory(&mut open, reader, now)
            }
            ready => ready,
        };
        ready.map_err(Fault::into_store_error)
    }

    fn renewed(&self, open: &mut Option<Open>, reader: &Reader, now: Mark) -> Result<IndexView, Fault> {
        let index = match open {
            Some(index) => index,
            None if self.is_folder_useless.load(Ordering::Relaxed) => {
                return Err(Fault::Unwritable(Condition::ReadOnly));
            }
            None => open.insert(self.open_existing().or_else(|fault| self.replace(fault))?),
        };
        index.caught_up(reader, now)
    }

    /// Does the same in memory, on top of the files in the folder, or from the store alone if the files are unusable.
    fn renewed_in_memory(
        &self,
        open: &mut Option<Open>,
        reader: &Reader,
        now: Mark,
    ) -> Result<IndexView, Fault> {
        if !self.is_folder_useless.load(Ordering::Relaxed)
            && let Ok(over) = Open::existing(Files::in_memory(Some(&self.folder)))
        {
            match open.insert(over).caught_up(reader, now) {
                Err(Fault::Index(error)) => {
                    tracing::warn!(%error, "the full-text index in the folder is damaged and is left alone");
                    self.is_folder_useless.store(true, Ordering::Relaxed);
                }
                ready => return ready,
            }
        }
        *open = None;
        let index = open.insert(Open::created(Files::in_memory(None))?);
        index.caught_up(reader, now)
    }

    /// Closes an outdated index in memory if its folder can be written again.
    fn leave_memory(&self, open: &mut Option<Open>, now: Mark) {
        let Some(index) = open else { return };
        if !index.files.are_in_memory() || !index.is_behind(now) || index.opened.elapsed() < FOLDER_RETRY {
            return;
        }
        index.opened = Instant::now();
        let probe = self.folder.join(format!(".probe-{}", std::process::id()));
        let written = self.denied.check().and_then(|()| {
            crate::private::create_folder(&self.folder)?;
            std::fs::write(&probe, vec![0; PROBE_BYTES])
        });
        // Removes the probe even if only part of it was written.
        let _ = std::fs::remove_file(&probe);
        if written.is_ok() {
            self.is_folder_useless.store(false, Ordering::Relaxed);
            *open = None;
        }
    }

    fn discard(&self, open: &mut Option<Open>, error: &TantivyError) -> Result<(), Fault> {
        tracing::warn!(%error, "the full-text index is damaged and is rebuilt");
        if open.take().is_some_and(|open| open.files.are_in_memory()) {
            return Ok(());
        }
        let removed = self.denied.check().and_then(|()| remove_folder(&self.folder));
        removed.map_err(|error| match Fault::from(error) {
            Fault::Unwritable(condition) => {
                self.is_folder_useless.store(true, Ordering::Relaxed);
                Fault::Unwritable(condition)
            }
            Fault::Index(error) => {
                Fault::Store(backend(format!("removing {}", self.folder.display()), error))
            }
            fault => fault,
        })
    }

    /// Removes the index from a full disk. Returns whether there was one.
    pub(super) fn give_up_folder(&self) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // An index in memory may still read from the folder.
        *open = None;
        self.folder.exists() && remove_folder(&self.folder).is_ok()
    }

    /// Returns how current the index is, without changing it.
    pub(super) fn projection(&self, now: Mark, revision: Revision) -> Result<Projection, StoreError> {
        let none = Projection { name: NAME.to_owned(), watermark: Revision(0), entries: 0 };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_none() {
            // A damaged index counts as empty until a search rebuilds it.
            *open = self.folder.join("meta.json").exists().then(|| self.open_existing().ok()).flatten();
        }
        let Some(Open { reader, state: Some(state), .. }) = &*open else { return Ok(none) };
        // Nothing searchable changed after the newest position in the log.
        let watermark = if state.mark == now { state.revision.max(revision) } else { state.revision };
        Ok(Projection { watermark, entries: reader.searcher().num_docs(), ..none })
    }

    fn open_existing(&self) -> Result<Open, Fault> {
        Open::existing(Files::in_folder(&self.folder, &self.denied)?)
    }

    /// Creates a new index in place of one that cannot be opened.
    fn replace(&self, fault: Fault) -> Result<Open, Fault> {
        if let Fault::Index(error) = &fault
            && self.folder.join("meta.json").exists()
        {
            tracing::warn!(%error, "the full-text index cannot be opened and is rebuilt");
        }
        self.create()
    }

    fn create(&self) -> Result<Open, Fault> {
        self.denied.check()?;
        remove_folder(&self.folder)?;
        crate::private::create_folder(&self.folder)?;
        Open::created(Files::in_folder(&self.folder, &self.denied)?)
    }
}

impl Open {
    fn existing(files: Files) -> Result<Self, Fault> {
        let index = Index::open(files.clone())?;
        let (schema, fields) = schema();
        if index.schema() != schema {
            return Err(Fault::Index(TantivyError::SchemaError("of another release".to_owned())));
        }
        guarded(|| Self::new(index, fields, files))
    }

    fn created(files: Files) -> Result<Self, Fault> {
        let (schema, fields) = schema();
        let created = Index::create(files.clone(), schema, IndexSettings::default());
        match (created, files.refused()) {
            (Ok(index), _) => Self::new(index, fields, files),
            (Err(_), Some(condition)) => Err(Fault::Unwritable(condition)),
            (Err(error), None) => Err(error.into()),
        }
    }

    fn new(index: Index, fields: Fields, files: Files) -> Result<Self, Fault> {
        index.tokenizers().register(WORDS, Words);
        let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let statistics = Arc::new(Statistics::of(&reader.searcher(), None));
        let state = state_of(&index)?;
        let (identity, opened, within) = (Arc::default(), Instant::now(), Arc::default());
        Ok(Self { identity, files, opened, index, reader, statistics, within, fields, state })
    }

    /// Returns the index for a snapshot, updated to it unless another process is writing.
    fn caught_up(&mut self, reader: &Reader, now: Mark) -> Result<IndexView, Fault> {
        self.files.forget_refusal();
        let caught_up = guarded(|| self.catch_up(&reader.conn, now, reader.revisions.latest));
        match (caught_up, self.files.refused()) {
            (Ok(()) | Err(Fault::Locked), _) => Ok(self.ready(now)),
            // The disk refused a write, whatever error tantivy made of it.
            (Err(Fault::Index(_)), Some(condition)) => {
                if let Ok(metas) = self.index.load_metas() {
                    let named: Vec<String> =
                        metas.segments.iter().map(|segment| segment.id().uuid_string()).collect();
                    self.files.remove_begun(|path| {
                        named.iter().any(|name| path.to_string_lossy().starts_with(name.as_str()))
                    });
                }
                Err(Fault::Unwritable(condition))
            }
            (Err(fault), _) => Err(fault),
        }
    }

    fn ready(&self, now: Mark) -> IndexView {
        IndexView {
            searcher: self.reader.searcher(),
            statistics: Arc::clone(&self.statistics),
            within: Arc::clone(&self.within),
            fields: self.fields,
            holds_all: self.state.is_some_and(|state| state.is_settled && state.mark == now),
            identity: Arc::clone(&self.identity),
        }
    }

    fn is_behind(&self, now: Mark) -> bool {
        self.state.is_none_or(|state| state.mark.id < now.id)
    }

    fn catch_up(&mut self, conn: &Connection, now: Mark, revision: Revision) -> Result<(), Fault> {
        if !self.is_behind(now) {
            return Ok(());
        }
        // Another process may have updated the index already, or be doing it now.
        self.refresh()?;
        if self.state.is_some_and(|state| state.mark == now) {
            return Ok(());
        }
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .build();
        let writer = self.index.writer_with_options(options)?;
        match self.files.are_in_memory() {
            // Merging would read the files in the folder into memory.
            true => writer.set_merge_policy(Box::new(NoMergePolicy)),
            false => {
                let merging = LogMergePolicy::default();
                writer.set_merge_policy(Box::new(Tidy { merging, kept_removed: KEPT_REMOVED }));
            }
        }
        self.refresh()?;
        let reached = match self.state {
            Some(state) => changes::reaches(conn, state.mark).during("reading the change log")?,
            None => false,
        };
        let mut update = Update { fields: self.fields, writer, written: 0, reported: false, before: None };
        match self.state {
            Some(state) if reached && state.mark.id <= now.id => {
                update.before = Some(State { is_settled: false, ..state });
                update.apply_changes(conn, state.mark)?;
            }
            _ => update.rebuild(conn)?,
        }
        let reached = State { format: FORMAT, mark: now, revision, is_settled: true };
        update.commit(Some(reached))?;
        update.writer.wait_merging_threads()?;
        self.reload(Some(reached))
    }

    /// Picks up what another process wrote since the last check. A reader opens every file of the index again, so it is
    /// kept if the last commit is still the same.
    fn refresh(&mut self) -> Result<(), Fault> {
        let written = state_of(&self.index)?;
        match written.is_some_and(|written| written.is_settled) && written == self.state {
            true => Ok(()),
            false => self.reload(written),
        }
    }

    /// - `written`: the state read from the last commit.
    fn reload(&mut self, written: Option<State>) -> Result<(), Fault> {
        self.reader.reload()?;
        self.statistics = Arc::new(Statistics::of(&self.reader.searcher(), Some(&self.statistics)));
        // If another process committed in between, the reader may have more entries than this state says.
        let is_last = state_of(&self.index)? == written;
        self.state = written.map(|state| State { is_settled: state.is_settled && is_last, ..state });
        Ok(())
    }
}

/// An update of the index.
struct Update {
    fields: Fields,
    writer: IndexWriter,
    /// Entries written since the last commit.
    written: usize,
    /// True if a log message has said that this takes a while.
    reported: bool,
    /// The state that commits keep until the whole update is written. If the update is interrupted, everything after it
    /// is written again.
    before: Option<State>,
}

impl Update {
    fn apply_changes(&mut self, conn: &Connection, mark: Mark) -> Result<(), Fault> {
        let changed = changes::after(conn, mark, changes::TEXT).during("reading the change log")?;
        let changed: BTreeSet<(u8, String)> = changed.into_iter().map(|(_, kind, key)| (kind, key)).collect();
        for (kind, key) in changed {
            self.writer.delete_term(Term::from_field_text(self.fields.uid, &uid(kind, &key)));
            if let Some(text) = read::searchable(conn, kind, &key).during("reading a changed entry")? {
                self.add(kind, &key, &text)?;
            }
        }
        Ok(())
    }

    fn rebuild(&mut self, conn: &Connection) -> Result<(), Fault> {
        self.writer.delete_all_documents()?;
        let mut after = None;
        loop {
            let page =
                scan::page(conn, table::Chunks, after.as_ref(), REBUILD_PAGE).during("reading chunks")?;
            for chunk in &page {
                let id = chunk.id.as_str();
                if read::has_text(conn, ItemKind::Chunk, id).during("reading chunks")? {
                    let text = read::chunk_text(conn, chunk).during("reading chunks")?;
                    self.add(rows::kind_code(ItemKind::Chunk), id, &text)?;
                }
            }
            let Some(last) = page.last() else { break };
            after = Some(last.id.clone());
        }
        let mut after = None;
        loop {
            let page =
                scan::page(conn, table::Entities, after.as_ref(), REBUILD_PAGE).during("reading entities")?;
            for entity in &page {
                let text = words::entity_text(entity);
                self.add(rows::kind_code(ItemKind::Entity), entity.key.as_str(), &text)?;
            }
            let Some(last) = page.last() else { break };
            after = Some(last.key.clone());
        }
        let mut after = None;
        loop {
            let page = scan::page(conn, table::Relations, after.as_ref(), REBUILD_PAGE)
                .during("reading relations")?;
            for relation in &page {
                let text = words::relation_text(relation);
                self.add(rows::kind_code(ItemKind::Relation), &relation.key.to_string(), &text)?;
            }
            let Some(last) = page.last() else { break };
            after = Some(last.key.clone());
        }
        let mut after = None;
        loop {
            let page = layers::all_nodes(conn, after.as_ref(), REBUILD_PAGE).during("reading nodes")?;
            for node in &page {
                self.add(rows::kind_code(ItemKind::Node), node.key.as_str(), &node.indexed_text())?;
            }
            let Some(last) = page.last() else { break };
            after = Some(last.key.clone());
        }
        Ok(())
    }

    fn add(&mut self, kind: u8, key: &str, text: &str) -> Result<(), Fault> {
        let mut document = TantivyDocument::new();
        document.add_text(self.fields.uid, uid(kind, key));
        document.add_text(self.fields.key, key);
        document.add_text(self.fields.kind, kind.to_string());
        document.add_text(self.fields.words[usize::from(kind)], text);
        self.writer.add_document(document)?;
        self.written += 1;
        if self.written < ENTRIES_A_COMMIT {
            return Ok(());
        }
        if !std::mem::replace(&mut self.reported, true) {
            tracing::info!(target: crate::WAITING, "indexing many texts for full-text search; searches wait for it");
        }
        self.commit(self.before)
    }

    fn commit(&mut self, state: Option<State>) -> Result<(), Fault> {
        let mut commit = self.writer.prepare_commit()?;
        if let Some(state) = state {
            let payload =
                serde_json::to_string(&state).map_err(|e| backend("writing the index".to_owned(), e))?;
            commit.set_payload(&payload);
        }
        commit.commit()?;
        self.written = 0;
        Ok(())
    }
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(WORDS)
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(true);
    let words = TextOptions::default().set_indexing_options(indexing);
    let fields = Fields {
        uid: schema.add_text_field("uid", STRING),
        key: schema.add_text_field(KEY, TextOptions::default() | FAST),
        kind: schema.add_text_field("kind", STRING),
        words: ["chunk", "entity", "relation", "node"].map(|name| schema.add_text_field(name, words.clone())),
    };
    (schema.build(), fields)
}

fn uid(kind: u8, key: &str) -> String {
    format!("{kind}:{key}")
}

/// Returns the state in the index's last commit. `None` for an empty index or another format.
fn state_of(index: &Index) -> Result<Option<State>, Fault> {
    let payload = index.load_metas()?.payload;
    let state: Option<State> = payload.and_then(|payload| serde_json::from_str(&payload).ok());
    Ok(state.filter(|state| state.format == FORMAT))
}

#[cfg(test)]
impl FullText {
    /// Makes all further writes to the folder fail with this error, or none of them.
    pub(super) fn deny(&self, kind: Option<std::io::ErrorKind>) {
        *self.denied.0.lock().expect("no panic") = kind;
    }

    /// Makes the next search check whether the folder can be written again.
    pub(super) fn try_folder_again(&self) {
        let mut open = self.open.lock().expect("no panic");
        let index = open.as_mut().expect("an index");
        index.opened = Instant::now().checked_sub(FOLDER_RETRY).expect("a machine that runs for that long");
    }
}
