//! The part of a snapshot that covers stored results of model calls, and conversations.

use async_trait::async_trait;

use super::StoreError;
use crate::{CacheKind, CacheSize, ContentHash, Conversation, ConversationId};

/// Stored results of calls, and conversations. The calls themselves are [a table](super::table::Calls).
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Returns cached values by kind and key.
    async fn cached(&self, keys: &[(CacheKind, ContentHash)]) -> Result<Vec<Option<Vec<u8>>>, StoreError>;

    /// Returns the size of the cache for every kind, in order.
    async fn cache_sizes(&self) -> Result<Vec<CacheSize>, StoreError>;

    /// Returns conversations by id. Their exchanges are [a table](super::table::Exchanges).
    async fn conversations(&self, ids: &[ConversationId]) -> Result<Vec<Option<Conversation>>, StoreError>;
}
