//! Sessions: transactions in one workspace, each on its own connection.

use std::sync::Arc;

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::try_join;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, SimpleQueryMessage, SimpleQueryRow};

use crate::client::Client;
use crate::connect::Shared;
use crate::error::Fault;

/// Transaction modes.
const READING: &str = "ISOLATION LEVEL REPEATABLE READ, READ ONLY";
const WRITING: &str = "ISOLATION LEVEL READ COMMITTED, READ WRITE";

/// The arguments of a statement without the first, which is the workspace.
pub(crate) type Arguments<'a> = [&'a (dyn ToSql + Sync)];

/// A transaction that is rolled back when dropped. Its connection then returns to the pool.
pub(crate) struct Session {
    /// `None` after the end of the transaction.
    client: Option<Client>,
    runtime: Handle,
    workspace: i64,
}

impl Session {
    /// Begins a transaction that writes. Statements are executed in the order in which their futures are first polled.
    pub(crate) async fn write(shared: &Arc<Shared>, workspace: i64) -> Result<Self, Fault> {
        Ok(Self::begin(shared, shared.writer().await?, WRITING, workspace, "").await?.0)
    }

    /// Like [`write`](Self::write), and returns the first row of a statement whose only argument is the workspace.
    /// Takes one round trip.
    pub(crate) async fn write_row(
        shared: &Arc<Shared>,
        workspace: i64,
        sql: &str,
    ) -> Result<(Self, Option<Row>), Fault> {
        let client = Some(shared.writer().await?);
        let session = Self { client, runtime: shared.handle().clone(), workspace };
        let begin = begin(WRITING, workspace);
        let (_, rows) = try_join!(biased; session.execute(&begin), session.rows(sql, &[]))?;
        Ok((session, rows.into_iter().next()))
    }

    /// Begins a transaction that sees what was committed before its first statement and nothing later.
    pub(crate) async fn read(shared: &Arc<Shared>, workspace: i64) -> Result<Self, Fault> {
        Ok(Self::begin(shared, shared.reader().await?, READING, workspace, "").await?.0)
    }

    /// Like [`read`](Self::read), and returns these columns of the workspace's row as text. `None` if it was deleted.
    /// Takes one round trip.
    pub(crate) async fn read_row(
        shared: &Arc<Shared>,
        workspace: i64,
        columns: &str,
    ) -> Result<(Self, Option<SimpleQueryRow>), Fault> {
        let first = format!("; SELECT {columns} FROM workspaces WHERE id = {workspace}");
        Self::begin(shared, shared.reader().await?, READING, workspace, &first).await
    }

    /// - `first`: a statement to begin with, whose first row is returned.
    async fn begin(
        shared: &Arc<Shared>,
        client: Client,
        mode: &str,
        workspace: i64,
        first: &str,
    ) -> Result<(Self, Option<SimpleQueryRow>), Fault> {
        let session = Self { client: Some(client), runtime: shared.handle().clone(), workspace };
        let begin = begin(mode, workspace) + first;
        let row =
            session.client().simple_query(&begin).await?.into_iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            });
        Ok((session, row))
    }

    /// The number of the workspace.
    pub(crate) fn workspace(&self) -> i64 {
        self.workspace
    }

    /// Executes statements without arguments.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), Fault> {
        self.client().simple_query(sql).await.map(drop)
    }

    /// Returns the rows of a statement whose first argument is the workspace.
    pub(crate) async fn rows(&self, sql: &str, arguments: &Arguments<'_>) -> Result<Vec<Row>, Fault> {
        self.client().query(sql, &self.all(arguments)).await
    }

    /// Executes a statement whose first argument is the workspace and returns the number of changed rows.
    pub(crate) async fn run(&self, sql: &str, arguments: &Arguments<'_>) -> Result<u64, Fault> {
        self.client().execute(sql, &self.all(arguments)).await
    }

    /// Commits. After a [passing](Fault::is_passing) error, the commit may or may not have succeeded.
    pub(crate) async fn commit(mut self) -> Result<(), Fault> {
        self.client().simple_query("COMMIT").await?;
        self.client = None;
        Ok(())
    }

    fn all<'a>(&'a self, arguments: &Arguments<'a>) -> Vec<&'a (dyn ToSql + Sync)> {
        let mut all: Vec<&(dyn ToSql + Sync)> = vec![&self.workspace];
        all.extend(arguments);
        all
    }

    fn client(&self) -> &Client {
        match &self.client {
            Some(client) => client,
            None => unreachable!("a session ends when it is committed or dropped"),
        }
    }
}

fn begin(mode: &str, workspace: i64) -> String {
    format!("BEGIN {mode}; SET LOCAL graphloom.workspace = '{workspace}'")
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(client) = self.client.take().filter(|client| !client.is_closed()) else { return };
        let roll_back = async move {
            if client.simple_query("ROLLBACK").await.is_err() {
                client.give_up();
            }
        };
        self.runtime.spawn(roll_back.boxed());
    }
}
