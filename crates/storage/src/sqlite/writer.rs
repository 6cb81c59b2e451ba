//! The one thread that writes: it takes waiting batches and commits them in groups, one disk flush each group.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use futures::channel::oneshot;
use graphloom_core::{Batch, Revision, StoreError};
use rusqlite::Connection;

use super::apply;
use super::error::backend;
use super::vector_tree::TreeLimits;

/// Batches that may wait; a caller beyond them blocks until one is taken.
const MAX_WAITING_BATCHES: usize = 64;
/// Batches that share one transaction; bounds what a failing disk loses and how long the first one waits.
const MAX_GROUP: usize = 16;
/// A pause in writing after which the write-ahead log is emptied.
const IDLE: Duration = Duration::from_millis(500);

/// The handle of the writer thread; dropping it waits for the thread to finish what it was given.
pub(super) struct Writer {
    /// Present until dropped.
    queue: Option<SyncSender<Work>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread on a connection that may write.
    pub(super) fn start(conn: Connection, trees: TreeLimits) -> std::io::Result<Self> {
        let (queue, requests) = sync_channel(MAX_WAITING_BATCHES);
        let thread = std::thread::Builder::new()
            .name("graphloom-writer".to_owned())
            .spawn(move || write_until_closed(&conn, trees, &requests))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Commits a batch; durable when this returns.
    pub(super) async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        let stopped = || backend("committing".to_owned(), "the writer thread has stopped");
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        queue.send(Work::Commit(Box::new(Request { batch, reply }))).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Empties the write-ahead log after the commits before it, as far as readers let it, without waiting for a pause.
    pub(super) fn shrink_log(&self) {
        let (reply, done) = sync_channel(1);
        // A writer that has stopped leaves the log for the next one to open the file.
        if self.queue.as_ref().is_some_and(|queue| queue.send(Work::ShrinkLog(reply)).is_ok()) {
            let _ = done.recv();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer thread panicked");
        }
    }
}

/// What the thread is asked for.
enum Work {
    Commit(Box<Request>),
    ShrinkLog(SyncSender<()>),
}

struct Request {
    batch: Batch,
    reply: oneshot::Sender<Result<Revision, StoreError>>,
}

fn write_until_closed(conn: &Connection, trees: TreeLimits, requests: &Receiver<Work>) {
    let mut written = false;
    loop {
        let first = if written { requests.recv_timeout(IDLE) } else { requests.recv().map_err(Into::into) };
        let first = match first {
            Ok(Work::Commit(first)) => first,
            Ok(Work::ShrinkLog(reply)) => {
                shrink_log(conn);
                written = false;
                let _ = reply.send(());
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                shrink_log(conn);
                written = false;
                continue;
            }
        };
        written = true;
        let mut shrink = None;
        let more = requests.try_iter().take(MAX_GROUP - 1).map_while(|work| match work {
            Work::Commit(request) => Some(request),
            Work::ShrinkLog(reply) => {
                shrink = Some(reply);
                None
            }
        });
        for (reply, result) in write_group(conn, trees, std::iter::once(first).chain(more)) {
            // A caller that no longer waits still has its batch committed.
            let _ = reply.send(result);
        }
        if let Some(reply) = shrink {
            shrink_log(conn);
            written = false;
            let _ = reply.send(());
        }
    }
}

/// Moves the write-ahead log into the database and empties it. Readers of old snapshots may keep it from being emptied;
/// then a later pause does it.
fn shrink_log(conn: &Connection) {
    if let Err(error) = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
        tracing::debug!(%error, "the write-ahead log keeps its size for now");
    }
}

type Answer = (oneshot::Sender<Result<Revision, StoreError>>, Result<Revision, StoreError>);

/// Applies each batch or refuses it, then makes all of them durable together.
fn write_group(
    conn: &Connection,
    trees: TreeLimits,
    group: impl Iterator<Item = Box<Request>>,
) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut failure = run(conn, "BEGIN IMMEDIATE").err();
    for request in group {
        let result = match &failure {
            Some(_) => Ok(Err(group_failed())),
            None => apply_alone(conn, trees, &request.batch),
        };
        match result {
            Ok(result) => answers.push((request.reply, result)),
            Err(broken) => {
                failure = Some(broken);
                answers.push((request.reply, Err(group_failed())));
            }
        }
    }
    let failure = failure.or_else(|| run(conn, "COMMIT").err());
    let Some(failure) = failure else { return answers };

    if !conn.is_autocommit()
        && let Err(error) = run(conn, "ROLLBACK")
    {
        tracing::error!(%error, "rolling back failed");
    }
    let failure = failure.to_string();
    let fail = |result: Result<Revision, StoreError>| match result {
        Err(refused @ (StoreError::Conflict { .. } | StoreError::Invalid { .. })) => Err(refused),
        Ok(_) | Err(_) => Err(backend("committing".to_owned(), failure.clone())),
    };
    answers.into_iter().map(|(reply, result)| (reply, fail(result))).collect()
}

/// Applies a batch so that a refused one leaves no trace; an outer error breaks the whole transaction.
fn apply_alone(
    conn: &Connection,
    trees: TreeLimits,
    batch: &Batch,
) -> rusqlite::Result<Result<Revision, StoreError>> {
    run(conn, "SAVEPOINT batch")?;
    let result = apply::apply(conn, trees, batch);
    if result.is_err() {
        run(conn, "ROLLBACK TO batch")?;
    }
    run(conn, "RELEASE batch")?;
    Ok(result)
}

fn run(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(drop)
}

/// Replaced by the true cause once the group is over.
fn group_failed() -> StoreError {
    backend("committing".to_owned(), "the transaction failed")
}
