//! A stream of answers that keeps receiving while one answer is processed.

use std::collections::VecDeque;
use std::pin::pin;
use std::task::Poll;

use futures::stream::Fuse;
use futures::{Stream, StreamExt};

/// A stream of answers, each with the permit of its call.
///
/// A future that is not polled keeps what it holds: its permit, its connection to the model service, its turn under a rate limit.
/// Code that waits for something else between two answers, such as an embedding by the same service, could then wait forever. So
/// all waiting between two answers goes through [`AnswerStream::during`].
pub(super) struct AnswerStream<S: Stream> {
    stream: Fuse<S>,
    /// Answers that came while another was processed. They hold their permits, so there are no more of them than permits.
    arrived: VecDeque<S::Item>,
}

impl<S: Stream + Unpin> AnswerStream<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream: stream.fuse(), arrived: VecDeque::new() }
    }

    /// Returns the next answer, in order of arrival; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<S::Item> {
        match self.arrived.pop_front() {
            Some(arrived) => Some(arrived),
            None => self.stream.next().await,
        }
    }

    /// Awaits `work` while answers keep arriving.
    pub(super) async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        std::future::poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(done);
            }
            while let Poll::Ready(Some(answer)) = self.stream.poll_next_unpin(context) {
                self.arrived.push_back(answer);
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use futures::channel::oneshot;
    use futures::stream;
    use graphloom_storage::conformance::block_on;

    use super::*;

    #[test]
    fn work_after_an_answer_can_wait_for_a_later_answer() {
        let (free, freed) = oneshot::channel::<()>();
        let mut free = Some(free);
        let calls = stream::iter(0..3).map(|number| {
            // The last call frees what the work after the first answer waits for.
            let free = if number == 2 { free.take() } else { None };
            async move {
                drop(free);
                number
            }
        });
        let mut answers = AnswerStream::new(calls.buffered(1));
        let numbers = block_on(async {
            let mut numbers = vec![answers.next().await];
            let _ = answers.during(freed).await;
            while let Some(number) = answers.next().await {
                numbers.push(Some(number));
            }
            numbers
        });
        assert_eq!(numbers, [Some(0), Some(1), Some(2)]);
    }
}
