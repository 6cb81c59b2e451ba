//! Runs engine work on a thread of its own, so that what it computes and reads holds up no other request.

use std::future::Future;

use axum::http::StatusCode;
use tokio::runtime::Handle;

use crate::problem::Problem;

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
    done.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a request panicked");
        let what = "the server failed; its log says why, under the id of this request";
        Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, what))
    })
}
