//! Graphloom's store on PostgreSQL 16 to 18, with pgvector 0.8 or later and no other extension.
//!
//! A [`Database`] holds any number of workspaces. Every key and index begins with the workspace, and row-level security
//! separates workspaces a second time: a transaction sees only the rows of its own workspace.
//!
//! Snapshots are read-only transactions with repeatable reads, each on its own connection. A commit is one transaction.
//! Commits to the same workspace wait for each other at its row. The driver runs on threads of the database object, so
//! callers need no runtime.

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
