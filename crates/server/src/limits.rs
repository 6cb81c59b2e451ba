//! Limits on concurrent work.

use std::num::NonZeroU32;
use std::time::Duration;

/// Limits that keep a server responsive under any load. The defaults suit a machine with a few cores.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Maximum open connections; further ones wait to be accepted.
    pub connections: usize,
    /// Maximum questions in progress.
    pub questions: usize,
    /// Maximum uploads, texts and edits in progress; each may hold a document in memory.
    pub changes: usize,
    /// Maximum requests in progress that read a whole workspace, such as exports.
    pub wholes: usize,
    /// Maximum open event streams.
    pub streams: usize,
    /// Maximum other requests in progress.
    pub others: usize,
    /// Maximum logins in progress; one address gets at most a quarter.
    pub logins: usize,
    /// Maximum open workspaces.
    pub workspaces: usize,
    /// How long a workspace must be unused before it may be closed to make room for another.
    pub idle: Duration,
    /// How long a request waits for its turn before it is rejected. If eight times as many wait as are in
    /// progress, further ones are rejected immediately.
    pub turn: Duration,
    /// Maximum requests per minute of one key or user, a sixth of which may come at once; `None` for no limit.
    /// Programs on this machine are exempt, unless they forward requests of others.
    pub rate_of_caller: Option<NonZeroU32>,
    /// Maximum requests per minute of one address without valid credentials.
    pub rate_of_stranger: Option<NonZeroU32>,
    /// Maximum time to receive the head of a request.
    pub head: Duration,
    /// Maximum time to receive the body of a request; five times as long for a file.
    pub body: Duration,
    /// Window in which a body must deliver at least 8 KiB or end.
    pub body_window: Duration,
    /// Maximum workspaces indexed at once; 0 leaves queued documents to other processes.
    pub workers: usize,
    /// How long the indexing of one workspace may take while others wait for their turn.
    pub slice: Duration,
    /// How long indexing may finish model calls in flight after a stop request.
    pub finish: Duration,
    /// How long the server keeps serving after a stop request while it reports not ready.
    pub drain: Duration,
    /// How long running requests may take after that. Then they are answered with an error, and streams end with one.
    pub stop: Duration,
}

/// Maximum body without documents, in bytes; above the longest question with its history.
pub(crate) const MAX_BODY: usize = 1 << 20;
/// Maximum body with texts, in bytes; the texts are accepted in one commit.
pub(crate) const MAX_TEXTS_BODY: usize = 16 << 20;
/// Maximum body of a Model Context Protocol message, in bytes; it may contain one text.
pub(crate) const MAX_MCP_BODY: usize = 4 << 20;
/// Maximum texts per request.
pub(crate) const MAX_TEXTS: usize = 256;
/// Maximum document ids per request.
pub(crate) const MAX_IDS: usize = 10_000;
/// Maximum body with one uploaded file of up to 50 MiB, in bytes.
pub(crate) const MAX_UPLOAD_BODY: usize = 51 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            questions: 32,
            changes: 4,
            wholes: 4,
            streams: 256,
            others: 128,
            logins: 32,
            workspaces: 256,
            idle: Duration::from_secs(60),
            turn: Duration::from_secs(10),
            rate_of_caller: NonZeroU32::new(1200),
            rate_of_stranger: NonZeroU32::new(120),
            head: Duration::from_secs(10),
            body: Duration::from_secs(120),
            body_window: Duration::from_secs(10),
            workers: 256,
            slice: Duration::from_secs(10),
            finish: Duration::ZERO,
            drain: Duration::ZERO,
            stop: Duration::from_secs(10),
        }
    }
}
