//! Runs engine work on separate threads, so that computing and disk reads do not block other requests.

use std::fmt::Display;
use std::future::Future;
use std::io;
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use axum::http::StatusCode;
use tokio::runtime::{Builder, Handle, Runtime};
use tracing::Instrument;

use crate::background::in_background;
use crate::problem::Problem;
use crate::shares::InTurns;
use crate::turns::{Holder, Turns};

/// Threads for questions beyond the number of processors, since some wait for the disk.
const THREADS_THAT_WAIT: usize = 2;
/// Threads for questions if the number of processors is unknown.
const THREADS: usize = THREADS_THAT_WAIT + 2;

/// The runtime that answers questions. A thread per question would split the processors among too many questions
/// and keep memory and an open store for each.
static ANSWERING: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    Builder::new_multi_thread().worker_threads(threads()).thread_name("answering").enable_all().build()
});

/// The turns of questions on those threads. There is one turn fewer than threads, so that a thread is always free to put
/// new questions in line; otherwise they would be served in order of arrival. While several callers ask, each leaves a
/// processor to the others.
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
    Running: Future<Output = Result<T, Problem>>,
{
    let runtime = Handle::current();
    let span = tracing::Span::current();
    let done = tokio::task::spawn_blocking(move || {
        let _entered = span.entered();
        runtime.block_on(work())
    });
    unless_it_panicked(done.await)
}

/// Runs a question, which mostly computes and reads, or waits for a model. About as many run at a time as there
/// are processors; a question that waits for a model does not occupy a thread. Of the questions that are ready, the one
/// whose caller has the fewest running comes first. The caller is that of the current request.
pub(crate) fn asked_apart<T, Work, Running>(work: Work) -> impl Future<Output = Result<T, Problem>> + Send
where
    T: Send + 'static,
    Work: FnOnce() -> Running + Send + 'static,
    Running: Future<Output = Result<T, Problem>> + Send + 'static,
{
    let holder = HOLDER.try_with(Holder::clone).unwrap_or(Holder::Machine);
    async move {
        let runtime = ANSWERING.as_ref().map_err(|error| Problem::internal(error))?;
        let work = InTurns::new(async move { work().await }, Arc::clone(&ANSWERED_AT_ONCE), holder);
        unless_it_panicked(runtime.spawn(work.in_current_span()).await)
    }
}

tokio::task_local! {
    /// Who asks, in the task of a request.
    static HOLDER: Holder;
}

/// Handles a request for its holder, whose questions share the processors with those of others.
pub(crate) async fn for_holder<T>(holder: Holder, handled: impl Future<Output = T>) -> T {
    HOLDER.scope(holder, handled).await
}

/// The same in the background, for what takes long and has no answer that a client waits for.
pub(crate) async fn apart_in_background<T, Work, Running>(work: Work) -> Result<T, Problem>
where
    T: Send + 'static,
    Work: FnOnce() -> Running + Send + 'static,
    Running: Future<Output = Result<T, Problem>>,
{
    let runtime = Handle::current();
    unless_it_panicked(in_background(move || runtime.block_on(work())).await)
}

fn unless_it_panicked<T>(done: Result<Result<T, Problem>, impl Display>) -> Result<T, Problem> {
    done.unwrap_or_else(|error| {
        tracing::error!(%error, "a request panicked");
        let what = "internal server error; see the server's log under the id of this request";
        Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, what))
    })
}
