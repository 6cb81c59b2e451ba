//! Shares the processors among callers: the caller with the least running work comes first.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;

use crate::turns::{Holder, Turn, Turns};

/// A future that is polled only in a turn of its holder.
///
/// Work that computes without waiting keeps its turn to the end. Work that waits, for example for a model, gives its turn up and
/// takes another one when it continues. Otherwise many questions of one caller would come before the question of another.
pub(crate) struct InTurns<Work> {
    work: Work,
    turns: Arc<Turns>,
    holder: Holder,
    /// The turn that this work waits for.
    waiting: Option<BoxFuture<'static, Turn>>,
}

impl<Work: Future + Unpin> InTurns<Work> {
    pub(crate) fn new(work: Work, turns: Arc<Turns>, holder: Holder) -> Self {
        Self { work, turns, holder, waiting: None }
    }
}

impl<Work: Future + Unpin> Future for InTurns<Work> {
    type Output = Work::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Work::Output> {
        let this = &mut *self;
        let waiting = this.waiting.get_or_insert_with(|| {
            let (turns, holder) = (Arc::clone(&this.turns), this.holder.clone());
            Box::pin(async move { turns.take_when_free(&holder).await })
        });
        let turn = ready!(waiting.as_mut().poll(context));
        this.waiting = None;
        let polled = Pin::new(&mut this.work).poll(context);
        drop(turn);
        polled
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::future::{join, join_all};
    use tokio::sync::oneshot;

    use super::*;

    fn key(name: &str) -> Holder {
        Holder::Credential(name.to_owned())
    }

    #[tokio::test]
    async fn a_question_does_not_wait_for_all_questions_of_a_busier_caller() {
        let turns = Arc::new(Turns::shared(3, 3));
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(turns.take_when_free(&key("much")).await);
        }
        let order = Mutex::new(Vec::new());
        let asked = |who: &'static str| {
            let order = &order;
            let work = Box::pin(async move { order.lock().expect("no panic").push(who) });
            InTurns::new(work, Arc::clone(&turns), key(who))
        };
        let mut all: Vec<_> = (0..20).map(|_| asked("much")).collect();
        all.push(asked("little"));
        join(join_all(all), async { drop(held.pop()) }).await;
        let order = order.into_inner().expect("no panic");
        assert_eq!((order.len(), order[0]), (21, "little"), "{order:?}");
    }

    #[tokio::test]
    async fn work_that_waits_for_something_else_holds_no_turn() {
        let turns = Arc::new(Turns::shared(1, 1));
        let (answer, answered) = oneshot::channel();
        let waits = InTurns::new(answered, Arc::clone(&turns), key("model"));
        let other = InTurns::new(Box::pin(async { answer.send(1) }), Arc::clone(&turns), key("other"));
        assert_eq!(join(waits, other).await.0, Ok(1));
    }
}
