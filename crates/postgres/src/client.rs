//! Connections that are not waited for without end.
//!
//! The server cancels what takes longer than its time. One that answers nothing, while its host or a proxy before it still
//! confirms what arrives, is no fault that the network reports; so each answer is waited for a little longer than the server may
//! take, and then the connection is given up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use tokio::runtime::Handle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, SimpleQueryMessage};

use crate::error::Fault;

/// A connection of a pool, which goes back to it when dropped unless it was given up.
pub(crate) struct Client {
    /// `None` only while it is dropped.
    connection: Option<Object>,
    /// How long an answer is waited for.
    patience: Duration,
    /// Where time passes: callers may have no runtime.
    runtime: Handle,
    is_silent: AtomicBool,
}

type Arguments<'a> = [&'a (dyn ToSql + Sync)];

impl Client {
    pub(crate) async fn of(pool: &Pool, patience: Duration, runtime: &Handle) -> Result<Self, Fault> {
        Ok(Self::new(pool.get().await?, patience, runtime))
    }

    pub(crate) fn new(connection: Object, patience: Duration, runtime: &Handle) -> Self {
        let (connection, runtime) = (Some(connection), runtime.clone());
        Self { connection, patience, runtime, is_silent: AtomicBool::new(false) }
    }

    /// The rows of a statement, which is prepared once for each connection.
    pub(crate) async fn query(&self, sql: &str, arguments: &Arguments<'_>) -> Result<Vec<Row>, Fault> {
        self.answer(async {
            let statement = self.connection().prepare_cached(sql).await?;
            self.connection().query(&statement, arguments).await
        })
        .await
    }

    /// The first row.
    pub(crate) async fn query_opt(&self, sql: &str, arguments: &Arguments<'_>) -> Result<Option<Row>, Fault> {
        Ok(self.query(sql, arguments).await?.into_iter().next())
    }

    /// Executes a statement, which is prepared once for each connection, and returns the number of rows it changed.
    pub(crate) async fn execute(&self, sql: &str, arguments: &Arguments<'_>) -> Result<u64, Fault> {
        self.answer(async {
            let statement = self.connection().prepare_cached(sql).await?;
            self.connection().execute(&statement, arguments).await
        })
        .await
    }

    /// Executes statements without arguments and returns what they say as text.
    pub(crate) async fn simple_query(&self, sql: &str) -> Result<Vec<SimpleQueryMessage>, Fault> {
        self.answer(self.connection().simple_query(sql)).await
    }

    /// The connection, for what may take any time.
    pub(crate) fn connection(&self) -> &Object {
        match &self.connection {
            Some(connection) => connection,
            None => unreachable!("the connection is there until it is dropped"),
        }
    }

    /// Closes the connection in place of giving it back.
    pub(crate) fn give_up(&self) {
        self.is_silent.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_silent.load(Ordering::Relaxed) || self.connection().is_closed()
    }

    async fn answer<T>(&self, asked: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
        let timed = {
            let _entered = self.runtime.enter();
            tokio::time::timeout(self.patience, asked)
        };
        match timed.await {
            Ok(answer) => Ok(answer?),
            Err(_) => {
                self.give_up();
                Err(Fault::Silent(self.patience))
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().filter(|_| self.is_silent.load(Ordering::Relaxed)) {
            // Ends the task of the connection too, which else would wait for the answer.
            drop(Object::take(connection));
        }
    }
}
