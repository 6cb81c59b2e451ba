//! The write-ahead log. Commits append to it, and it is copied to the file without blocking anyone.
//!
//! A log can be copied only up to the oldest snapshot that reads from it. It starts again from its beginning only after
//! all of it is copied and no snapshot reads from it. So nothing here ever waits for a reader: what cannot be copied
//! now is copied later. Snapshots that overlap without a pause would make the log grow forever. So if the log is long,
//! the store holds back new snapshots for a moment, until the open ones in this process have ended ([`Gate`]). Commits
//! continue. A snapshot that stays open for long, or one in another process, still keeps the log growing until it ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::channel::oneshot;
use rusqlite::Connection;

use super::locks::LockPatience;

/// Pages in the log but not in the file from which they are copied after a commit.
const COPIED_FROM_PAGES: i64 = 1000;
/// Pages in the log from which new snapshots are held back until it is empty: 64 MiB in pages of 4 KiB.
const LONG_LOG_PAGES: i64 = 16 << 10;
/// Longest time for which new snapshots are held back.
const MAX_HELD_BACK: Duration = Duration::from_millis(500);
/// If holding back new snapshots did not empty the log, they are held back again after this time or when the log has doubled.
const HELD_BACK_EVERY: Duration = Duration::from_secs(60);
/// How often the log is checked while new snapshots are held back.
const POLL: Duration = Duration::from_millis(5);
/// A pause in writing after which the log is emptied.
const IDLE: Duration = Duration::from_millis(500);
/// Longest pause between attempts to empty the log while nothing is written.
const LONGEST_IDLE: Duration = Duration::from_secs(30);

/// The open snapshots of this process, and whether new ones may begin.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<GateState>,
}

#[derive(Default)]
struct GateState {
    is_closed: bool,
    /// Snapshots that wait for the gate to open.
    waiting: Vec<oneshot::Sender<()>>,
    next: u64,
    /// When each open snapshot began.
    open: BTreeMap<u64, Instant>,
}

/// A pass for one snapshot. The snapshot counts as open until this is dropped.
pub(super) struct Passage {
    gate: Arc<Gate>,
    number: u64,
}

impl Gate {
    /// Waits until snapshots may begin, and begins one.
    pub(super) async fn pass(self: &Arc<Self>) -> Passage {
        loop {
            let opened = {
                let mut state = self.lock();
                if !state.is_closed {
                    return self.begin(&mut state);
                }
                let (open, opened) = oneshot::channel();
                state.waiting.push(open);
                opened
            };
            // A writer that ends opens the gate without sending anything.
            let _ = opened.await;
        }
    }

    /// Begins a snapshot even if new ones are held back.
    pub(super) fn pass_now(self: &Arc<Self>) -> Passage {
        let mut state = self.lock();
        self.begin(&mut state)
    }

    fn begin(self: &Arc<Self>, state: &mut GateState) -> Passage {
        let number = state.next;
        state.next += 1;
        state.open.insert(number, Instant::now());
        Passage { gate: Arc::clone(self), number }
    }

    /// Holds back new snapshots, unless one has been open for longer than `most` and is unlikely to end soon. Returns
    /// whether they are held back.
    fn close(&self, most: Duration) -> bool {
        let mut state = self.lock();
        state.is_closed = state.open.values().all(|since| since.elapsed() < most);
        state.is_closed
    }

    fn open(&self) {
        let mut state = self.lock();
        state.is_closed = false;
        for waiting in state.waiting.drain(..) {
            // Some may have stopped waiting.
            let _ = waiting.send(());
        }
    }

    /// Holds back new snapshots for a moment, until the open ones have ended.
    pub(super) fn drain(&self) {
        if self.close(MAX_HELD_BACK) {
            let until = Instant::now() + MAX_HELD_BACK;
            while !self.is_drained() && Instant::now() < until {
                std::thread::sleep(POLL);
            }
        }
        self.open();
    }

    fn is_drained(&self) -> bool {
        self.lock().open.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        self.gate.lock().open.remove(&self.number);
    }
}

/// When a log counts as long, and how long it holds back snapshots.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Pages in the log from which new snapshots are held back.
    long_pages: i64,
    /// Longest time for which they are held back.
    held_back: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { long_pages: LONG_LOG_PAGES, held_back: MAX_HELD_BACK }
    }
}

/// The log, as the writer's thread maintains it.
pub(super) struct Log {
    gate: Arc<Gate>,
    waiting: Arc<LockPatience>,
    limits: Limits,
    /// True if the log may have frames.
    is_used: bool,
    /// When to try to empty the log if nothing is written.
    idle: Duration,
    /// Until when new snapshots are held back, if they are.
    held_back_until: Option<Instant>,
    /// Number of pages from which they are held back.
    long: i64,
    /// When holding back snapshots last failed to empty the log.
    failed_at: Option<Instant>,
}

impl Log {
    pub(super) fn new(gate: Arc<Gate>, waiting: Arc<LockPatience>) -> Self {
        Self::with(gate, waiting, Limits::default())
    }

    fn with(gate: Arc<Gate>, waiting: Arc<LockPatience>, limits: Limits) -> Self {
        let long = limits.long_pages;
        let (is_used, idle, held_back_until, failed_at) = (false, IDLE, None, None);
        Self { gate, waiting, limits, is_used, idle, held_back_until, long, failed_at }
    }

    /// Returns how long the writer may wait for the next batch before it calls [`rest`](Self::rest).
    pub(super) fn rest_after(&self) -> Option<Duration> {
        match self.held_back_until {
            Some(_) => Some(POLL),
            None => self.is_used.then_some(self.idle),
        }
    }

    /// Runs after a commit: copies the log to the file if there is much to copy.
    pub(super) fn after_commit(&mut self, conn: &Connection) {
        (self.is_used, self.idle) = (true, IDLE);
        if self.held_back_until.is_some() {
            return self.look(conn);
        }
        let Some(mut pages) = checkpoint(conn, "NOOP") else { return };
        if pages.log - pages.copied >= COPIED_FROM_PAGES {
            let Some(now) = checkpoint(conn, "PASSIVE") else { return };
            pages = now;
        }
        if pages.log < self.limits.long_pages {
            (self.long, self.failed_at) = (self.limits.long_pages, None);
            return;
        }
        let is_due =
            pages.log >= self.long || self.failed_at.is_none_or(|at| at.elapsed() >= HELD_BACK_EVERY);
        if is_due && !self.is_empty_now(conn) {
            match self.gate.close(self.limits.held_back) {
                true => self.held_back_until = Some(Instant::now() + self.limits.held_back),
                false => self.fail(pages.log),
            }
        }
    }

    /// Runs while nothing is written: empties the log.
    pub(super) fn rest(&mut self, conn: &Connection) {
        match self.held_back_until {
            Some(_) => self.look(conn),
            None => {
                self.is_used = !self.is_empty_now(conn);
                self.idle = (self.idle * 2).min(LONGEST_IDLE);
            }
        }
    }

    /// Empties the log as far as readers allow it.
    pub(super) fn shrink(&mut self, conn: &Connection) {
        self.is_used = !self.is_empty_now(conn);
    }

    /// Runs while new snapshots are held back: empties the log once the others have ended, or gives up.
    fn look(&mut self, conn: &Connection) {
        let is_over = self.held_back_until.is_none_or(|until| Instant::now() >= until);
        if !is_over && !self.gate.is_drained() {
            return;
        }
        match self.is_empty_now(conn) {
            true => (self.is_used, self.long, self.failed_at) = (false, self.limits.long_pages, None),
            false if is_over => {
                let log = checkpoint(conn, "NOOP").map_or(self.limits.long_pages, |pages| pages.log);
                self.fail(log);
            }
            // A snapshot in another process, which may still end in time.
            false => return,
        }
        self.held_back_until = None;
        self.gate.open();
    }

    fn fail(&mut self, pages: i64) {
        (self.long, self.failed_at) = (pages.saturating_mul(2), Some(Instant::now()));
        tracing::debug!(pages, "snapshots that are open keep the write-ahead log");
    }

    /// Copies the log to the file and empties it unless a reader prevents that. Returns whether it is empty.
    fn is_empty_now(&self, conn: &Connection) -> bool {
        let pages = self.waiting.failing_fast(|| checkpoint(conn, "TRUNCATE"));
        pages.is_some_and(|pages| !pages.is_hindered && pages.log <= 0)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.gate.open();
    }
}

/// The result of a checkpoint.
struct Pages {
    /// True if readers or a writer kept it from finishing.
    is_hindered: bool,
    /// Pages in the log.
    log: i64,
    /// Number of these pages that are also in the file.
    copied: i64,
}

/// Runs a checkpoint in one of SQLite's modes. `None` if it failed, which leaves the log as it is.
fn checkpoint(conn: &Connection, mode: &str) -> Option<Pages> {
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Pages { is_hindered: row.get::<_, i64>(0)? != 0, log: row.get(1)?, copied: row.get(2)? })
    };
    match conn.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], read) {
        Ok(pages) => Some(pages),
        Err(error) => {
            tracing::debug!(%error, mode, "the write-ahead log stays as it is for now");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tempfile::TempDir;

    use super::super::locks::Patience;
    use super::super::place::beside;
    use super::super::schema;
    use super::*;

    /// A store whose log has some commits, the first of which a snapshot has read, and limits that the log exceeds.
    struct Fixture {
        log: Log,
        gate: Arc<Gate>,
        writer: Connection,
        reader: Connection,
        path: std::path::PathBuf,
        _folder: TempDir,
    }

    fn fixture(held_back: Duration) -> Fixture {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("w.graphloom");
        let waiting = LockPatience::new(&path, Patience::Endless);
        let (writer, _) = schema::open_writer(&path, &waiting).expect("a new file");
        let gate = Arc::<Gate>::default();
        let log = Log::with(Arc::clone(&gate), waiting, Limits { long_pages: 1, held_back });
        write(&writer);
        let reader = schema::open_reader(&path).expect("a reader").conn;
        reader.execute_batch("BEGIN; SELECT count(*) FROM state").expect("a snapshot");
        write(&writer);
        Fixture { log, gate, writer, reader, path, _folder: folder }
    }

    fn write(conn: &Connection) {
        conn.execute_batch("UPDATE state SET revision = revision + 1").expect("a commit");
    }

    impl Fixture {
        fn log_bytes(&self) -> u64 {
            std::fs::metadata(beside(&self.path, "-wal")).expect("the log").len()
        }

        fn may_begin(&self) -> bool {
            self.gate.pass().now_or_never().is_some()
        }
    }

    #[test]
    fn a_long_log_delays_new_snapshots_until_open_ones_end_and_it_is_empty() {
        let mut it = fixture(Duration::from_secs(3600));
        let open = it.gate.pass_now();
        it.log.after_commit(&it.writer);
        assert!(!it.may_begin());
        // Commits continue.
        write(&it.writer);
        it.log.after_commit(&it.writer);
        assert!(!it.may_begin() && it.log_bytes() > 0);
        it.reader.execute_batch("ROLLBACK").expect("the snapshot ends");
        drop(open);
        it.log.rest(&it.writer);
        assert!(it.may_begin());
        assert_eq!(it.log_bytes(), 0);
    }

    #[test]
    fn a_snapshot_that_stays_open_delays_no_others() {
        let mut it = fixture(Duration::ZERO);
        let open = it.gate.pass_now();
        it.log.after_commit(&it.writer);
        assert!(it.may_begin());
        drop(open);
        // A snapshot of another process is not known here, so the wait for it is short.
        it.log.failed_at = None;
        it.log.after_commit(&it.writer);
        assert!(!it.may_begin());
        it.log.rest(&it.writer);
        assert!(it.may_begin() && it.log_bytes() > 0);
    }

    #[test]
    fn emptying_the_log_does_not_wait_for_snapshots_that_read_from_it() {
        let mut it = fixture(Duration::from_secs(3600));
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            it.log.rest(&it.writer);
            it.log.shrink(&it.writer);
            it.log.after_commit(&it.writer);
            // The snapshot was open all the time.
            it.reader.execute_batch("ROLLBACK").expect("the snapshot ends");
            done.send(it.log_bytes())
        });
        let bytes = is_done.recv_timeout(Duration::from_secs(20)).expect("nothing waits for the snapshot");
        assert!(bytes > 0);
    }

    #[test]
    fn delayed_snapshots_continue_when_the_writer_ends() {
        let mut it = fixture(Duration::from_secs(3600));
        it.log.after_commit(&it.writer);
        let gate = Arc::clone(&it.gate);
        let mut waiting = std::pin::pin!(gate.pass());
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(it.log);
        assert!(waiting.now_or_never().is_some());
    }
}
