//! Reads of one workspace at one revision.

mod scans;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{
    Allowed, CacheKind, CacheSize, Call, Chunk, ChunkCounts, ChunkExtraction, ChunkId, ContentHash, Decision,
    DecisionId, Document, DocumentId, EmbeddingSpec, Entity, EntityKey, Extraction, ExtractionKey, Fact,
    GraphKey, Job, Layer, LayerName, LayerNode, LinkGraph, Member, Mention, NodeKey, Projection, QueueState,
    RejectReason, Relation, RelationKey, Renewal, Revision, Situation, SituationKey, Snapshot, StatusKind,
    StoreCounts, StoreError, Summary, TextQuery, Timestamp, TrackId, VectorEntry, VectorHit, VectorKind,
    VectorQuery,
};
use graphloom_rules::{batch as rules, vector};
use tokio_postgres::Row;

use crate::connect::Shared;
use crate::error::Fault;
use crate::halfvec::HalfVec;
use crate::links::Links;
use crate::rows::{self, found, get, grouped};
use crate::search;
use crate::session::{Arguments, Session};

/// Rows of one read while everything is read.
const PAGE: usize = 1000;

/// A read-only transaction with repeatable reads. One that nothing reads from for ten minutes is ended by the database, and
/// later reads fail.
pub(crate) struct PostgresSnapshot {
    session: Session,
    links: Arc<Links>,
    revision: u64,
    graph_revision: u64,
    links_revision: u64,
    embedding: Option<EmbeddingSpec>,
    shared: Arc<Shared>,
}

impl PostgresSnapshot {
    pub(crate) async fn begin(shared: &Arc<Shared>, links: Arc<Links>, row: i64) -> Result<Self, Fault> {
        let session = Session::read(shared, row).await?;
        let sql = "SELECT revision, graph_revision, links_revision, embedding_model, embedding_dimensions \
            FROM workspaces WHERE id = $1";
        let state = session.rows(sql, &[]).await?;
        let Some(row) = state.first() else {
            let path = "the workspace, which was deleted from the database,".to_owned();
            return Err(Fault::Refused(StoreError::Gone { path }));
        };
        let model: Option<String> = get(row, 3)?;
        let dimensions: Option<i32> = get(row, 4)?;
        Ok(Self {
            revision: rows::number(row, 0)?,
            graph_revision: rows::number(row, 1)?,
            links_revision: rows::number(row, 2)?,
            embedding: model.zip(dimensions).map(|(model, n)| EmbeddingSpec { model, dimensions: n as u32 }),
            session,
            links,
            shared: Arc::clone(shared),
        })
    }

    /// The result for callers.
    fn done<T>(&self, result: Result<T, Fault>) -> Result<T, StoreError> {
        result.map_err(|fault| fault.into_store("reading", &self.shared.name))
    }

    async fn rows(&self, sql: &str, arguments: &Arguments<'_>) -> Result<Vec<Row>, StoreError> {
        self.done(self.session.rows(sql, arguments).await)
    }

    /// The rows of a statement, read.
    async fn all<T>(
        &self,
        sql: &str,
        arguments: &Arguments<'_>,
        read: impl Fn(&Row) -> Result<T, Fault>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.rows(sql, arguments).await?;
        self.done(rows.iter().map(read).collect())
    }

    /// One entry for each id; the statement's second argument are the ids, its first column is the id.
    async fn by_id<T: Clone>(
        &self,
        sql: &str,
        ids: Vec<&str>,
        read: impl Fn(&Row) -> Result<T, Fault>,
    ) -> Result<Vec<Option<T>>, StoreError> {
        let rows = self.rows(sql, &[&ids]).await?;
        let rows = rows.iter().map(|row| Ok((get::<String>(row, 0)?, read(row)?)));
        let rows = self.done(rows.collect::<Result<HashMap<_, _>, _>>())?;
        Ok(found(ids.into_iter().map(str::to_owned), rows))
    }

    /// The rows of each id; the statement's second argument are the ids, its first column is the id.
    async fn each<T: Clone>(
        &self,
        sql: &str,
        ids: Vec<&str>,
        read: impl Fn(&Row) -> Result<T, Fault>,
    ) -> Result<Vec<Vec<T>>, StoreError> {
        let rows = self.rows(sql, &[&ids]).await?;
        let rows = rows.iter().map(|row| Ok((get::<String>(row, 0)?, read(row)?)));
        self.done(grouped(ids.into_iter().map(str::to_owned), rows))
    }
}

/// The columns from the second on, as a body.
fn second<T: serde::de::DeserializeOwned>(row: &Row) -> Result<T, Fault> {
    rows::parsed(row, 1)
}

fn second_id(row: &Row) -> Result<String, Fault> {
    get(row, 1)
}

/// Columns `id, body, live`.
fn document_of(row: &Row) -> Result<Document, Fault> {
    let mut document: Document = rows::parsed(row, 1)?;
    let live: bool = get(row, 2)?;
    document.visibility =
        if live { graphloom_core::Visibility::Live } else { graphloom_core::Visibility::Staged };
    Ok(document)
}

/// A count in this column, as entries of a kind are few.
fn count(row: &Row, column: usize) -> Result<u32, Fault> {
    Ok(u32::try_from(get::<i64>(row, column)?).unwrap_or(u32::MAX))
}

fn ids(documents: &[DocumentId]) -> Vec<&str> {
    documents.iter().map(DocumentId::as_str).collect()
}

fn ends(keys: &[RelationKey]) -> (Vec<&str>, Vec<&str>) {
    keys.iter().map(|key| (key.a().as_str(), key.b().as_str())).unzip()
}

#[async_trait]
impl Snapshot for PostgresSnapshot {
    fn revision(&self) -> Revision {
        Revision(self.revision)
    }

    fn graph_revision(&self) -> Revision {
        Revision(self.graph_revision)
    }

    async fn counts(&self) -> Result<StoreCounts, StoreError> {
        let of = |table: &str| format!("(SELECT count(*) FROM {table} WHERE workspace_id = $1)");
        let vectors =
            |kind| format!("(SELECT count(*) FROM vectors WHERE workspace_id = $1 AND kind = {kind})");
        let tables = [
            "documents",
            "chunks",
            "extractions",
            "mentions",
            "facts",
            "decisions",
            "entities",
            "relations",
            "calls",
            "stale",
            "nodes",
        ];
        let columns: Vec<String> = tables.into_iter().map(of).chain((0..4).map(vectors)).collect();
        let sql = format!("SELECT {} FROM workspaces WHERE id = $1", columns.join(", "));
        let rows = self.rows(&sql, &[]).await?;
        let Some(row) = rows.first() else { return Ok(StoreCounts::default()) };
        let number = |column| rows::number(row, column);
        let counts = || {
            Ok(StoreCounts {
                documents: number(0)?,
                chunks: number(1)?,
                extractions: number(2)?,
                mentions: number(3)?,
                facts: number(4)?,
                decisions: number(5)?,
                entities: number(6)?,
                relations: number(7)?,
                calls: number(8)?,
                stale: number(9)?,
                nodes: number(10)?,
                chunk_vectors: number(11)?,
                entity_vectors: number(12)?,
                relation_vectors: number(13)?,
                node_vectors: number(14)?,
            })
        };
        self.done(counts())
    }

    async fn embedding(&self) -> Result<Option<EmbeddingSpec>, StoreError> {
        Ok(self.embedding.clone())
    }

    async fn settings(&self) -> Result<BTreeMap<String, String>, StoreError> {
        let sql = "SELECT settings FROM workspaces WHERE id = $1";
        Ok(self.all(sql, &[], |row| rows::parsed(row, 0)).await?.pop().unwrap_or_default())
    }

    async fn documents(&self, documents: &[DocumentId]) -> Result<Vec<Option<Document>>, StoreError> {
        let sql = "SELECT id, body, live FROM documents WHERE workspace_id = $1 AND id = ANY($2)";
        self.by_id(sql, ids(documents), document_of).await
    }

    async fn documents_of_sources(&self, sources: &[String]) -> Result<Vec<Vec<Document>>, StoreError> {
        let sql = "SELECT d.source, d.body, d.live FROM unnest($2::text[]) AS s (source) \
            JOIN documents d ON d.workspace_id = $1 AND left(d.source, 256) = left(s.source, 256) AND d.source = s.source \
            GROUP BY d.id, d.source, d.body, d.live ORDER BY d.id";
        self.each(sql, sources.iter().map(String::as_str).collect(), document_of).await
    }

    async fn documents_of_contents(&self, hashes: &[ContentHash]) -> Result<Vec<Vec<Document>>, StoreError> {
        let sql = "SELECT content_hash, body, live FROM documents \
            WHERE workspace_id = $1 AND content_hash = ANY($2) ORDER BY id";
        self.each(sql, hashes.iter().map(ContentHash::as_str).collect(), document_of).await
    }

    async fn status_counts(&self) -> Result<BTreeMap<StatusKind, u64>, StoreError> {
        let mut counts = BTreeMap::new();
        let mut after = String::new();
        loop {
            let sql = "SELECT id FROM documents WHERE workspace_id = $1 AND id > $2 ORDER BY id LIMIT $3";
            let page = self
                .all(sql, &[&after, &rows::limit(PAGE)], |row| {
                    get(row, 0).map(|id: String| DocumentId::from_stored(id))
                })
                .await?;
            for status in graphloom_core::statuses_of(self, &page).await? {
                *counts.entry(status.kind()).or_default() += 1;
            }
            let Some(last) = page.last().filter(|_| page.len() == PAGE) else { return Ok(counts) };
            after = last.to_string();
        }
    }

    async fn texts(&self, documents: &[DocumentId]) -> Result<Vec<Option<String>>, StoreError> {
        let sql = "SELECT document, text FROM texts WHERE workspace_id = $1 AND document = ANY($2)";
        self.by_id(sql, ids(documents), |row| rows::utf8(get(row, 1)?)).await
    }

    async fn jobs(&self, documents: &[DocumentId]) -> Result<Vec<Option<Job>>, StoreError> {
        let sql = "SELECT document, body FROM jobs WHERE workspace_id = $1 AND document = ANY($2)";
        self.by_id(sql, ids(documents), second).await
    }

    async fn queue(&self) -> Result<QueueState, StoreError> {
        let sql = "SELECT queue FROM workspaces WHERE id = $1";
        Ok(self.all(sql, &[], |row| rows::parsed(row, 0)).await?.pop().unwrap_or_default())
    }

    async fn documents_of_tracks(&self, tracks: &[TrackId]) -> Result<Vec<Vec<DocumentId>>, StoreError> {
        let sql = "SELECT track, document FROM tracks WHERE workspace_id = $1 AND track = ANY($2) ORDER BY document";
        let tracks = tracks.iter().map(TrackId::as_str).collect();
        self.each(sql, tracks, |row| second_id(row).map(DocumentId::from_stored)).await
    }

    async fn tracks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<TrackId>>, StoreError> {
        let sql = "SELECT document, track FROM tracks WHERE workspace_id = $1 AND document = ANY($2) ORDER BY track";
        self.each(sql, ids(documents), |row| second_id(row).map(TrackId::from_stored)).await
    }

    async fn renewals_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Renewal>>, StoreError> {
        let sql = "SELECT c.document, r.body FROM chunks c \
            JOIN renewals r ON r.workspace_id = $1 AND r.chunk = c.id \
            WHERE c.workspace_id = $1 AND c.document = ANY($2) ORDER BY c.ordinal, c.id";
        self.each(sql, ids(documents), second).await
    }

    async fn claimable_jobs(&self, now: Timestamp, limit: usize) -> Result<Vec<Job>, StoreError> {
        let sql = "SELECT body FROM jobs WHERE workspace_id = $1 AND is_open AND coalesce(lease_until < $2, true) \
            ORDER BY created_at, document LIMIT $3";
        let now = i64::try_from(now.0).unwrap_or(i64::MAX);
        self.all(sql, &[&now, &rows::limit(limit)], |row| rows::parsed(row, 0)).await
    }

    async fn chunks(&self, chunks: &[ChunkId]) -> Result<Vec<Option<Chunk>>, StoreError> {
        let chunk = rows::CHUNK;
        let sql = format!("SELECT {chunk}, c.id FROM chunks c WHERE c.workspace_id = $1 AND c.id = ANY($2)");
        let wanted: Vec<&str> = chunks.iter().map(ChunkId::as_str).collect();
        let read = self.all(&sql, &[&wanted], rows::chunk).await?;
        let read = read.into_iter().map(|chunk| (chunk.id.clone(), chunk)).collect();
        Ok(found(chunks.iter().cloned(), read))
    }

    async fn chunks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Chunk>>, StoreError> {
        let chunk = rows::CHUNK;
        let sql = format!(
            "SELECT {chunk} FROM chunks c WHERE c.workspace_id = $1 AND c.document = ANY($2) ORDER BY c.ordinal, c.id"
        );
        let read = self.all(&sql, &[&ids(documents)], rows::chunk).await?;
        let rows = read.into_iter().map(|chunk| Ok((chunk.document.clone(), chunk)));
        self.done(grouped(documents.iter().cloned(), rows))
    }

    async fn chunk_ids_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<ChunkId>>, StoreError> {
        let sql = "SELECT document, id FROM chunks WHERE workspace_id = $1 AND document = ANY($2) ORDER BY ordinal, id";
        self.each(sql, ids(documents), |row| second_id(row).map(ChunkId::from_stored)).await
    }

    async fn chunk_counts_of(&self, documents: &[DocumentId]) -> Result<Vec<ChunkCounts>, StoreError> {
        let is =
            |state: &str| format!("count(*) FILTER (WHERE c.extraction LIKE '{{\"state\":\"{state}\"%')");
        let sql = format!(
            "SELECT c.document, count(*), {}, {}, {}, count(s.chunk) FROM chunks c \
             LEFT JOIN situations s ON s.workspace_id = $1 AND s.chunk = c.id AND s.failed \
             WHERE c.workspace_id = $1 AND c.document = ANY($2) GROUP BY c.document",
            is("done"),
            is("damaged"),
            is("failed")
        );
        let counts = |row: &Row| {
            Ok(ChunkCounts {
                chunks: count(row, 1)?,
                extracted: count(row, 2)? + count(row, 3)?,
                damaged: count(row, 3)?,
                failed: count(row, 4)?,
                unsituated: count(row, 5)?,
            })
        };
        let found = self.by_id(&sql, ids(documents), counts).await?;
        Ok(found.into_iter().map(Option::unwrap_or_default).collect())
    }

    async fn extraction_states_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, ChunkExtraction)>>, StoreError> {
        let sql = "SELECT document, extraction, ordinal FROM chunks \
            WHERE workspace_id = $1 AND document = ANY($2) ORDER BY ordinal, id";
        self.each(sql, ids(documents), |row| Ok((count(row, 2)?, second(row)?))).await
    }

    async fn extractions(&self, keys: &[ExtractionKey]) -> Result<Vec<Option<Extraction>>, StoreError> {
        let sql = "SELECT key, body FROM extractions WHERE workspace_id = $1 AND key = ANY($2)";
        self.by_id(sql, keys.iter().map(ExtractionKey::as_str).collect(), second).await
    }

    async fn reject_counts(&self) -> Result<BTreeMap<RejectReason, u64>, StoreError> {
        let sql = "SELECT reason, count(*) FROM extractions, unnest(string_to_array(rejects, ' ')) AS reason \
            WHERE workspace_id = $1 GROUP BY reason";
        let reason = |row: &Row| Ok((RejectReason::from(get::<String>(row, 0)?), rows::number(row, 1)?));
        Ok(self.all(sql, &[], reason).await?.into_iter().collect())
    }

    async fn empty_extractions(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM extractions WHERE workspace_id = $1 AND is_empty";
        Ok(self.all(sql, &[], |row| rows::number(row, 0)).await?.into_iter().sum())
    }

    async fn situations(&self, chunks: &[ChunkId]) -> Result<Vec<Option<Situation>>, StoreError> {
        let sql = "SELECT chunk, body FROM situations WHERE workspace_id = $1 AND chunk = ANY($2)";
        self.by_id(sql, chunks.iter().map(ChunkId::as_str).collect(), second).await
    }

    async fn situating_texts(&self, keys: &[SituationKey]) -> Result<Vec<Option<String>>, StoreError> {
        let sql = "SELECT DISTINCT ON (key) key, body FROM situations \
            WHERE workspace_id = $1 AND key = ANY($2) AND NOT failed ORDER BY key, chunk";
        let keys = keys.iter().map(SituationKey::as_str).collect();
        let found = self.by_id(sql, keys, second::<Situation>).await?;
        Ok(found.into_iter().map(|situation| situation?.text().map(str::to_owned)).collect())
    }

    async fn failed_situations_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, String)>>, StoreError> {
        let sql = "SELECT c.document, s.body, c.ordinal FROM chunks c \
            JOIN situations s ON s.workspace_id = $1 AND s.chunk = c.id AND s.failed \
            WHERE c.workspace_id = $1 AND c.document = ANY($2) ORDER BY c.ordinal, c.id";
        let read = |row: &Row| {
            let situation: Situation = second(row)?;
            Ok((count(row, 2)?, situation.failure().unwrap_or_default().to_owned()))
        };
        self.each(sql, ids(documents), read).await
    }

    async fn situation_counts(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        let sql = "SELECT author, count(*) FROM situations WHERE workspace_id = $1 GROUP BY author";
        Ok(self.all(sql, &[], |row| Ok((get(row, 0)?, rows::number(row, 1)?))).await?.into_iter().collect())
    }

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
        within: Option<&Allowed>,
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
        let found = found.iter().map(|row| Ok((rows::graph_key(row, 0)?, scans::summary(row, 3)?)));
        self.done(grouped(keys.iter().cloned(), found))
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

    async fn scan_nodes(
        &self,
        layer: &LayerName,
        level: Option<u32>,
        after: Option<&NodeKey>,
        limit: usize,
    ) -> Result<Vec<LayerNode>, StoreError> {
        let sql = "SELECT body FROM nodes WHERE workspace_id = $1 AND layer = $2 AND level = coalesce($3, level) \
            AND key > $4 ORDER BY key LIMIT $5";
        let (layer, level) = (layer.as_str(), level.map(i64::from));
        let after = after.map_or("", NodeKey::as_str);
        self.all(sql, &[&layer, &level, &after, &rows::limit(limit)], |row| rows::parsed(row, 0)).await
    }

    async fn search_vectors(&self, query: &VectorQuery) -> Result<Vec<Vec<VectorHit>>, StoreError> {
        let Some(space) = &self.embedding else { return Ok(vec![Vec::new(); query.vectors.len()]) };
        rules::check_query(space, &query.vectors)?;
        self.done(search::nearest(&self.session, query).await)
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

    async fn search_text(&self, query: &TextQuery) -> Result<Vec<VectorHit>, StoreError> {
        self.done(search::matching(&self.session, query).await)
    }

    async fn links(&self) -> Result<Arc<LinkGraph>, StoreError> {
        self.done(self.links.get(&self.session, self.links_revision).await)
    }

    async fn projections(&self) -> Result<Vec<Projection>, StoreError> {
        Ok(Vec::new())
    }

    async fn documents_where(
        &self,
        wanted: &mut (dyn for<'a> FnMut(&'a Document) -> bool + Send),
    ) -> Result<Vec<Document>, StoreError> {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let page = self.scan_documents(after.as_ref(), PAGE).await?;
            after = page.last().filter(|_| page.len() == PAGE).map(|last| last.id.clone());
            found.extend(page.into_iter().filter(|document| wanted(document)));
            if after.is_none() {
                return Ok(found);
            }
        }
    }

    async fn scan_documents(
        &self,
        after: Option<&DocumentId>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        self.scan_documents(after, limit).await
    }

    async fn scan_documents_by_source(
        &self,
        after: Option<(&str, &DocumentId)>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        self.scan_documents_by_source(after, limit).await
    }

    async fn scan_documents_by_date(
        &self,
        after: Option<(Timestamp, &DocumentId)>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        self.scan_documents_by_date(after, limit).await
    }

    async fn leased_jobs(&self) -> Result<Vec<Job>, StoreError> {
        let sql =
            "SELECT body FROM jobs WHERE workspace_id = $1 AND lease_until IS NOT NULL ORDER BY document";
        self.all(sql, &[], |row| rows::parsed(row, 0)).await
    }

    async fn scan_jobs(&self, after: Option<&DocumentId>, limit: usize) -> Result<Vec<Job>, StoreError> {
        self.scan("jobs", "document", after.map(DocumentId::as_str), limit).await
    }

    async fn scan_chunks(&self, after: Option<&ChunkId>, limit: usize) -> Result<Vec<Chunk>, StoreError> {
        self.scan_chunks(after, limit).await
    }

    async fn scan_renewals(&self, after: Option<&ChunkId>, limit: usize) -> Result<Vec<Renewal>, StoreError> {
        self.scan("renewals", "chunk", after.map(ChunkId::as_str), limit).await
    }

    async fn scan_situations(
        &self,
        after: Option<&ChunkId>,
        limit: usize,
    ) -> Result<Vec<Situation>, StoreError> {
        self.scan("situations", "chunk", after.map(ChunkId::as_str), limit).await
    }

    async fn scan_extractions(
        &self,
        after: Option<&ExtractionKey>,
        limit: usize,
    ) -> Result<Vec<Extraction>, StoreError> {
        self.scan("extractions", "key", after.map(ExtractionKey::as_str), limit).await
    }

    async fn scan_mentions(
        &self,
        after: Option<(&ChunkId, u32)>,
        limit: usize,
    ) -> Result<Vec<Mention>, StoreError> {
        self.scan_records("mentions", "body", after, limit, |row| rows::parsed(row, 0)).await
    }

    async fn scan_facts(
        &self,
        after: Option<(&ChunkId, u32)>,
        limit: usize,
    ) -> Result<Vec<Fact>, StoreError> {
        self.scan_records("facts", "body, weight", after, limit, rows::fact).await
    }

    async fn scan_decisions(
        &self,
        after: Option<(u64, &DecisionId)>,
        limit: usize,
    ) -> Result<Vec<Decision>, StoreError> {
        self.scan_decisions(after, limit).await
    }

    async fn scan_entities(
        &self,
        after: Option<&EntityKey>,
        limit: usize,
    ) -> Result<Vec<Entity>, StoreError> {
        self.scan("entities", "key", after.map(EntityKey::as_str), limit).await
    }

    async fn scan_relations(
        &self,
        after: Option<&RelationKey>,
        limit: usize,
    ) -> Result<Vec<Relation>, StoreError> {
        self.scan_relations(after, limit).await
    }

    async fn scan_summaries(
        &self,
        after: Option<(&GraphKey, &str)>,
        limit: usize,
    ) -> Result<Vec<(GraphKey, Summary)>, StoreError> {
        self.scan_summaries(after, limit).await
    }

    async fn scan_stale(&self, after: Option<&GraphKey>, limit: usize) -> Result<Vec<GraphKey>, StoreError> {
        self.scan_stale(after, limit).await
    }

    async fn scan_vectors(
        &self,
        kind: VectorKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<VectorEntry>, StoreError> {
        self.scan_vectors(kind, after, limit).await
    }

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

    async fn scan_calls(&self, skip: u64, limit: usize) -> Result<Vec<Call>, StoreError> {
        let skip = i64::try_from(skip).unwrap_or(i64::MAX);
        let sql = "SELECT body FROM calls WHERE workspace_id = $1 AND place > $2 ORDER BY place LIMIT $3";
        self.all(sql, &[&skip, &rows::limit(limit)], |row| rows::parsed(row, 0)).await
    }
}
