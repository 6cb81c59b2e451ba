//! Vectors and full text.

use std::collections::HashMap;

use async_trait::async_trait;
use graphloom_core::{
    EmbeddingSpec, Projection, Search, StoreError, TextQuery, VectorHit, VectorKind, VectorQuery,
};
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

    async fn vectors(&self, kind: VectorKind, ids: &[String]) -> Result<Vec<Option<Vec<f32>>>, StoreError> {
        let sql = "SELECT id, codes FROM vectors WHERE workspace_id = $1 AND kind = $3 AND id = ANY($2)";
        let wanted: Vec<&str> = ids.iter().map(String::as_str).collect();
        let rows = self.rows(sql, &[&wanted, &rows::kind_code(kind)]).await?;
        let read = rows.iter().map(|row| {
            let codes = get::<HalfVec>(row, 1)?.to_codes();
            Ok((get::<String>(row, 0)?, vector::decode(&vector::of_codes(&codes))))
        });
        let read = self.done(read.collect::<Result<HashMap<_, _>, _>>())?;
        Ok(found(ids.iter().cloned(), read))
    }

    async fn search_vectors(&self, query: &VectorQuery) -> Result<Vec<Vec<VectorHit>>, StoreError> {
        let Some(space) = &self.embedding else { return Ok(vec![Vec::new(); query.vectors.len()]) };
        rules::check_query(space, &query.vectors)?;
        self.done(search::nearest(&self.session, query).await)
    }

    async fn search_text(&self, query: &TextQuery) -> Result<Vec<VectorHit>, StoreError> {
        self.done(search::matching(&self.session, query).await)
    }

    async fn projections(&self) -> Result<Vec<Projection>, StoreError> {
        Ok(Vec::new())
    }
}
