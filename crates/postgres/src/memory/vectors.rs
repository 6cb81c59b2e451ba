//! Vectors of one kind in memory.

use std::collections::{BTreeSet, HashSet};

use graphloom_core::ItemKind;
use graphloom_rules::search::{ScoredId, VectorQuery};
use graphloom_rules::vector;
use graphloom_rules::vector::table::VectorTable;
use tokio_postgres::Row;

use super::{Memory, Part, Table};
use crate::error::Fault;
use crate::halfvec::HalfVec;
use crate::rows::{self, get};
use crate::session::Session;

/// Most numbers in all vectors of a kind that is kept: some 48,000 vectors of 1,024 numbers.
const MAX_NUMBERS: usize = 48 << 20;
/// Memory per number and per vector, in bytes: the coarse part, the stored form, and the key.
pub(super) const BYTES_A_NUMBER: usize = 2;
pub(super) const BYTES_A_VECTOR: usize = 200;
/// Vectors read at a time.
const PAGE: usize = 2_000;

/// The vectors in their stored form.
pub(super) struct Vectors(VectorTable<Box<[u8]>>);

impl Vectors {
    pub(super) fn nearest(&self, query: &VectorQuery) -> Vec<Vec<ScoredId>> {
        if query.limit == 0 {
            return vec![Vec::new(); query.vectors.len()];
        }
        let units: Vec<Vec<f32>> = query.vectors.iter().map(|vector| vector::to_unit(vector)).collect();
        let candidates = self.0.candidates(query, &units, &BTreeSet::new());
        let best = |(unit, candidates): (&Vec<f32>, Vec<_>)| {
            let Ok(hits) = self.0.best(query, unit, &candidates, Vec::new(), |stored, values| {
                vector::decode_into(stored, values);
                Ok::<_, std::convert::Infallible>(true)
            });
            hits
        };
        units.iter().zip(candidates).map(best).collect()
    }

    /// Returns the vectors of rows with the columns `id, codes`. `None` if their dimensions differ.
    pub(super) fn of(rows: &[Row]) -> Result<Option<Self>, Fault> {
        let mut vectors = Self(VectorTable::default());
        for row in rows {
            if !vectors.put(entry(row)?) {
                return Ok(None);
            }
        }
        vectors.0.shrink_to_fit();
        Ok(Some(vectors))
    }

    /// Adds a vector. False if its dimension differs from that of the others.
    fn put(&mut self, (id, stored): (String, Box<[u8]>)) -> bool {
        let fits = self.0.fits(&stored);
        if fits {
            self.0.put(&id, stored.clone(), &stored);
        }
        fits
    }
}

/// SQL condition for vectors that may be found. A chunk must be live.
fn may_be_found(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Chunk => {
            " AND EXISTS (SELECT FROM chunks c WHERE c.workspace_id = $1 AND c.id = x.id AND c.live)"
        }
        ItemKind::Entity | ItemKind::Relation | ItemKind::Node => "",
    }
}

/// Reads the columns `id, codes` as id and stored form.
fn entry(row: &Row) -> Result<(String, Box<[u8]>), Fault> {
    let stored = vector::of_codes(&get::<HalfVec>(row, 1)?.to_codes());
    Ok((get(row, 0)?, stored.into_boxed_slice()))
}

impl Table for Vectors {
    type Entries = Vec<(String, Box<[u8]>)>;

    fn part(memory: &Memory, kind: ItemKind) -> &Part<Self> {
        &memory.vectors[rows::kind_code(kind) as usize]
    }

    async fn bytes(session: &Session, kind: ItemKind) -> Result<Option<usize>, Fault> {
        let kind = rows::kind_code(kind);
        let sql = "SELECT vector_dims(codes) FROM vectors WHERE workspace_id = $1 AND kind = $2 LIMIT 1";
        let found = session.rows(sql, &[&kind]).await?;
        let Some(row) = found.first() else { return Ok(Some(0)) };
        let numbers = usize::try_from(get::<i32>(row, 0)?).unwrap_or(0).max(1);
        let most = MAX_NUMBERS / numbers;
        let sql = "SELECT count(*) FROM (SELECT FROM vectors WHERE workspace_id = $1 AND kind = $2 LIMIT $3) AS few";
        let found = session.rows(sql, &[&kind, &rows::limit(most + 1)]).await?;
        let vectors = found.first().map(|row| rows::number(row, 0)).transpose()?.unwrap_or(0) as usize;
        Ok((vectors <= most).then_some(vectors * (numbers * BYTES_A_NUMBER + BYTES_A_VECTOR)))
    }

    async fn read(session: &Session, kind: ItemKind) -> Result<Option<Self>, Fault> {
        let sql = format!(
            "SELECT x.id, x.codes FROM vectors x WHERE x.workspace_id = $1 AND x.kind = $2 AND x.id > $3{} \
             ORDER BY x.id LIMIT $4",
            may_be_found(kind)
        );
        let (mut read, mut after) = (Self(VectorTable::default()), String::new());
        loop {
            let found = session.rows(&sql, &[&rows::kind_code(kind), &after, &rows::limit(PAGE)]).await?;
            for row in &found {
                if !read.put(entry(row)?) {
                    return Ok(None);
                }
            }
            match found.last() {
                Some(row) if found.len() == PAGE => after = get(row, 0)?,
                _ => break,
            }
        }
        read.0.shrink_to_fit();
        Ok(Some(read))
    }

    async fn entries(session: &Session, kind: ItemKind, ids: &[String]) -> Result<Self::Entries, Fault> {
        let sql = format!(
            "SELECT x.id, x.codes FROM vectors x WHERE x.workspace_id = $1 AND x.kind = $2 AND x.id = ANY($3){}",
            may_be_found(kind)
        );
        session.rows(&sql, &[&rows::kind_code(kind), &ids]).await?.iter().map(entry).collect()
    }

    fn taken(&self) -> usize {
        self.0.len() * BYTES_A_VECTOR + self.0.numbers() * BYTES_A_NUMBER
    }

    fn change(&mut self, ids: &[String], entries: Self::Entries) -> bool {
        let present: HashSet<&str> = entries.iter().map(|(id, _)| id.as_str()).collect();
        ids.iter().filter(|id| !present.contains(id.as_str())).for_each(|id| self.0.remove(id));
        entries.into_iter().all(|entry| self.put(entry))
    }
}
