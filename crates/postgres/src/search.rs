//! Searches by vector and by words.

use std::collections::BTreeMap;

use graphloom_core::ItemKind;
use graphloom_rules::search::{Only, ScoredId, TextQuery, VectorQuery};
use graphloom_rules::vector;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::error::Fault;
use crate::halfvec::HalfVec;
use crate::nearest_index::NearestIndex;
use crate::rows::{self, get};
use crate::session::{Arguments, Session};
use crate::words::kept;

/// Hits fetched beyond the limit, because the database's scores are rounded.
const MARGIN: usize = 32;
/// How far the database's single-precision arithmetic may move a score.
const ROUNDING: f32 = 3e-5;
/// Bounds of `hnsw.ef_search`, the entries that an index scan keeps in view. More entries find more of the nearest. The
/// database allows no larger value.
const MIN_BREADTH: usize = 200;
const MAX_BREADTH: usize = 1000;
/// Most entries that an index scan reads for a filter, and the factor by which it reads more if it found too few.
const MAX_REACH: usize = 10_000;
const WIDER: usize = 4;
/// Parameters of BM25 [Robertson, Zaragoza 2009], as in the embedded store.
pub(crate) const K1: f32 = 1.2;
pub(crate) const B: f32 = 0.75;

/// The restrictions of a search, as conditions on rows `x` with an `id`, and the arguments that the conditions use.
#[derive(Default)]
struct Conditions {
    sql: String,
    arguments: Vec<Box<dyn ToSql + Sync + Send>>,
}

impl Conditions {
    /// - `argument`: the number of the first argument used here.
    fn of(kind: ItemKind, only: &Only, argument: usize) -> Self {
        let mut conditions = Self::default();
        let mut next = argument..;
        let mut number = || next.next().unwrap_or(argument);
        if let Some(filtered) = &only.filtered {
            let number = number();
            let ids: Vec<String> = match kind {
                ItemKind::Chunk => {
                    conditions.sql.push_str(&live(&format!(" AND c.document = ANY(${number})")));
                    filtered.documents().iter().map(ToString::to_string).collect()
                }
                ItemKind::Entity | ItemKind::Relation | ItemKind::Node => {
                    conditions.sql.push_str(&format!(" AND x.id = ANY(${number})"));
                    filtered.ids(kind).map(str::to_owned).collect()
                }
            };
            conditions.arguments.push(Box::new(ids));
        }
        if let Some(layer) = &only.layer {
            let number = number();
            let is_node = kind == ItemKind::Node;
            conditions.sql.push_str(&format!(" AND {is_node} AND starts_with(x.id, ${number})"));
            conditions.arguments.push(Box::new(layer.key_prefix()));
        }
        conditions
    }

    /// Returns all arguments, starting with `first`.
    fn after<'a>(&'a self, first: &[&'a (dyn ToSql + Sync)]) -> Vec<&'a (dyn ToSql + Sync)> {
        let own = self.arguments.iter().map(|argument| &**argument as &(dyn ToSql + Sync));
        first.iter().copied().chain(own).collect()
    }
}

/// Returns the condition that the row is a chunk of a live document for which `also` holds.
fn live(also: &str) -> String {
    format!(" AND EXISTS (SELECT FROM chunks c WHERE c.workspace_id = $1 AND c.id = x.id AND c.live{also})")
}

/// Returns the nearest entries for each vector of the query, with exactly the scores of every other store. If a kind is
/// [indexed](NearestIndex), some of the nearest may be missing, unless a filter admits so few that all of them are
/// read.
pub(crate) async fn nearest(session: &Session, query: &VectorQuery) -> Result<Vec<Vec<ScoredId>>, Fault> {
    let index = match query.vectors.first().filter(|_| query.only.layer.is_none()) {
        Some(vector) => NearestIndex::find(session, query.kind, vector.len()).await?,
        None => None,
    };
    let scan = match index {
        Some(index) => IndexScan::of(session, query, index).await?,
        None => None,
    };
    let mut found = Vec::new();
    for vector in &query.vectors {
        let indexed = match &scan {
            Some(scan) => scan.nearest_to(session, query, vector).await?,
            None => None,
        };
        found.push(match indexed {
            Some(hits) => hits,
            None => nearest_to(session, query, vector).await?,
        });
    }
    Ok(found)
}

/// Returns the columns `id, codes` of all vectors that the query admits.
pub(crate) async fn admitted(session: &Session, query: &VectorQuery) -> Result<Vec<Row>, Fault> {
    let only = Conditions::of(query.kind, &query.only, 3);
    let conditions = &only.sql;
    let sql =
        format!("SELECT x.id, x.codes FROM vectors x WHERE x.workspace_id = $1 AND x.kind = $2{conditions}");
    session.rows(&sql, &only.after(&[&rows::kind_code(query.kind)])).await
}

/// A search that scans an index from the nearest entry on and skips entries that a filter does not admit.
struct IndexScan {
    index: NearestIndex,
    /// Number of hits that are scored.
    fetched: usize,
    /// Number of entries that the scan reads at first and at most.
    reach: [usize; 2],
}

impl IndexScan {
    /// `None` if reading everything that the query admits is cheaper, or if the index scan cannot go far enough.
    async fn of(session: &Session, query: &VectorQuery, index: NearestIndex) -> Result<Option<Self>, Fault> {
        let fetched = query.limit.saturating_add(MARGIN);
        let reach = match &query.only.filtered {
            None => [fetched, MAX_BREADTH],
            Some(filtered) => {
                let sql = "SELECT entries FROM totals WHERE workspace_id = $1 AND kind = $2";
                let found = session.rows(sql, &[&rows::kind_code(query.kind)]).await?;
                let all = found.first().map(|row| rows::number(row, 0)).transpose()?.unwrap_or(0) as usize;
                let admitted = filtered.count(query.kind);
                // If the admitted entries are spread evenly, half of this is enough.
                let evenly = fetched.saturating_mul(all) / admitted.max(1);
                [evenly.saturating_mul(2), admitted.min(MAX_REACH)]
            }
        };
        Ok((reach[0] <= reach[1]).then_some(Self { index, fetched, reach }))
    }

    /// Returns the nearest entries that the index finds, scored exactly. `None` if it may have missed some.
    async fn nearest_to(
        &self,
        session: &Session,
        query: &VectorQuery,
        vector: &[f32],
    ) -> Result<Option<Vec<ScoredId>>, Fault> {
        let unit = vector::to_unit(vector);
        let (rounded, residual) = HalfVec::rounded(&unit);
        let [mut reach, most] = self.reach;
        while reach <= most {
            let Candidates { ids, looked_at, last } =
                self.candidates(session, query, &rounded, reach).await?;
            let is_whole = last.is_some_and(|last| last + residual + ROUNDING < query.min_score);
            if ids.len() >= query.limit || is_whole {
                let sql =
                    "SELECT id, codes FROM vectors WHERE workspace_id = $1 AND kind = $2 AND id = ANY($3)";
                let found = session.rows(sql, &[&rows::kind_code(query.kind), &ids]).await?;
                let mut hits =
                    found.iter().map(|row| scored_row(row, &unit)).collect::<Result<Vec<_>, _>>()?;
                vector::rank(&mut hits, query.limit);
                hits.retain(|hit| hit.score >= query.min_score);
                return Ok(Some(hits));
            }
            if looked_at < reach {
                break;
            }
            reach = reach.saturating_mul(WIDER);
        }
        Ok(None)
    }

    /// Returns those of the `reach` nearest entries that the query admits.
    async fn candidates(
        &self,
        session: &Session,
        query: &VectorQuery,
        rounded: &HalfVec,
        reach: usize,
    ) -> Result<Candidates, Fault> {
        let only = match (query.kind, &query.only.filtered) {
            (ItemKind::Chunk, None) => live(""),
            _ => String::new(),
        };
        let breadth = reach.clamp(MIN_BREADTH, MAX_BREADTH);
        // Without iterative scans, the index would return fewer entries than requested. With outdated statistics, the
        // database would rather read and sort all vectors, which takes ten times as long.
        session
            .execute(&format!(
                "SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = {breadth}; \
                 SET LOCAL enable_sort = off"
            ))
            .await?;
        let sql = self.index.candidates("x.id, (1 - (x.codes <=> $2))::float4", &only);
        let found = session.rows(&sql, &[rounded, &rows::limit(reach)]).await?;
        session.execute("SET LOCAL enable_sort = on").await?;
        let last = found.last().map(|row| get(row, 1)).transpose()?;
        let mut ids = found.iter().map(|row| get::<String>(row, 0)).collect::<Result<Vec<_>, _>>()?;
        ids.retain(|id| query.only.admits(query.kind, id));
        ids.truncate(self.fetched);
        Ok(Candidates { ids, looked_at: found.len(), last })
    }
}

/// The result of an index scan.
struct Candidates {
    ids: Vec<String>,
    /// Number of entries read, fewer than requested if the scan reached the end, and the approximate score of the last one.
    looked_at: usize,
    last: Option<f32>,
}

/// Scores the columns `id, codes` exactly.
fn scored_row(row: &Row, unit: &[f32]) -> Result<ScoredId, Fault> {
    let stored = vector::decode(&vector::of_codes(&get::<HalfVec>(row, 1)?.to_codes()));
    Ok(ScoredId { id: get(row, 0)?, score: vector::cosine(unit, &stored) })
}

/// Returns the nearest entries without an index. The database ranks them by the scores of the rounded vector, and the
/// best are scored again here.
async fn nearest_to(session: &Session, query: &VectorQuery, vector: &[f32]) -> Result<Vec<ScoredId>, Fault> {
    if query.limit == 0 {
        return Ok(Vec::new());
    }
    let unit = vector::to_unit(vector);
    let (rounded, residual) = HalfVec::rounded(&unit);
    let slack = residual + ROUNDING;
    let only = Conditions::of(query.kind, &query.only, 5);
    let conditions = &only.sql;
    let ranked = format!(
        "SELECT x.id, x.codes, (CASE WHEN x.length = 0 THEN 0 ELSE -(x.codes <#> $3) / x.length END)::float4 AS score \
         FROM vectors x WHERE x.workspace_id = $1 AND x.kind = $2{conditions} ORDER BY score DESC, x.id LIMIT $4"
    );
    // Nearly all chunks are live, so visibility is checked only for the nearest ones.
    let is_live = match (query.kind, &query.only.filtered) {
        (ItemKind::Chunk, None) => format!("true{}", live("")),
        _ => "true".to_owned(),
    };
    let sql =
        format!("SELECT x.id, x.codes, x.score, {is_live} FROM ({ranked}) x ORDER BY x.score DESC, x.id");
    let kind = rows::kind_code(query.kind);
    let mut fetched = query.limit.saturating_add(MARGIN);
    loop {
        let limit = rows::limit(fetched);
        let found = session.rows(&sql, &only.after(&[&kind, &rounded, &limit])).await?;
        let mut hits = Vec::new();
        for row in &found {
            if get::<bool>(row, 3)? {
                hits.push(scored_row(row, &unit)?);
            }
        }
        vector::rank(&mut hits, query.limit);
        // No entry that was not fetched scores higher than this.
        let left =
            found.last().filter(|_| found.len() >= fetched).map(|row| get::<f32>(row, 2)).transpose()?;
        let least = hits.get(query.limit - 1).map_or(query.min_score, |hit| hit.score.max(query.min_score));
        if left.is_none_or(|left| left + slack < least) {
            hits.retain(|hit| hit.score >= query.min_score);
            return Ok(hits);
        }
        fetched = fetched.saturating_mul(4);
    }
}

/// Returns the best matches by BM25. Scores are computed in single precision and added up in the order of the words, as
/// in the embedded store.
pub(crate) async fn matching(session: &Session, query: &TextQuery) -> Result<Vec<ScoredId>, Fault> {
    let shares: BTreeMap<String, f32> = query
        .weighted_words(usize::MAX)
        .into_iter()
        .map(|(word, share)| (kept(&word).to_owned(), share))
        .collect();
    let all: Vec<String> = shares.keys().cloned().collect();
    let kind = rows::kind_code(query.kind);
    if all.is_empty() || query.limit == 0 {
        return Ok(Vec::new());
    }
    let sql = "SELECT entries, words FROM totals WHERE workspace_id = $1 AND kind = $2";
    let totals = session.rows(sql, &[&kind]).await?;
    let Some(totals) = totals.first() else { return Ok(Vec::new()) };
    let (entries, total) = (get::<i64>(totals, 0)?, get::<i64>(totals, 1)?);
    let mean = total as f32 / entries as f32;
    let sql = "SELECT word, count(*) FROM postings WHERE workspace_id = $1 AND kind = $2 AND word = ANY($3) \
        GROUP BY word ORDER BY word";
    let (mut known, mut weights) = (Vec::new(), Vec::new());
    for row in session.rows(sql, &[&kind, &all]).await? {
        let holding: i64 = get(&row, 1)?;
        let word: String = get(&row, 0)?;
        weights.push(shares[&word] * rarity(entries, holding) * (1.0 + K1));
        known.push(word);
    }
    // Only live chunks have words, so visibility needs no condition.
    let only = Conditions::of(query.kind, &query.only, 10);
    let conditions = &only.sql;
    let sql = format!(
        "SELECT x.id, sum(w.weight * (x.count::float4 / (x.count::float4 + $6 * ($7 + $8 * x.length::float4 / $5))) \
            ORDER BY w.place) AS score \
         FROM unnest($3::text[], $4::float4[]) WITH ORDINALITY AS w (word, weight, place) \
         JOIN postings x ON x.workspace_id = $1 AND x.kind = $2 AND x.word = w.word{conditions} \
         GROUP BY x.id ORDER BY score DESC, x.id LIMIT $9"
    );
    let limit = rows::limit(query.limit);
    let (k1, rest, b) = (K1, 1.0 - B, B);
    scored(session, &sql, &only.after(&[&kind, &known, &weights, &mean, &k1, &rest, &b, &limit])).await
}

/// Returns the weight of a word that `holding` of all entries contain.
pub(crate) fn rarity(entries: i64, holding: i64) -> f32 {
    (1.0 + ((entries - holding) as f32 + 0.5) / (holding as f32 + 0.5)).ln()
}

async fn scored(session: &Session, sql: &str, arguments: &Arguments<'_>) -> Result<Vec<ScoredId>, Fault> {
    let found = session.rows(sql, arguments).await?;
    found.iter().map(|row| Ok(ScoredId { id: get(row, 0)?, score: get(row, 1)? })).collect()
}
