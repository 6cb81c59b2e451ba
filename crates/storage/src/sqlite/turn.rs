//! The turn to change the graph: a lock that one holder at a time has, among all handles and processes of a workspace.
//!
//! The turn is a file lock, which the operating system releases when its holder ends for any reason. A second file is
//! the gate: whoever waits for the turn holds the gate. So a process that returns the turn and wants it back at once
//! has to wait behind the process that is already waiting.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::channel::oneshot;
use graphloom_core::{GraphTurn, StoreError};

use super::error::backend;
use crate::private;
use crate::rules::conflict;

/// How long to wait for the turn. Holders keep it for a commit, or for deriving a change and embedding the result.
const PATIENCE: Duration = Duration::from_secs(300);
/// First and longest pause between two checks of a lock that another process holds.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// The lock files of a workspace.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    turn: PathBuf,
    gate: PathBuf,
    summaries: PathBuf,
}

impl Turns {
    /// Returns the lock files beside the workspace's file.
    pub(super) fn beside(file: &Path) -> Self {
        let beside = |ending| file.with_extension(ending);
        Self { turn: beside("turn"), gate: beside("gate"), summaries: beside("summaries") }
    }

    /// Takes the turn to write summaries if it is free.
    pub(super) fn take_summaries(&self) -> Result<Option<GraphTurn>, StoreError> {
        Ok(locked(&self.summaries)?.map(|turn| Box::new(turn) as GraphTurn))
    }

    /// Waits for the turn. A thread does the waiting, and ends if the caller stops waiting.
    pub(super) async fn take(&self) -> Result<GraphTurn, StoreError> {
        if let Some(gate) = locked(&self.gate)?
            && let Some(turn) = locked(&self.turn)?
        {
            drop(gate);
            return Ok(Box::new(turn));
        }
        let (reply, answer) = oneshot::channel();
        let turns = self.clone();
        std::thread::Builder::new()
            .name("graphloom-turn".to_owned())
            .spawn(move || {
                let until = Instant::now() + PATIENCE;
                let gone = || reply.is_canceled();
                let turn =
                    wait_for(&turns.gate, until, &gone).and_then(|_gate| wait_for(&turns.turn, until, &gone));
                // If the caller has stopped waiting, this returns the turn.
                let _ = reply.send(turn);
            })
            .map_err(|error| backend("waiting for the turn to change the graph".to_owned(), error))?;
        let stopped = |_| {
            backend("waiting for the turn to change the graph".to_owned(), "the waiting thread has stopped")
        };
        Ok(Box::new(answer.await.map_err(stopped)??))
    }
}

fn wait_for(path: &Path, until: Instant, gone: &dyn Fn() -> bool) -> Result<File, StoreError> {
    let (mut pause, longest) = PAUSES;
    loop {
        if let Some(file) = locked(path)? {
            return Ok(file);
        }
        if Instant::now() >= until || gone() {
            let waited = PATIENCE.as_secs();
            return Err(conflict(format!(
                "other processes kept the turn to change the graph for {waited} s"
            )));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(longest);
    }
}

/// Locks the file and returns it. `None` if another handle has the lock.
fn locked(path: &Path) -> Result<Option<File>, StoreError> {
    let failed = |error: io::Error| backend(format!("locking {}", path.display()), error);
    let file = private::options().create(true).append(true).open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::block_on;

    #[test]
    fn a_waiter_gets_the_turn_before_a_holder_that_wants_it_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let turns = Turns::beside(&folder.path().join("default.graphloom"));
        let (greedy, patient) = (turns.clone(), turns.clone());
        let (stop, stopped) = std::sync::mpsc::channel();
        let looping = std::thread::spawn(move || {
            while stopped.try_recv().is_err() {
                block_on(greedy.take()).expect("the turn comes");
            }
        });
        for _ in 0..20 {
            block_on(patient.take()).expect("the turn comes");
        }
        stop.send(()).expect("the other one still runs");
        looping.join().expect("it does not panic");
    }

    #[test]
    fn a_turn_is_free_when_its_holder_is_dropped() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let turns = Turns::beside(&folder.path().join("default.graphloom"));
        let held = block_on(turns.take()).expect("it is free");
        let mut waiting = Box::pin(turns.take());
        assert!(futures::FutureExt::now_or_never(&mut waiting).is_none());
        drop(waiting);
        drop(held);
        block_on(turns.take()).expect("it is free again");
    }
}
