//! The graph and its layers.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use graphloom_core::{
    ChunkId, Claim, DocumentId, Entity, EntityKey, Fact, FilteredIds, Graph, GraphKey, Layer, LayerName,
    LayerNode, Links, Member, Mention, NodeKey, Relation, RelationKey, StoreError, Summary,
};
use tokio_postgres::Row;

use super::{PostgresSnapshot, count, pages, second};
use crate::links;
use crate::rows::{self, found, get, grouped};

#[async_trait]
impl Graph for PostgresSnapshot {
    async fn mentions_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Mention>>, StoreError> {
        let sql = "SELECT entity, body FROM mentions WHERE workspace_id = $1 AND entity = ANY($2) ORDER BY chunk, ordinal";
        self.each(sql, entities.iter().map(EntityKey::as_str).collect(), second).await
    }

    async fn facts_of(&self, relations: &[RelationKey]) -> Result<Vec<Vec<Fact>>, StoreError> {
        let sql = "SELECT f.body, f.weight FROM (SELECT DISTINCT * FROM unnest($2::text[], $3::text[])) AS k (a, b) \
            JOIN facts f ON f.workspace_id = $1 AND f.a = k.a AND f.b = k.b ORDER BY f.chunk, f.ordinal";
        let (a, b) = ends(relations);
        let facts = self.all(sql, &[&a, &b], rows::fact).await?;
        let facts = facts.into_iter().map(|fact| Ok((fact.relation.clone(), fact)));
        self.done(grouped(relations.iter().cloned(), facts))
    }

    async fn facts_touching(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Fact>>, StoreError> {
        let sql = "SELECT f.body, f.weight FROM facts f \
            WHERE f.workspace_id = $1 AND (f.a = ANY($2) OR f.b = ANY($2)) ORDER BY f.a, f.b, f.chunk, f.ordinal";
        let keys: Vec<&str> = entities.iter().map(EntityKey::as_str).collect();
        let facts = self.all(sql, &[&keys], rows::fact).await?;
        let of_ends = |fact: Fact| fact.relation.ends().map(|end| Ok((end.clone(), fact.clone())));
        self.done(grouped(entities.iter().cloned(), facts.into_iter().flat_map(of_ends)))
    }

    async fn claims_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Claim>>, StoreError> {
        let sql = "SELECT body FROM claims \
            WHERE workspace_id = $1 AND (subject = ANY($2) OR object = ANY($2)) ORDER BY chunk, ordinal";
        let keys: Vec<&str> = entities.iter().map(EntityKey::as_str).collect();
        let claims: Vec<Claim> = self.all(sql, &[&keys], |row| rows::parsed(row, 0)).await?;
        let of_entities = |claim: Claim| {
            let keys: BTreeSet<EntityKey> = claim.entities().cloned().collect();
            keys.into_iter().map(move |key| Ok((key, claim.clone())))
        };
        self.done(grouped(entities.iter().cloned(), claims.into_iter().flat_map(of_entities)))
    }

    async fn graph_keys_of(&self, chunks: &[ChunkId]) -> Result<Vec<GraphKey>, StoreError> {
        let sql = "WITH stated AS ( \
                SELECT DISTINCT a, b FROM facts WHERE workspace_id = $1 AND chunk = ANY($2) AND NOT set_aside \
            ) \
            SELECT kind, a, b FROM ( \
                SELECT 0::int2 AS kind, entity AS a, '' COLLATE \"C\" AS b FROM mentions \
                    WHERE workspace_id = $1 AND chunk = ANY($2) AND NOT set_aside \
                UNION SELECT 0::int2, a, '' FROM stated UNION SELECT 0::int2, b, '' FROM stated UNION SELECT 1::int2, a, b FROM stated \
            ) AS k ORDER BY kind, a, b";
        let chunks: Vec<&str> = chunks.iter().map(ChunkId::as_str).collect();
        self.all(sql, &[&chunks], |row| rows::graph_key(row, 0)).await
    }

    async fn entities(&self, keys: &[EntityKey]) -> Result<Vec<Option<Entity>>, StoreError> {
        let sql = "SELECT key, body FROM entities WHERE workspace_id = $1 AND key = ANY($2)";
        self.by_id(sql, keys.iter().map(EntityKey::as_str).collect(), second).await
    }

    async fn relations(&self, keys: &[RelationKey]) -> Result<Vec<Option<Relation>>, StoreError> {
        let sql = "SELECT r.body, r.weight FROM unnest($2::text[], $3::text[]) AS k (a, b) \
            JOIN relations r ON r.workspace_id = $1 AND r.a = k.a AND r.b = k.b";
        let (a, b) = ends(keys);
        let read = self.all(sql, &[&a, &b], rows::relation).await?;
        let read = read.into_iter().map(|relation| (relation.key.clone(), relation)).collect();
        Ok(found(keys.iter().cloned(), read))
    }

    async fn relations_of(&self, entities: &[EntityKey]) -> Result<Vec<Vec<Relation>>, StoreError> {
        let sql = "SELECT r.body, r.weight FROM relations r \
            WHERE r.workspace_id = $1 AND (r.a = ANY($2) OR r.b = ANY($2)) ORDER BY r.a, r.b";
        let keys: Vec<&str> = entities.iter().map(EntityKey::as_str).collect();
        let read = self.all(sql, &[&keys], rows::relation).await?;
        let of_ends = |relation: Relation| relation.key.ends().map(|end| Ok((end.clone(), relation.clone())));
        self.done(grouped(entities.iter().cloned(), read.into_iter().flat_map(of_ends)))
    }

    async fn degrees(&self, entities: &[EntityKey]) -> Result<Vec<u32>, StoreError> {
        let sql = "SELECT key, degree FROM entities WHERE workspace_id = $1 AND key = ANY($2)";
        let keys = entities.iter().map(EntityKey::as_str).collect();
        let degrees = self.by_id(sql, keys, |row| count(row, 1)).await?;
        Ok(degrees.into_iter().map(Option::unwrap_or_default).collect())
    }

    async fn chunks_behind(
        &self,
        keys: &[GraphKey],
        within: Option<&FilteredIds>,
        limit: usize,
    ) -> Result<Vec<Vec<ChunkId>>, StoreError> {
        let restricted = match within {
            Some(_) => {
                " AND EXISTS (SELECT FROM chunks c WHERE c.workspace_id = $1 AND c.id = chunk AND c.document = ANY($6))"
            }
            None => "",
        };
        let sql = format!(
            "SELECT k.kind, k.a, k.b, n.chunk FROM unnest($2::int2[], $3::text[], $4::text[]) AS k (kind, a, b), LATERAL ( \
                SELECT DISTINCT chunk FROM ( \
                    SELECT chunk FROM mentions m WHERE k.kind = 0 AND m.workspace_id = $1 AND m.entity = k.a AND NOT m.set_aside \
                    UNION ALL \
                    SELECT chunk FROM facts f \
                        WHERE k.kind = 1 AND f.workspace_id = $1 AND f.a = k.a AND f.b = k.b AND NOT f.set_aside \
                ) AS evidence WHERE true{restricted} ORDER BY chunk LIMIT $5 \
             ) AS n ORDER BY n.chunk"
        );
        let unique: std::collections::BTreeSet<&GraphKey> = keys.iter().collect();
        let (mut kinds, mut a, mut b) = (Vec::new(), Vec::new(), Vec::new());
        for key in unique {
            let columns = rows::graph_columns(key);
            kinds.push(columns.0);
            a.push(columns.1);
            b.push(columns.2);
        }
        let limit = rows::limit(limit);
        let documents: Vec<&str> = within
            .map(|allowed| allowed.documents().iter().map(DocumentId::as_str).collect())
            .unwrap_or_default();
        let mut arguments: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> = vec![&kinds, &a, &b, &limit];
        if within.is_some() {
            arguments.push(&documents);
        }
        let found = self.rows(&sql, &arguments).await?;
        let found = found
            .iter()
            .map(|row| Ok((rows::graph_key(row, 0)?, ChunkId::from_stored(get::<String>(row, 3)?))));
        self.done(grouped(keys.iter().cloned(), found))
    }

    async fn summaries(&self, keys: &[GraphKey]) -> Result<Vec<Vec<Summary>>, StoreError> {
        let sql = "SELECT DISTINCT s.kind, s.a, s.b, s.key, s.text \
            FROM unnest($2::int2[], $3::text[], $4::text[]) AS k (kind, a, b) \
            JOIN summaries s ON s.workspace_id = $1 AND s.kind = k.kind AND s.a = k.a AND s.b = k.b ORDER BY s.key";
        let columns: Vec<(i16, &str, &str)> = keys.iter().map(rows::graph_columns).collect();
        let kinds: Vec<i16> = columns.iter().map(|columns| columns.0).collect();
        let a: Vec<&str> = columns.iter().map(|columns| columns.1).collect();
        let b: Vec<&str> = columns.iter().map(|columns| columns.2).collect();
        let found = self.rows(sql, &[&kinds, &a, &b]).await?;
        let found = found.iter().map(|row| Ok((rows::graph_key(row, 0)?, pages::summary(row, 3)?)));
        self.done(grouped(keys.iter().cloned(), found))
    }

    async fn links_of(&self, chunks: &[ChunkId]) -> Result<Vec<Vec<GraphKey>>, StoreError> {
        self.done(links::of_chunks(&self.session, chunks).await)
    }

    async fn links(&self) -> Result<Links, StoreError> {
        self.done(self.links.get(&self.session, self.links_revision).await)
    }

    async fn layers(&self) -> Result<Vec<Layer>, StoreError> {
        let sql = "SELECT body FROM layers WHERE workspace_id = $1 ORDER BY name";
        self.all(sql, &[], |row| rows::parsed(row, 0)).await
    }

    async fn nodes(&self, keys: &[NodeKey]) -> Result<Vec<Option<LayerNode>>, StoreError> {
        let sql = "SELECT key, body FROM nodes WHERE workspace_id = $1 AND key = ANY($2)";
        self.by_id(sql, keys.iter().map(NodeKey::as_str).collect(), second).await
    }

    async fn nodes_of(&self, members: &[Member]) -> Result<Vec<Vec<NodeKey>>, StoreError> {
        let sql = "SELECT DISTINCT m.kind, m.member, m.node FROM unnest($2::int2[], $3::text[]) AS k (kind, member) \
            JOIN members m ON m.workspace_id = $1 AND m.kind = k.kind AND m.member = k.member ORDER BY m.node";
        let kinds: Vec<i16> = members.iter().map(rows::member_code).collect();
        let wanted: Vec<&str> = members.iter().map(Member::id).collect();
        let found = self.rows(sql, &[&kinds, &wanted]).await?;
        let found =
            found.iter().map(|row| Ok((rows::member(row, 0)?, NodeKey::from_stored(get::<String>(row, 2)?))));
        self.done(grouped(members.iter().cloned(), found))
    }

    async fn node_counts(&self, layer: &LayerName) -> Result<BTreeMap<u32, u64>, StoreError> {
        let sql = "SELECT level, count(*) FROM nodes WHERE workspace_id = $1 AND layer = $2 GROUP BY level";
        let read = |row: &Row| Ok((count(row, 0)?, rows::number(row, 1)?));
        Ok(self.all(sql, &[&layer.as_str()], read).await?.into_iter().collect())
    }
}

fn ends(keys: &[RelationKey]) -> (Vec<&str>, Vec<&str>) {
    keys.iter().map(|key| (key.a().as_str(), key.b().as_str())).unzip()
}
