//! The part of a snapshot about calls that were paid for.

use async_trait::async_trait;

use super::StoreError;
use crate::{CacheKind, CacheSize, ContentHash};

/// Stored results of calls. The calls themselves are [a table](super::table::Calls).
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Cached values by kind and key.
    async fn cached(&self, keys: &[(CacheKind, ContentHash)]) -> Result<Vec<Option<Vec<u8>>>, StoreError>;

    /// Size of the cache for every kind, in order.
    async fn cache_sizes(&self) -> Result<Vec<CacheSize>, StoreError>;
}
