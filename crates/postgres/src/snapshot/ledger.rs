//! Stored results of calls, and conversations.

use std::collections::HashMap;

use async_trait::async_trait;
use graphloom_core::{CacheKind, CacheSize, ContentHash, Conversation, ConversationId, Ledger, StoreError};
use tokio_postgres::Row;

use super::PostgresSnapshot;
use crate::rows::{self, found, get};

#[async_trait]
impl Ledger for PostgresSnapshot {
    async fn cached(&self, keys: &[(CacheKind, ContentHash)]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let sql = "SELECT c.kind, c.key, c.value FROM unnest($2::int2[], $3::text[]) AS k (kind, key) \
            JOIN cache c ON c.workspace_id = $1 AND c.kind = k.kind AND c.key = k.key";
        let kinds: Vec<i16> = keys.iter().map(|(kind, _)| rows::cache_code(*kind)).collect();
        let hashes: Vec<&str> = keys.iter().map(|(_, key)| key.as_str()).collect();
        let read = |row: &Row| Ok(((get::<i16>(row, 0)?, get::<String>(row, 1)?), get::<Vec<u8>>(row, 2)?));
        let read = self.all(sql, &[&kinds, &hashes], read).await?.into_iter().collect();
        Ok(found(keys.iter().map(|(kind, key)| (rows::cache_code(*kind), key.to_string())), read))
    }

    async fn cache_sizes(&self) -> Result<Vec<CacheSize>, StoreError> {
        let sql = "SELECT kind, count(*), coalesce(sum(octet_length(value)), 0) FROM cache \
            WHERE workspace_id = $1 GROUP BY kind";
        let read = |row: &Row| Ok((get::<i16>(row, 0)?, (rows::number(row, 1)?, rows::number(row, 2)?)));
        let sizes: HashMap<i16, (u64, u64)> = self.all(sql, &[], read).await?.into_iter().collect();
        let size = |kind| {
            let (entries, bytes) = sizes.get(&rows::cache_code(kind)).copied().unwrap_or_default();
            CacheSize { kind, entries, bytes }
        };
        Ok(CacheKind::ALL.map(size).to_vec())
    }

    async fn conversations(&self, ids: &[ConversationId]) -> Result<Vec<Option<Conversation>>, StoreError> {
        let sql = "SELECT id, body FROM conversations WHERE workspace_id = $1 AND id = ANY($2)";
        let wanted: Vec<&str> = ids.iter().map(ConversationId::as_str).collect();
        let read = |row: &Row| Ok((get::<String>(row, 0)?, rows::parsed(row, 1)?));
        let read = self.all(sql, &[&wanted], read).await?.into_iter().collect();
        Ok(found(ids.iter().map(ToString::to_string), read))
    }
}
