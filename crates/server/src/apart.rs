//! Runs engine work on separate threads, so that computing and disk reads do not block other requests.

use std::fmt::Display;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::available_parallelism;

use axum::http::StatusCode;
use futures::future::BoxFuture;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinError;
use tracing::{Instrument, Span};

use crate::background::in_background;
use crate::problem::Problem;
use crate::shares::InTurns;
use crate::turns::{Holder, Turns};

/// Threads for questions in addition to the number of processors, because some wait for the disk.
const THREADS_THAT_WAIT: usize = 2;
/// Threads for questions if the number of processors is unknown.
const THREADS: usize = THREADS_THAT_WAIT + 2;

/// The runtime that answers questions. A thread per question would split the processors among too many questions
/// and keep memory and an open store for each.
static ANSWERING: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    Builder::new_multi_thread().worker_threads(threads()).thread_name("answering").enable_all().build()
});

/// The turns of questions on those threads. There is one turn fewer than threads, so that a thread is always free to queue new
/// questions; otherwise they would be served in order of arrival. While several callers ask, each leaves a processor to the
/// others.
static ANSWERED_AT_ONCE: LazyLock<Arc<Turns>> = LazyLock::new(|| {
    let (at_once, processors) = (threads() - 1, threads() - THREADS_THAT_WAIT);
    Arc::new(Turns::reserved(at_once, processors - 1))
});

fn threads() -> usize {
    available_parallelism().map_or(THREADS, |processors| processors.get() + THREADS_THAT_WAIT)
}

/// Runs `work` to its end, even if the client disconnects.
///
/// The guard's turns limit how many run at once.
pub(crate) async fn apart<T, Work, Running>(work: Work) -> Result<T, Problem>
where
    T: Send + 'static,
    Work: FnOnce() -> Running + Send + 'static,
    Running: Future<Output = Result<T, Problem>> + 'static,
{
    let (result, work) = boxed(work);
    result.after(blocking(work).await)
}

/// Runs a question, which mostly computes and reads, or waits for a model. About as many questions run at a time as there are
/// processors; a question that waits for a model does not occupy a thread. Of the questions that are ready, the one whose caller
/// has the fewest running comes first. The caller is that of the current request.
pub(crate) fn run_question<T, Work, Running>(work: Work) -> impl Future<Output = Result<T, Problem>> + Send
where
    T: Send + 'static,
    Work: FnOnce() -> Running + Send + 'static,
    Running: Future<Output = Result<T, Problem>> + Send + 'static,
{
    let (result, slot) = Slot::pair();
    let answering = in_turns(Box::pin(async move { slot.fill(work().await) }));
    async move { result.after(answering.await?) }
}

tokio::task_local! {
    /// The caller of the current request's task.
    static HOLDER: Holder;
}

/// Handles a request for its holder, whose questions share the processors with those of other holders.
pub(crate) async fn for_holder<T>(holder: Holder, handled: impl Future<Output = T>) -> T {
    HOLDER.scope(holder, handled).await
}

/// Like [`apart`], but in the background, for long work that no client waits for.
pub(crate) async fn apart_in_background<T, Work, Running>(work: Work) -> Result<T, Problem>
where
    T: Send + 'static,
    Work: FnOnce() -> Running + Send + 'static,
    Running: Future<Output = Result<T, Problem>> + 'static,
{
    let (result, work) = boxed(work);
    let runtime = Handle::current();
    result.after(in_background(move || runtime.block_on(work())).await)
}

/// Work without its type. The functions that run it, and the runtime code below them, are compiled only once instead of once per
/// route.
type BoxedWork = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()>>> + Send>;

fn boxed<T, Work, Running>(work: Work) -> (Slot<T>, BoxedWork)
where
    T: Send + 'static,
    Work: FnOnce() -> Running + Send + 'static,
    Running: Future<Output = Result<T, Problem>> + 'static,
{
    let (result, slot) = Slot::pair();
    (result, Box::new(move || Box::pin(async move { slot.fill(work().await) })))
}

async fn blocking(work: BoxedWork) -> Result<(), JoinError> {
    let (runtime, span) = (Handle::current(), Span::current());
    tokio::task::spawn_blocking(move || {
        let _entered = span.entered();
        runtime.block_on(work());
    })
    .await
}

/// The outer error means that the threads for questions could not be started.
fn in_turns(
    work: BoxFuture<'static, ()>,
) -> impl Future<Output = Result<Result<(), JoinError>, Problem>> + Send {
    let holder = HOLDER.try_with(Holder::clone).unwrap_or(Holder::Machine);
    async move {
        let runtime = ANSWERING.as_ref().map_err(|error| Problem::internal(error))?;
        let work = InTurns::new(work, Arc::clone(&ANSWERED_AT_ONCE), holder);
        Ok(runtime.spawn(work.in_current_span()).await)
    }
}

/// Where boxed work stores its result.
struct Slot<T>(Arc<Mutex<Option<Result<T, Problem>>>>);

impl<T> Slot<T> {
    /// Returns two handles of one slot: for the caller that waits, and for the work.
    fn pair() -> (Self, Self) {
        let slot = Arc::default();
        (Self(Arc::clone(&slot)), Self(slot))
    }

    fn fill(self, result: Result<T, Problem>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    /// Returns the result of work that has ended; an error if it panicked.
    fn after(self, ended: Result<(), impl Display>) -> Result<T, Problem> {
        if let Err(error) = ended {
            tracing::error!(%error, "a request panicked");
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_else(|| {
            let what = "internal server error; see the server's log under the id of this request";
            Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, what))
        })
    }
}
