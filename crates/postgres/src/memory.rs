//! What searches read, kept in the process's memory: the vectors and the words of kinds that are not too large.
//!
//! A kind is read once as a whole, beside the searches that the database answers meanwhile, and follows the notes that commits make of
//! what they change after that. Of a kind that is too large for that, the vectors that a filter admits are kept. A search of a
//! snapshot that the memory is ahead of, or of a kind that is not kept, is left to the database. Results are the same: scores are
//! those of every other store.

mod admitted;
mod vectors;
mod words;

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use graphloom_core::ItemKind;
use graphloom_rules::search::{ScoredId, TextQuery, VectorQuery};
use tokio_postgres::Row;

use self::admitted::Admitted;
use self::vectors::Vectors;
use self::words::Words;
use crate::connect::Shared;
use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::Session;

/// Memory that all workspaces of a process may take for this, in bytes.
const MAX_BYTES: usize = 512 << 20;
/// Bytes that a table may take beyond twice those reserved for it.
const SPARE_BYTES: usize = 1 << 20;
/// Changed entries up to which a kind follows the notes; after more it is read again.
const MAX_CHANGES: usize = 5_000;
/// How long a kind that was too large is not looked at again.
const TOO_LARGE_FOR: Duration = Duration::from_secs(600);
/// Revisions of which notes are kept, of those that changed what searches read.
pub(crate) const NOTED_REVISIONS: i64 = 1_000;

/// What a snapshot says of what searches read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SearchState {
    /// The last revision that changed it.
    pub(crate) revision: i64,
    /// The last revision of which no note was made.
    pub(crate) unnoted: i64,
}

impl SearchState {
    async fn of(session: &Session) -> Result<Self, Fault> {
        let sql = "SELECT search_revision, search_unnoted FROM workspaces WHERE id = $1";
        match session.rows(sql, &[]).await?.first() {
            Some(row) => Ok(Self { revision: get(row, 0)?, unnoted: get(row, 1)? }),
            // Of a workspace that was deleted nothing is found.
            None => Ok(Self { revision: 0, unnoted: 0 }),
        }
    }

    /// Whether notes tell what changed since this revision.
    fn tells_since(self, revision: i64) -> bool {
        revision >= self.unnoted && revision >= self.revision - NOTED_REVISIONS
    }
}

/// When a kind comes into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchMemory {
    /// Once it is searched; the database answers until it is read.
    #[default]
    Beside,
    /// Once it is searched, and the search waits.
    AtOnce,
    /// Not at all.
    Never,
}

/// The memory of one workspace.
pub(crate) struct Memory {
    shared: Arc<Shared>,
    workspace: i64,
    vectors: [Part<Vectors>; ItemKind::ALL.len()],
    words: [Part<Words>; ItemKind::ALL.len()],
    admitted: Admitted,
    comes: Mutex<SearchMemory>,
}

impl Memory {
    pub(crate) fn new(shared: Arc<Shared>, workspace: i64) -> Self {
        let (vectors, words, admitted, comes) = Default::default();
        Self { shared, workspace, vectors, words, admitted, comes }
    }

    pub(crate) fn set(&self, comes: SearchMemory) {
        *self.comes.lock().unwrap_or_else(PoisonError::into_inner) = comes;
        if comes == SearchMemory::Never {
            self.forget();
        }
    }

    fn comes(&self) -> SearchMemory {
        *self.comes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of everything; it is read again when searched.
    pub(crate) fn forget(&self) {
        self.vectors.iter().for_each(|part| part.set(None));
        self.words.iter().for_each(|part| part.set(None));
        self.admitted.forget();
    }

    /// The nearest entries for each vector of the query; `None` where the database is to be asked.
    pub(crate) async fn nearest(
        self: &Arc<Self>,
        session: &Session,
        state: SearchState,
        query: &VectorQuery,
    ) -> Result<Option<Vec<Vec<ScoredId>>>, Fault> {
        match self.search(session, state, query.kind, |vectors: &Vectors| vectors.nearest(query)).await? {
            Some(hits) => Ok(Some(hits)),
            None => self.nearest_admitted(session, state, query).await,
        }
    }

    /// The best matches by BM25; `None` where the database is to be asked.
    pub(crate) async fn matching(
        self: &Arc<Self>,
        session: &Session,
        state: SearchState,
        query: &TextQuery,
    ) -> Result<Option<Vec<ScoredId>>, Fault> {
        self.search(session, state, query.kind, |words: &Words| words.matching(query)).await
    }

    /// Searches a table that is brought to the snapshot's state.
    async fn search<T: Table, R>(
        self: &Arc<Self>,
        session: &Session,
        state: SearchState,
        kind: ItemKind,
        search: impl FnOnce(&T) -> R,
    ) -> Result<Option<R>, Fault> {
        let part = T::part(self, kind);
        match (part.revision(), self.comes()) {
            (_, SearchMemory::Never) => return Ok(None),
            (Some(revision), _) if revision < state.revision => {
                part.follow(session, kind, revision, state).await?;
            }
            (Some(_), _) => {}
            (None, SearchMemory::AtOnce) => part.read(&self.shared, session, kind, state).await?,
            (None, SearchMemory::Beside) => self.read_beside::<T>(kind),
        }
        let held = part.held.read().unwrap_or_else(PoisonError::into_inner);
        Ok(held.as_ref().filter(|held| held.revision == state.revision).map(|held| search(&held.table)))
    }

    /// Reads a kind while searches are answered by the database.
    fn read_beside<T: Table>(self: &Arc<Self>, kind: ItemKind) {
        let part = T::part(self, kind);
        if part.is_too_large() || part.is_read.swap(true, Ordering::AcqRel) {
            return;
        }
        let memory = Arc::clone(self);
        self.shared.start(async move {
            let part = T::part(&memory, kind);
            let read = async {
                let session = Session::read(&memory.shared, memory.workspace).await?;
                let state = SearchState::of(&session).await?;
                part.read(&memory.shared, &session, kind, state).await
            };
            if let Err(fault) = read.await {
                tracing::debug!(?kind, ?fault, "what searches read could not be read into memory");
            }
            part.is_read.store(false, Ordering::Release);
        });
    }
}

/// What one sort of search reads of one kind.
trait Table: Sized + Send + Sync + 'static {
    /// Entries as the database has them.
    type Entries: Send;

    /// Where the memory has it.
    fn part(memory: &Memory, kind: ItemKind) -> &Part<Self>;

    /// Bytes that it takes; `None` where that is too much.
    fn bytes(session: &Session, kind: ItemKind) -> impl Future<Output = Result<Option<usize>, Fault>> + Send;

    /// Reads all of it; `None` where it cannot be kept.
    fn read(session: &Session, kind: ItemKind) -> impl Future<Output = Result<Option<Self>, Fault>> + Send;

    /// Reads those of the entries that there are.
    fn entries(
        session: &Session,
        kind: ItemKind,
        ids: &[String],
    ) -> impl Future<Output = Result<Self::Entries, Fault>> + Send;

    /// Bytes that it takes now, about.
    fn taken(&self) -> usize;

    /// Takes over what became of these entries. False where it had better be read again.
    fn change(&mut self, ids: &[String], entries: Self::Entries) -> bool;
}

/// A place for a table.
struct Part<T> {
    held: RwLock<Option<Held<T>>>,
    /// Whether a task reads it.
    is_read: AtomicBool,
    /// When it was found to be too large.
    too_large: Mutex<Option<Instant>>,
}

struct Held<T> {
    /// The state's revision.
    revision: i64,
    table: T,
    reserved: Reserved,
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self { held: RwLock::default(), is_read: AtomicBool::default(), too_large: Mutex::default() }
    }
}

impl<T> Part<T> {
    fn revision(&self) -> Option<i64> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(|held| held.revision)
    }

    fn set(&self, held: Option<Held<T>>) {
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = held;
    }

    fn is_too_large(&self) -> bool {
        let since = *self.too_large.lock().unwrap_or_else(PoisonError::into_inner);
        since.is_some_and(|since| since.elapsed() < TOO_LARGE_FOR)
    }

    fn refuse(&self) {
        *self.too_large.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

impl<T: Table> Part<T> {
    /// Reads the table as the session sees it.
    async fn read(
        &self,
        shared: &Shared,
        session: &Session,
        kind: ItemKind,
        state: SearchState,
    ) -> Result<(), Fault> {
        let reserved = match T::bytes(session, kind).await? {
            Some(bytes) => Reserved::of(&shared.memory, bytes),
            None => None,
        };
        let Some(reserved) = reserved else {
            self.refuse();
            return Ok(());
        };
        match T::read(session, kind).await? {
            Some(table) => self.set(Some(Held { revision: state.revision, table, reserved })),
            None => self.refuse(),
        }
        Ok(())
    }

    /// Takes over what changed since this revision, as the session sees it.
    async fn follow(
        &self,
        session: &Session,
        kind: ItemKind,
        since: i64,
        state: SearchState,
    ) -> Result<(), Fault> {
        let ids = match state.tells_since(since) {
            true => noted(session, kind, since).await?,
            false => None,
        };
        let Some(ids) = ids else {
            self.set(None);
            return Ok(());
        };
        let entries = match ids.is_empty() {
            true => None,
            false => Some(T::entries(session, kind, &ids).await?),
        };
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        // Another search may have brought it further meanwhile.
        if let Some(now) = held.as_mut().filter(|held| held.revision == since) {
            now.revision = state.revision;
            let is_kept = entries.is_none_or(|entries| now.table.change(&ids, entries));
            // What has grown so much is reserved again, if there is room.
            if !is_kept || now.table.taken() > 2 * now.reserved.bytes + SPARE_BYTES {
                *held = None;
            }
        }
        Ok(())
    }
}

/// The entries that changed since this revision; `None` where they are too many.
async fn noted(session: &Session, kind: ItemKind, since: i64) -> Result<Option<Vec<String>>, Fault> {
    let sql = "SELECT DISTINCT id FROM search_changes WHERE workspace_id = $1 AND kind = $2 AND revision > $3 LIMIT $4";
    let limit = rows::limit(MAX_CHANGES + 1);
    let found = session.rows(sql, &[&rows::kind_code(kind), &since, &limit]).await?;
    if found.len() > MAX_CHANGES {
        return Ok(None);
    }
    found.iter().map(|row: &Row| get(row, 0)).collect::<Result<_, _>>().map(Some)
}

/// What the memory of all workspaces of a database takes, and may take, in bytes.
pub(crate) struct MemoryLimit {
    taken: AtomicUsize,
    most: AtomicUsize,
}

impl Default for MemoryLimit {
    fn default() -> Self {
        Self { taken: AtomicUsize::new(0), most: AtomicUsize::new(MAX_BYTES) }
    }
}

impl MemoryLimit {
    /// Sets what it may take from now on.
    pub(crate) fn set(&self, bytes: usize) {
        self.most.store(bytes, Ordering::Relaxed);
    }

    /// What it takes.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

/// Bytes that count as taken until dropped.
struct Reserved {
    of: Arc<MemoryLimit>,
    bytes: usize,
}

impl Reserved {
    /// `None` where all would be too much.
    fn of(of: &Arc<MemoryLimit>, bytes: usize) -> Option<Self> {
        let reserved = Self { of: Arc::clone(of), bytes };
        let taken = of.taken.fetch_add(bytes, Ordering::Relaxed) + bytes;
        (taken <= of.most.load(Ordering::Relaxed)).then_some(reserved)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.of.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_memory_is_reserved_than_there_is_and_it_is_given_back() {
        let all = Arc::new(MemoryLimit::default());
        let most = Reserved::of(&all, MAX_BYTES - 10).expect("there is room");
        assert!(Reserved::of(&all, 11).is_none());
        assert!(Reserved::of(&all, 10).is_some());
        drop(most);
        assert_eq!(all.taken(), 0);
    }

    #[test]
    fn notes_tell_what_changed_unless_some_are_missing() {
        let state = SearchState { revision: 5_000, unnoted: 4_200 };
        assert!(state.tells_since(4_200) && state.tells_since(4_999));
        assert!(!state.tells_since(4_199));
        assert!(!SearchState { unnoted: 0, ..state }.tells_since(3_999));
    }
}
