//! The single writer thread. It commits waiting batches in groups, with one disk flush per group.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;

use futures::channel::oneshot;
use graphloom_core::{Batch, BudgetChange, BudgetOutcome, Revision, StoreError};
use rusqlite::Connection;

use super::error::{Context, backend, classified, repeated};
use super::forget_pages;
use super::locks::LockPatience;
use super::log::{Gate, Log};
use super::place::Place;
use super::reserve;
use super::vector_tree::TreeLimits;
use super::{apply, budget};

/// Most batches that may wait. Further callers block until one is taken.
const MAX_WAITING_BATCHES: usize = 64;
/// Most batches that share one transaction. Limits what a failing disk loses and how long the first batch waits.
const MAX_GROUP: usize = 16;

/// The handle of the writer thread. Dropping it waits until the thread has finished its work.
pub(super) struct Writer {
    /// `None` only during the drop.
    queue: Option<SyncSender<Work>>,
    thread: Option<JoinHandle<()>>,
    waiting: Arc<LockPatience>,
}

impl Writer {
    /// Starts the thread on a write connection.
    ///
    /// - `place`: the place of the connection's file.
    pub(super) fn start(
        conn: Connection,
        place: Arc<Place>,
        trees: TreeLimits,
        waiting: Arc<LockPatience>,
        gate: Arc<Gate>,
    ) -> std::io::Result<Self> {
        let (queue, requests) = sync_channel(MAX_WAITING_BATCHES);
        let mut log = Log::new(gate, Arc::clone(&waiting));
        let thread = Thread { conn, place, trees };
        let thread = std::thread::Builder::new()
            .name("graphloom-writer".to_owned())
            .spawn(move || thread.write_until_closed(&mut log, &requests))?;
        Ok(Self { queue: Some(queue), thread: Some(thread), waiting })
    }

    /// Commits a batch. It is durable when this returns.
    pub(super) async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        let stopped = || backend("committing".to_owned(), "the writer thread has stopped");
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        queue.send(Work::Commit(Box::new(Request { batch, reply }))).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Changes the budget of the workspace. The change is durable when this returns.
    pub(super) async fn change_budget(&self, change: BudgetChange) -> Result<BudgetOutcome, StoreError> {
        let stopped = || backend("changing the budget".to_owned(), "the writer thread has stopped");
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        queue.send(Work::Budget(change, reply)).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Empties the write-ahead log after earlier commits, as far as readers allow it, without waiting for a pause.
    pub(super) fn shrink_log(&self) {
        // If the writer has stopped, the next one to open the file takes care of the log.
        self.tidy(Tidying::Log);
    }

    /// Frees the memory that the connection keeps, after earlier commits.
    pub(super) fn rest(&self) {
        self.tidy(Tidying::Memory);
    }

    /// Returns when the work is done, or if the writer has stopped.
    fn tidy(&self, what: Tidying) {
        let (reply, done) = sync_channel(1);
        if self.queue.as_ref().is_some_and(|queue| queue.send(Work::Tidy(what, reply)).is_ok()) {
            let _ = done.recv();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        self.waiting.close();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer thread panicked");
        }
    }
}

/// A request to the thread.
enum Work {
    Commit(Box<Request>),
    Budget(BudgetChange, oneshot::Sender<Result<BudgetOutcome, StoreError>>),
    Tidy(Tidying, SyncSender<()>),
}

/// Maintenance that the thread can do between commits.
#[derive(Debug, Clone, Copy)]
enum Tidying {
    /// Empty the write-ahead log.
    Log,
    /// Free memory.
    Memory,
}

struct Request {
    batch: Batch,
    reply: oneshot::Sender<Result<Revision, StoreError>>,
}

/// The state of the thread.
struct Thread {
    conn: Connection,
    place: Arc<Place>,
    trees: TreeLimits,
}

impl Thread {
    fn write_until_closed(&self, log: &mut Log, requests: &Receiver<Work>) {
        loop {
            let first = match log.rest_after() {
                Some(rest) => requests.recv_timeout(rest),
                None => requests.recv().map_err(Into::into),
            };
            let first = match first {
                Ok(Work::Commit(first)) => first,
                Ok(other) => {
                    self.do_work(other, log);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    log.rest(&self.conn);
                    // Emptying the log may have freed the space for it.
                    if log.rest_after().is_none() {
                        reserve::keep(self.place.path());
                    }
                    continue;
                }
            };
            let mut next = None;
            let more = requests.try_iter().take(MAX_GROUP - 1).map_while(|work| match work {
                Work::Commit(request) => Some(request),
                other @ (Work::Budget(..) | Work::Tidy(..)) => {
                    next = Some(other);
                    None
                }
            });
            for (reply, result) in self.write_group(std::iter::once(first).chain(more)) {
                // The batch is committed even if its caller no longer waits.
                let _ = reply.send(result);
            }
            log.after_commit(&self.conn);
            if let Some(next) = next {
                self.do_work(next, log);
            }
        }
    }

    /// Does work other than commits.
    fn do_work(&self, work: Work, log: &mut Log) {
        match work {
            Work::Budget(change, reply) => {
                // The change is made even if its caller no longer waits.
                let _ = reply.send(self.change_budget(change));
                log.after_commit(&self.conn);
            }
            Work::Tidy(what, reply) => {
                self.tidy(what, log);
                let _ = reply.send(());
            }
            Work::Commit(request) => {
                for (reply, result) in self.write_group(std::iter::once(request)) {
                    let _ = reply.send(result);
                }
            }
        }
    }

    /// Changes the budget in its own transaction.
    fn change_budget(&self, change: BudgetChange) -> Result<BudgetOutcome, StoreError> {
        self.place.require_unmoved()?;
        self.run("BEGIN IMMEDIATE")?;
        let changed = budget::change(&self.conn, change).during("changing the budget");
        let changed = changed.map_err(|error| classified(error, self.place.path()));
        let outcome = changed.and_then(|outcome| self.run("COMMIT").map(|()| outcome));
        if outcome.is_err()
            && !self.conn.is_autocommit()
            && let Err(error) = self.run("ROLLBACK")
        {
            tracing::error!(%error, "rolling back failed");
        }
        outcome
    }

    fn tidy(&self, what: Tidying, log: &mut Log) {
        match what {
            Tidying::Log => log.shrink(&self.conn),
            Tidying::Memory => forget_pages(&self.conn),
        }
    }

    /// Applies or refuses each batch, then makes all applied ones durable together.
    ///
    /// Nearly all refused batches are refused before they write anything, so there is nothing to undo. If a batch fails
    /// later, the transaction is rolled back and the other batches are applied again. A savepoint for each batch would
    /// copy every page that it changes, and SQLite goes through all those copies at every statement.
    fn write_group(&self, group: impl Iterator<Item = Box<Request>>) -> Vec<Answer> {
        let (batches, replies): (Vec<Batch>, Vec<_>) =
            group.map(|request| (request.batch, request.reply)).unzip();
        let replied = |results: Vec<Result<Revision, StoreError>>| replies.into_iter().zip(results).collect();
        if let Err(moved) = self.place.require_unmoved() {
            return replied(batches.iter().map(|_| Err(repeated(&moved))).collect());
        }
        let mut failed = BTreeMap::new();
        loop {
            let broken = match self.write_together(&batches, &mut failed) {
                Ok(results) => return self.confirmed(replied(results)),
                Err(broken) => broken,
            };
            // On some errors, such as a full disk, SQLite has already rolled back everything.
            if !self.conn.is_autocommit()
                && let Err(error) = self.run("ROLLBACK")
            {
                tracing::error!(%error, "rolling back failed");
            }
            match broken.by {
                Some(at) => drop(failed.insert(at, broken.error)),
                None => {
                    let error = |at| failed.remove(&at).unwrap_or_else(|| repeated(&broken.error));
                    return replied((0..batches.len()).map(error).map(Err).collect());
                }
            }
        }
    }

    /// Applies all batches except `failed` in one transaction, and commits it.
    fn write_together(
        &self,
        batches: &[Batch],
        failed: &mut BTreeMap<usize, StoreError>,
    ) -> Result<Vec<Result<Revision, StoreError>>, TransactionError> {
        let whole = |error| TransactionError { by: None, error };
        self.run("BEGIN IMMEDIATE").map_err(whole)?;
        let mut results = BTreeMap::new();
        for (at, batch) in batches.iter().enumerate().filter(|(at, _)| !failed.contains_key(at)) {
            let written = self.conn.total_changes();
            let result = apply::apply(&self.conn, self.trees, batch);
            match result.map_err(|error| classified(error, self.place.path())) {
                Err(error) if self.conn.total_changes() != written || self.conn.is_autocommit() => {
                    return Err(TransactionError { by: Some(at), error });
                }
                result => drop(results.insert(at, result)),
            }
        }
        self.run("COMMIT").map_err(whole)?;
        results.extend(std::mem::take(failed).into_iter().map(|(at, error)| (at, Err(error))));
        Ok(results.into_values().collect())
    }

    /// Returns the answers of a durable group, after checking that its files are where the next process will look for them.
    fn confirmed(&self, answers: Vec<Answer>) -> Vec<Answer> {
        if let Err(moved) = self.place.require_unmoved() {
            let refused = |result: Result<Revision, StoreError>| result.and_then(|_| Err(repeated(&moved)));
            return answers.into_iter().map(|(reply, result)| (reply, refused(result))).collect();
        }
        if let Some(newest) = answers.iter().filter_map(|(_, result)| result.as_ref().ok()).max() {
            self.place.reached(*newest);
        }
        answers
    }

    fn run(&self, sql: &str) -> Result<(), StoreError> {
        let done = self.conn.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        done.map(drop).during("committing").map_err(|error| classified(error, self.place.path()))
    }
}

type Answer = (oneshot::Sender<Result<Revision, StoreError>>, Result<Revision, StoreError>);

/// The failure that ended a transaction.
struct TransactionError {
    /// The batch that failed. `None` if the transaction itself failed.
    by: Option<usize>,
    error: StoreError,
}

#[cfg(test)]
mod tests {
    use super::super::locks::Patience;
    use super::super::schema;
    use super::*;
    use crate::conformance::sample;

    fn group(batches: Vec<Batch>) -> impl Iterator<Item = Box<Request>> {
        batches.into_iter().map(|batch| Box::new(Request { batch, reply: oneshot::channel().0 }))
    }

    fn written(thread: &Thread, batches: Vec<Batch>) -> Vec<Result<Revision, StoreError>> {
        thread.write_group(group(batches)).into_iter().map(|(_, result)| result).collect()
    }

    #[test]
    fn a_full_disk_is_the_reported_reason_and_a_refused_commit_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("w.graphloom");
        let opened = schema::open_writer(&path, &LockPatience::new(&path, Patience::Endless));
        let (conn, place) = opened.expect("a new file");
        let thread = Thread { conn, place: Arc::new(place), trees: TreeLimits::default() };
        let small = |name: &str| sample::indexed(name, "Ada met Bob", "ADA", "BOB");
        // Repeated words would be stored in few pages.
        let words = (0..30_000u32).map(|n| format!("{} ", blake3::hash(&n.to_le_bytes()).to_hex()));
        let long = sample::indexed("long", &words.collect::<String>(), "ADA", "BOB");
        let pages: i64 =
            thread.conn.query_row("PRAGMA page_count", [], |row| row.get(0)).expect("a number of pages");
        thread.conn.pragma_update(None, "max_page_count", pages + 60).expect("a limit");

        let mut refused = small("refused");
        refused.put_vectors[0].vector.pop();
        let results = written(&thread, vec![small("a"), refused, long.clone(), small("b")]);
        assert!(matches!(results[1], Err(StoreError::Invalid { .. })), "{results:?}");
        assert!(matches!(results[2], Err(StoreError::DiskFull { .. })), "{results:?}");
        assert!(
            results[0].is_ok() && results[3].is_ok(),
            "a failed batch does not affect others: {results:?}"
        );
        thread.conn.pragma_update(None, "max_page_count", i64::from(i32::MAX)).expect("a limit");
        assert!(matches!(written(&thread, vec![long])[..], [Ok(Revision(3))]));
    }
}
