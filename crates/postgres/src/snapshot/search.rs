//! Vectors and full text.

use std::collections::HashMap;

use async_trait::async_trait;
use graphloom_core::{EmbeddingSpec, Hit, ItemKey, Projection, Search, SearchRequest, StoreError};
use graphloom_rules::search::{Searches, by_kind};
use graphloom_rules::{batch as rules, vector};

use super::PostgresSnapshot;
use crate::halfvec::HalfVec;
use crate::rows::{self, found, get};
use crate::search;

#[async_trait]
impl Search for PostgresSnapshot {
    async fn embedding(&self) -> Result<Option<EmbeddingSpec>, StoreError> {
        Ok(self.embedding.clone())
    }

    async fn vectors(&self, items: &[ItemKey]) -> Result<Vec<Option<Vec<f32>>>, StoreError> {
        let sql = "SELECT id, codes FROM vectors WHERE workspace_id = $1 AND kind = $3 AND id = ANY($2)";
        let mut vectors = vec![None; items.len()];
        for (kind, places, ids) in by_kind(items) {
            let rows = self.rows(sql, &[&ids, &rows::kind_code(kind)]).await?;
            let read = rows.iter().map(|row| {
                let codes = get::<HalfVec>(row, 1)?.to_codes();
                Ok((get::<String>(row, 0)?, vector::decode(&vector::of_codes(&codes))))
            });
            let read = self.done(read.collect::<Result<HashMap<_, _>, _>>())?;
            for (place, vector) in places.into_iter().zip(found(ids, read)) {
                vectors[place] = vector;
            }
        }
        Ok(vectors)
    }

    async fn search(&self, requests: &[SearchRequest]) -> Result<Vec<Vec<Hit>>, StoreError> {
        let searches = Searches::of(requests);
        let (mut by_vector, mut by_words) = (Vec::new(), Vec::new());
        for (query, _) in &searches.by_vector {
            by_vector.push(match &self.embedding {
                None => vec![Vec::new(); query.vectors.len()],
                Some(space) => {
                    rules::check_query(space, &query.vectors)?;
                    let kept = self.memory.nearest(&self.session, self.search_state, query).await;
                    match self.done(kept)? {
                        Some(hits) => hits,
                        None => self.done(search::nearest(&self.session, query).await)?,
                    }
                }
            });
        }
        for (query, _) in &searches.by_words {
            let kept = self.memory.matching(&self.session, self.search_state, query).await;
            by_words.push(match self.done(kept)? {
                Some(hits) => hits,
                None => self.done(search::matching(&self.session, query).await)?,
            });
        }
        Ok(searches.hits(by_vector, by_words))
    }

    async fn projections(&self) -> Result<Vec<Projection>, StoreError> {
        Ok(Vec::new())
    }
}
