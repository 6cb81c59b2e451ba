//! Connections with a time limit for every answer.
//!
//! The server cancels statements that run too long. But if the server hangs while its host or a proxy still
//! acknowledges packets, the network reports no error. So a connection is closed if no answer arrives for a little
//! longer than a statement may take.

use std::future::{poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, SimpleQueryMessage};

use crate::error::Fault;

/// A pooled connection. It returns to the pool when dropped, unless it was given up.
pub(crate) struct Client {
    /// `None` only during the drop.
    connection: Option<Object>,
    /// How long to wait for an answer.
    patience: Duration,
    /// Runs the timers, because callers may have no runtime.
    runtime: Handle,
    is_silent: AtomicBool,
    /// Time of the latest answer.
    heard: Mutex<Instant>,
    /// The turn to send, if the connection [keeps statements in order](Self::in_order).
    order: Option<tokio::sync::Mutex<()>>,
}

type Arguments<'a> = [&'a (dyn ToSql + Sync)];
type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

impl Client {
    pub(crate) async fn of(pool: &Pool, patience: Duration, runtime: &Handle) -> Result<Self, Fault> {
        Ok(Self::new(pool.get().await?, patience, runtime))
    }

    pub(crate) fn new(connection: Object, patience: Duration, runtime: &Handle) -> Self {
        let (connection, runtime) = (Some(connection), runtime.clone());
        let (is_silent, heard) = (AtomicBool::new(false), Mutex::new(Instant::now()));
        Self { connection, patience, runtime, is_silent, heard, order: None }
    }

    /// Executes statements in the order in which their futures are first polled, even if some must be prepared first.
    /// Statements that are polled together are sent without waiting for each other's answers. Once polled, a future
    /// must be polled to its end or dropped, because later ones wait for it.
    pub(crate) fn in_order(mut self) -> Self {
        self.order = Some(tokio::sync::Mutex::default());
        self
    }

    /// Returns the rows of a statement, which is prepared once per connection.
    pub(crate) async fn query(&self, sql: &str, arguments: &Arguments<'_>) -> Result<Vec<Row>, Fault> {
        let connection = self.connection();
        let ask = |statement| async move { connection.query(&statement, arguments).await };
        self.answer(Box::pin(self.in_turn(connection.prepare_cached(sql), ask))).await
    }

    /// Returns the first row.
    pub(crate) async fn query_opt(&self, sql: &str, arguments: &Arguments<'_>) -> Result<Option<Row>, Fault> {
        Ok(self.query(sql, arguments).await?.into_iter().next())
    }

    /// Executes a statement and returns the number of changed rows. The statement is prepared once per connection.
    pub(crate) async fn execute(&self, sql: &str, arguments: &Arguments<'_>) -> Result<u64, Fault> {
        let connection = self.connection();
        let ask = |statement| async move { connection.execute(&statement, arguments).await };
        self.answer(Box::pin(self.in_turn(connection.prepare_cached(sql), ask))).await
    }

    /// Executes statements without arguments and returns their results as text.
    pub(crate) async fn simple_query(&self, sql: &str) -> Result<Vec<SimpleQueryMessage>, Fault> {
        let ask = |()| self.connection().simple_query(sql);
        self.answer(Box::pin(self.in_turn(ready(Ok(())), ask))).await
    }

    /// Returns the connection itself, for statements that may run for any length of time.
    pub(crate) fn connection(&self) -> &Object {
        match &self.connection {
            Some(connection) => connection,
            None => unreachable!("the connection is there until it is dropped"),
        }
    }

    /// Closes the connection instead of returning it to the pool.
    pub(crate) fn give_up(&self) {
        self.is_silent.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_silent.load(Ordering::Relaxed) || self.connection().is_closed()
    }

    /// Calls `ask` and sends its statement as soon as `prepare` is done and all earlier statements are sent.
    async fn in_turn<S, T, F>(
        &self,
        prepare: impl Future<Output = Result<S, Error>>,
        ask: impl FnOnce(S) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let turn = match &self.order {
            Some(order) => Some(order.lock().await),
            None => None,
        };
        let mut pending = pin!(ask(prepare.await?));
        // The first poll sends it.
        let first = poll_fn(|context| Poll::Ready(pending.as_mut().poll(context))).await;
        drop(turn);
        match first {
            Poll::Ready(answer) => answer,
            Poll::Pending => pending.await,
        }
    }

    /// Waits for an answer. Gives the connection up if none of its pending statements is answered. Boxed, because
    /// commits hold the futures of many statements.
    async fn answer<T>(&self, mut pending: Answer<'_, T>) -> Result<T, Fault> {
        let mut since = Instant::now();
        loop {
            let timed = {
                let _entered = self.runtime.enter();
                timeout_at(since + self.patience, pending.as_mut())
            };
            if let Ok(answer) = timed.await {
                *self.heard() = Instant::now();
                return Ok(answer?);
            }
            let heard = *self.heard();
            if heard <= since {
                self.give_up();
                return Err(Fault::Silent(self.patience));
            }
            since = heard;
        }
    }

    fn heard(&self) -> MutexGuard<'_, Instant> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().filter(|_| self.is_silent.load(Ordering::Relaxed)) {
            // Also ends the connection's task, which would otherwise wait for the answer.
            drop(Object::take(connection));
        }
    }
}
