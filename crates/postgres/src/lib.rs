//! Graphloom's store on PostgreSQL 16 to 18 with pgvector 0.8 or later and no other extension.
//!
//! A [`Database`] holds any number of workspaces. Every key and index begins with the workspace, and row-level security is
//! a second wall between them: a transaction sees the rows of its own workspace only.
//!
//! Snapshots are read-only transactions with repeatable reads, each on a connection of its own. A commit is one
//! transaction; the commits of one workspace wait for each other at its row. The driver runs on threads of the database's
//! own, so callers need no runtime.

mod apply;
mod budget;
mod client;
mod connect;
mod error;
mod halfvec;
mod links;
mod memory;
mod migrate;
mod nearest_index;
mod rows;
mod search;
mod session;
mod snapshot;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod words;
mod workers;
mod workspaces;

pub use connect::Database;
pub use memory::SearchMemory;
pub use nearest_index::INDEXED;
pub use store::PostgresStore;
pub use workspaces::PostgresWorkspaces;
