//! Search data kept in the memory of the process: the vectors and words of kinds that are not too large.
//!
//! A kind is first read as a whole in the background, while the database answers the searches. After that it follows
//! the notes that commits leave about their changes. If a kind is too large, only the vectors that a filter admits are
//! kept. The database answers a search if the kind is not kept, or if the snapshot is older than the memory. The
//! results are the same: scores equal those of every other store.

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

use self::admitted::AdmittedVectors;
use self::vectors::Vectors;
use self::words::Words;
use crate::connect::Shared;
use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::Session;

/// Memory that the search data of all workspaces in a process may take, in bytes.
const MAX_BYTES: usize = 512 << 20;
/// Bytes by which a table may exceed twice its reservation.
const SPARE_BYTES: usize = 1 << 20;
/// Most changed entries that a kind takes over from the notes. With more, it is read again.
const MAX_CHANGES: usize = 5_000;
/// How long a kind that was too large is not checked again.
const TOO_LARGE_FOR: Duration = Duration::from_secs(600);
/// Number of revisions with changed search data whose notes are kept.
pub(crate) const NOTED_REVISIONS: i64 = 1_000;

/// The state of the search data in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SearchState {
    /// The last revision that changed search data.
    pub(crate) revision: i64,
    /// The last revision that changed search data without leaving notes.
    pub(crate) unnoted: i64,
}

impl SearchState {
    async fn of(session: &Session) -> Result<Self, Fault> {
        let sql = "SELECT search_revision, search_unnoted FROM workspaces WHERE id = $1";
        match session.rows(sql, &[]).await?.first() {
            Some(row) => Ok(Self { revision: get(row, 0)?, unnoted: get(row, 1)? }),
            // Searches in a deleted workspace find nothing.
            None => Ok(Self { revision: 0, unnoted: 0 }),
        }
    }

    /// True if the notes include every change since this revision.
    fn has_notes_since(self, revision: i64) -> bool {
        revision >= self.unnoted && revision >= self.revision - NOTED_REVISIONS
    }
}

/// When a kind is read into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchMemory {
    /// At its first search, in the background. The database answers until the kind is read.
    #[default]
    Beside,
    /// At its first search, which waits for it.
    AtOnce,
    /// Never.
    Never,
}

/// The search data of one workspace in memory.
pub(crate) struct Memory {
    shared: Arc<Shared>,
    workspace: i64,
    vectors: [Part<Vectors>; ItemKind::ALL.len()],
    words: [Part<Words>; ItemKind::ALL.len()],
    admitted: AdmittedVectors,
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

    /// Drops all search data. The next searches read it again.
    pub(crate) fn forget(&self) {
        self.vectors.iter().for_each(|part| part.set(None));
        self.words.iter().for_each(|part| part.set(None));
        self.admitted.forget();
    }

    /// Returns the nearest entries for each vector of the query. `None` if the database must answer.
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

    /// Returns the best matches by BM25. `None` if the database must answer.
    pub(crate) async fn matching(
        self: &Arc<Self>,
        session: &Session,
        state: SearchState,
        query: &TextQuery,
    ) -> Result<Option<Vec<ScoredId>>, Fault> {
        self.search(session, state, query.kind, |words: &Words| words.matching(query)).await
    }

    /// Searches a table after bringing it to the snapshot's state.
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

    /// Reads a kind in the background while the database answers searches.
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
                tracing::debug!(?kind, ?fault, "search data could not be read into memory");
            }
            part.is_read.store(false, Ordering::Release);
        });
    }
}

/// The data of one kind that vector search or word search reads.
trait Table: Sized + Send + Sync + 'static {
    /// Entries as they are read from the database.
    type Entries: Send;

    /// Returns the table's place in memory.
    fn part(memory: &Memory, kind: ItemKind) -> &Part<Self>;

    /// Returns the table's size in bytes. `None` if it is too large.
    fn bytes(session: &Session, kind: ItemKind) -> impl Future<Output = Result<Option<usize>, Fault>> + Send;

    /// Reads the whole table. `None` if it cannot be kept.
    fn read(session: &Session, kind: ItemKind) -> impl Future<Output = Result<Option<Self>, Fault>> + Send;

    /// Reads the entries among `ids` that exist.
    fn entries(
        session: &Session,
        kind: ItemKind,
        ids: &[String],
    ) -> impl Future<Output = Result<Self::Entries, Fault>> + Send;

    /// Approximate size in bytes.
    fn taken(&self) -> usize;

    /// Replaces these entries with their current versions. False if the table should be read again instead.
    fn change(&mut self, ids: &[String], entries: Self::Entries) -> bool;
}

/// The place of a table in memory.
struct Part<T> {
    held: RwLock<Option<LoadedTable<T>>>,
    /// True while a task reads the table.
    is_read: AtomicBool,
    /// When the table was found to be too large.
    too_large: Mutex<Option<Instant>>,
}

struct LoadedTable<T> {
    /// The revision of its [`SearchState`].
    revision: i64,
    table: T,
    reserved: Reservation,
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

    fn set(&self, held: Option<LoadedTable<T>>) {
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
            Some(bytes) => Reservation::of(&shared.memory, bytes),
            None => None,
        };
        let Some(reserved) = reserved else {
            self.refuse();
            return Ok(());
        };
        match T::read(session, kind).await? {
            Some(table) => self.set(Some(LoadedTable { revision: state.revision, table, reserved })),
            None => self.refuse(),
        }
        Ok(())
    }

    /// Applies all changes since this revision, as the session sees them.
    async fn follow(
        &self,
        session: &Session,
        kind: ItemKind,
        since: i64,
        state: SearchState,
    ) -> Result<(), Fault> {
        let ids = match state.has_notes_since(since) {
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
        // Another search may have updated the table already.
        if let Some(now) = held.as_mut().filter(|held| held.revision == since) {
            now.revision = state.revision;
            let is_kept = entries.is_none_or(|entries| now.table.change(&ids, entries));
            // A table that has grown this much is read again with a new reservation, if there is room.
            if !is_kept || now.table.taken() > 2 * now.reserved.bytes + SPARE_BYTES {
                *held = None;
            }
        }
        Ok(())
    }
}

/// Returns the entries that changed since this revision. `None` if there are too many.
async fn noted(session: &Session, kind: ItemKind, since: i64) -> Result<Option<Vec<String>>, Fault> {
    let sql = "SELECT DISTINCT id FROM search_changes WHERE workspace_id = $1 AND kind = $2 AND revision > $3 LIMIT $4";
    let limit = rows::limit(MAX_CHANGES + 1);
    let found = session.rows(sql, &[&rows::kind_code(kind), &since, &limit]).await?;
    if found.len() > MAX_CHANGES {
        return Ok(None);
    }
    found.iter().map(|row: &Row| get(row, 0)).collect::<Result<_, _>>().map(Some)
}

/// Memory that the search data of all workspaces in a database takes and may take, in bytes.
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
    /// Sets the limit from now on.
    pub(crate) fn set(&self, bytes: usize) {
        self.most.store(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes that are taken now.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

/// Bytes that count as taken until this is dropped.
struct Reservation {
    of: Arc<MemoryLimit>,
    bytes: usize,
}

impl Reservation {
    /// Reserves `bytes`. `None` if that would exceed the limit.
    fn of(of: &Arc<MemoryLimit>, bytes: usize) -> Option<Self> {
        let reserved = Self { of: Arc::clone(of), bytes };
        let taken = of.taken.fetch_add(bytes, Ordering::Relaxed) + bytes;
        (taken <= of.most.load(Ordering::Relaxed)).then_some(reserved)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.of.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_memory_stays_within_the_limit_and_is_released() {
        let all = Arc::new(MemoryLimit::default());
        let most = Reservation::of(&all, MAX_BYTES - 10).expect("there is room");
        assert!(Reservation::of(&all, 11).is_none());
        assert!(Reservation::of(&all, 10).is_some());
        drop(most);
        assert_eq!(all.taken(), 0);
    }

    #[test]
    fn notes_are_usable_unless_some_are_missing() {
        let state = SearchState { revision: 5_000, unnoted: 4_200 };
        assert!(state.has_notes_since(4_200) && state.has_notes_since(4_999));
        assert!(!state.has_notes_since(4_199));
        assert!(!SearchState { unnoted: 0, ..state }.has_notes_since(3_999));
    }
}
