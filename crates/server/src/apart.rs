//! Runs engine work on threads of its own, so that what it computes and reads holds up no other request.

use std::future::Future;
use std::io;
use std::sync::LazyLock;
use std::thread::available_parallelism;

use axum::http::StatusCode;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinError;
use tracing::Instrument;

use crate::problem::Problem;

/// Threads that questions are answered on beyond the processors, for those that wait for the disk.
const THREADS_THAT_WAIT: usize = 2;
/// Threads that questions are answered on where nobody says how many processors there are.
const THREADS: usize = 4;

/// Where questions are answered. A thread of its own for each of many questions would divide the processors among them,
/// so that all are late, and each would keep memory and an open store of its own.
static ANSWERING: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    let threads = available_parallelism().map_or(THREADS, |processors| processors.get() + THREADS_THAT_WAIT);
    Builder::new_multi_thread().worker_threads(threads).thread_name("answering").enable_all().build()
});

/// What `work` gives. It goes on to its end where whoever asked for it leaves.
///
/// How many run at once is bounded by the turns that the guard hands out.
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

/// The same for a question, which mostly computes and reads, or waits for a model: as many as there are processors, and few
/// more, are worked on at a time, and who waits for a model takes no thread.
pub(crate) async fn asked_apart<T, Work, Running>(work: Work) -> Result<T, Problem>
where
    T: Send + 'static,
    Work: FnOnce() -> Running + Send + 'static,
    Running: Future<Output = Result<T, Problem>> + Send + 'static,
{
    let runtime = ANSWERING.as_ref().map_err(|error| Problem::internal(error))?;
    let done = runtime.spawn(async move { work().await }.in_current_span());
    unless_it_panicked(done.await)
}

fn unless_it_panicked<T>(done: Result<Result<T, Problem>, JoinError>) -> Result<T, Problem> {
    done.unwrap_or_else(|error| {
        tracing::error!(%error, "a request panicked");
        let what = "the server failed; its log says why, under the id of this request";
        Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, what))
    })
}
