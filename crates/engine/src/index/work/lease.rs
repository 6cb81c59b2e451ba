//! Claims documents with leases that expire, and takes over expired ones.

use graphloom_core::{Batch, Job, Lease, Require, StoreError, Timestamp};

use super::Run;
use super::share::share_of;
use super::stop::Stop;
use crate::Engine;
use crate::commit::Retries;
use crate::index::IndexError;
use crate::index::settings::require_settings_at;

/// Removes the leases that match `which`, so that their jobs can be claimed.
pub(in super::super) async fn release_leases(
    engine: &Engine,
    which: impl Fn(&Lease) -> bool,
) -> Result<(), StoreError> {
    let snapshot = engine.store.snapshot().await?;
    let leased = snapshot.leased_jobs().await?;
    drop(snapshot);
    for job in leased.into_iter().filter(|job| job.lease.as_ref().is_some_and(&which)) {
        let require = vec![Require::JobIs(job.clone())];
        let batch = Batch { require, put_jobs: vec![Job { lease: None, ..job }], ..Batch::default() };
        match engine.store.commit(batch).await {
            Ok(_) => {}
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Releases the jobs that a dropped run of this engine had claimed, so that other processes can claim them at once. What is
/// committed stays.
pub async fn abandon(engine: &Engine) -> Result<(), StoreError> {
    // A dropped run may have left a commit in progress. Its leases are visible only after that commit.
    engine.store.commit(Batch::default()).await?;
    release_leases(engine, |lease| lease.owner == engine.index.worker).await
}

/// Returns how many jobs a run would claim now.
///
/// - `gone`: as in [`run`](crate::index::run).
pub async fn claimable(
    engine: &Engine,
    gone: &(dyn Fn(&str) -> bool + Send + Sync),
) -> Result<usize, StoreError> {
    let (snapshot, now) = (engine.store.snapshot().await?, engine.clock.now());
    let is_released =
        |lease: &Lease| lease.expires_at > now && (lease.owner == engine.index.worker || gone(&lease.owner));
    let leased = snapshot.leased_jobs().await?;
    let released = leased.iter().filter(|job| job.lease.as_ref().is_some_and(is_released)).count();
    Ok(released + snapshot.claimable_jobs(now, usize::MAX).await?.len())
}

/// Maximum number of workers that documents are divided among; more workers than that take shares of the same size.
const MAX_SHARING: usize = 16;

impl Run<'_> {
    /// Claims the next jobs; `None` if none are left. With other workers, this one claims no more than its [share](share_of) of the
    /// queue, and leaves the rest to them until it has prepared one of its own documents.
    pub(super) async fn claim(&self) -> Result<Option<Vec<Job>>, IndexError> {
        let most = self.engine.index.max_concurrent_documents.max(1) * 2;
        let mut retries = Retries::on_documents();
        loop {
            if self.engine.index.stop.is_made() {
                self.note_stop_request();
            }
            if self.is_stopping() {
                return Ok(None);
            }
            let now = self.engine.clock.now();
            let taken = self.taken.count();
            let workers = self.engine.store.workers().await?.clamp(1, MAX_SHARING);
            let snapshot = self.engine.store.snapshot().await?;
            let mut jobs = snapshot.claimable_jobs(now, most * workers).await?;
            let room = match workers {
                1 => most,
                _ => {
                    let open = jobs.len() + snapshot.leased_jobs().await?.len();
                    let share = share_of(open, workers, self.engine.index.max_concurrent_calls);
                    share.saturating_sub(taken).min(most)
                }
            };
            let queue = snapshot.queue().await?;
            require_settings_at(self.engine, snapshot.as_ref()).await?;
            drop(snapshot);
            if jobs.is_empty() {
                return Ok(None);
            }
            if queue.is_paused() {
                self.paused();
                return Ok(None);
            }
            if room == 0 {
                self.taken.fewer_than(taken).await;
                continue;
            }
            jobs.truncate(room);
            let mut batch = Batch::default();
            for job in jobs {
                batch.require.push(Require::JobIs(job.clone()));
                batch.put_jobs.push(Job { lease: Some(self.lease(now)), attempts: job.attempts + 1, ..job });
            }
            let claimed = batch.put_jobs.clone();
            if retries.is_done(self.engine.store.commit(batch).await)? {
                self.taken.add(claimed.len());
                return Ok(Some(claimed));
            }
        }
    }

    pub(in super::super) fn lease(&self, now: Timestamp) -> Lease {
        Lease {
            owner: self.engine.index.worker.clone(),
            expires_at: Timestamp(now.0 + self.engine.index.lease_ms),
        }
    }

    /// Returns why no more questions may be asked about a document under this claim; `None` if they may.
    pub(in super::super) async fn halt(&self, claimed: &Job) -> Result<Option<Stop>, StoreError> {
        if self.stop.is_made() {
            return Ok(Some(Stop::Requested));
        }
        let snapshot = self.engine.store.snapshot().await?;
        if snapshot.queue().await?.is_paused() {
            return Ok(Some(Stop::Paused));
        }
        let job = snapshot.jobs(std::slice::from_ref(&claimed.document)).await?.into_iter().next().flatten();
        let is_ours = job.is_some_and(|job| {
            let holder = job.lease.map(|lease| lease.owner);
            // This worker may hold it by a later claim, after it was queued again.
            holder.as_ref() == Some(&self.engine.index.worker) && job.attempts == claimed.attempts
        });
        Ok((!is_ours).then_some(Stop::Lost))
    }
}
