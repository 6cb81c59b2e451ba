//! Runs work that may take long on threads with a low priority.
//!
//! A small machine has one or two processors. Indexing, reading documents and checking passwords would take them from the
//! requests that clients wait for; at a lower priority, this work gets what the requests leave.

use std::io;
use std::thread::Builder;

use thread_priority::{ThreadPriority, ThreadPriorityValue, set_current_thread_priority};
use tokio::sync::oneshot;

/// Priorities of background work, from 0 to 99; the first one that the system allows is used. On Linux these are niceness 10,
/// which gets about a tenth of a processor that requests also want, and the lowest priority, in case the whole process already
/// has a low one.
const PRIORITIES: [u8; 2] = [22, 0];

/// Documents of at least this size, in bytes, are chunked in the background; smaller ones take milliseconds.
pub(crate) const LARGE_BYTES: usize = 64 << 10;

/// Runs `work` on a separate thread whose priority is lower than that of the process, and returns its result. The work continues
/// if the caller is dropped. Threads that it starts have the same priority.
///
/// # Errors
///
/// The thread cannot be started, or `work` panics.
pub(crate) async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (give, given) = oneshot::channel();
    let span = tracing::Span::current();
    Builder::new().name("background".to_owned()).spawn(move || {
        let _entered = span.entered();
        give_way();
        // Without a receiver, no caller waits any more.
        let _ = give.send(work());
    })?;
    given.await.map_err(|_| io::Error::other("background work panicked"))
}

/// Lowers the priority of this thread.
fn give_way() {
    let lowered = PRIORITIES.into_iter().any(|priority| {
        let priority = ThreadPriorityValue::try_from(priority).map(ThreadPriority::Crossplatform);
        priority.is_ok_and(|priority| set_current_thread_priority(priority).is_ok())
    });
    if !lowered {
        tracing::debug!("background work runs at the priority of requests");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the niceness of this thread.
    #[cfg(target_os = "linux")]
    fn niceness() -> i32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux tells");
        let (_, fields) = stat.rsplit_once(')').expect("a name");
        fields.split_whitespace().nth(16).and_then(|field| field.parse().ok()).expect("a number")
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn only_background_work_and_its_threads_run_at_low_priority() {
        let before = niceness();
        let expected = if before <= 10 { 10 } else { 19 };
        assert_eq!(in_background(niceness).await.expect("a thread"), expected);
        let started = in_background(move || std::thread::spawn(niceness).join().expect("no panic"));
        assert_eq!(started.await.expect("a thread"), expected);
        let runtime = tokio::runtime::Handle::current();
        let nested = in_background(move || runtime.block_on(in_background(niceness)));
        assert_eq!(
            nested.await.expect("a thread").expect("a thread"),
            expected,
            "the priority is lowered only once"
        );
        assert_eq!(niceness(), before);
    }

    #[tokio::test]
    async fn background_work_that_panics_is_an_error() {
        assert!(in_background::<()>(|| panic!("injected by the test")).await.is_err());
    }
}
