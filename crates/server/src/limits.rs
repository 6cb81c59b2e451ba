//! How much the server takes on at once.

use std::num::NonZeroU32;
use std::time::Duration;

/// Limits that keep one server answering whatever is sent to it. The defaults suit a machine of a few cores.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections open at once; further ones wait to be accepted.
    pub connections: usize,
    /// Questions worked on at once.
    pub questions: usize,
    /// Uploads, texts and edits worked on at once; each may hold a document in memory.
    pub changes: usize,
    /// Requests worked on at once that read all of a workspace, such as exports.
    pub wholes: usize,
    /// Streams of events open at once.
    pub streams: usize,
    /// Everything else at once.
    pub others: usize,
    /// Logins at once, of which one address has at most a quarter.
    pub logins: usize,
    /// Workspaces open at once.
    pub workspaces: usize,
    /// How long nobody asked for a workspace that may be closed to make room for another.
    pub idle: Duration,
    /// How long a request waits for its turn before the server asks it to come back. Where eight times as many wait as are worked
    /// on, further ones are told so at once.
    pub turn: Duration,
    /// Requests a minute of one key or user, of which a sixth may come at once; no limit where `None`. Programs of this
    /// machine are not counted, unless they pass on what others ask.
    pub rate_of_caller: Option<NonZeroU32>,
    /// The same of one address without a good credential.
    pub rate_of_stranger: Option<NonZeroU32>,
    /// How long the head of a request may take to arrive.
    pub head: Duration,
    /// How long the body of a request may take to arrive; a file five times as long.
    pub body: Duration,
    /// In each time of this length a body brings at least 8 KiB, or ends.
    pub body_window: Duration,
    /// How long the server still serves once it is asked to stop, while it says that it is not ready.
    pub drain: Duration,
    /// How long requests under way may take after that. Streams that are not done then end with an error.
    pub stop: Duration,
}

/// Body of a request that brings no documents, in bytes; more than the longest question with its history.
pub(crate) const MAX_BODY: usize = 1 << 20;
/// Body of a request that brings texts, in bytes; they are accepted in one commit.
pub(crate) const MAX_TEXTS_BODY: usize = 16 << 20;
/// Body of a message of the Model Context Protocol, in bytes; it may hold one text.
pub(crate) const MAX_MCP_BODY: usize = 4 << 20;
/// Texts of one request.
pub(crate) const MAX_TEXTS: usize = 256;
/// Documents named in one request.
pub(crate) const MAX_IDS: usize = 10_000;
/// Body of a request that uploads one file of at most 50 MiB, in bytes.
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
            drain: Duration::ZERO,
            stop: Duration::from_secs(10),
        }
    }
}
