//! The vector projection of kinds with few vectors. The coarse parts of the vectors are in memory and are scanned for
//! candidates, which the stored vectors then rank exactly.
//!
//! The first search in a kind builds its projection, which then follows the change log. Hits are those of the snapshot,
//! even if the projection is ahead of it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use graphloom_core::ItemKind;
use graphloom_rules::search::{ScoredId, VectorQuery};
use graphloom_rules::vector::table::{Candidate, VectorTable, add_near};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::changes::{self, Mark};
use super::vector_tree::{self, NodeCache, TreeLimits, TreeSearch};
use super::{rows, sums};
use crate::vector;

/// Most changes that are kept for snapshots older than the projection. Even older snapshots are searched without it.
const MAX_REMEMBERED_CHANGES: usize = 16 << 10;

/// SQL for the number of the chunk with this key, if its document is live.
pub(super) const LIVE_CHUNK: &str =
    "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE c.key = ?1 AND d.live = 1";

/// SQL for the vector of a slot.
pub(super) const STORED: &str =
    "SELECT slot, data, row_sum('vector_data', slot, data) = sum FROM vector_data WHERE slot = ?1";

/// Returns the vector from a row of [`STORED`].
pub(super) fn stored_of<'a>(row: &'a Row<'_>) -> Result<&'a [u8]> {
    sums::require(row, 2, "vector_data")?;
    Ok(row.get_ref(1)?.as_blob()?)
}

/// The projections of all kinds, each built when it is first needed.
pub(super) struct Vectors {
    limits: TreeLimits,
    nodes: NodeCache,
    chunks: RwLock<Index>,
    entities: RwLock<Index>,
    relations: RwLock<Index>,
    layers: RwLock<Index>,
}

impl Vectors {
    pub(super) fn new(limits: TreeLimits) -> Self {
        let nodes = NodeCache::new(limits.cache_bytes);
        let (chunks, entities, relations, layers) = Default::default();
        Self { limits, nodes, chunks, entities, relations, layers }
    }

    /// Returns the snapshot's nearest entries for each query vector.
    pub(super) fn search(&self, conn: &Connection, query: &VectorQuery) -> Result<Vec<Vec<ScoredId>>> {
        let lock = match query.kind {
            ItemKind::Chunk => &self.chunks,
            ItemKind::Entity => &self.entities,
            ItemKind::Relation => &self.relations,
            ItemKind::Node => &self.layers,
        };
        let units: Vec<Vec<f32>> = query.vectors.iter().map(|vector| vector::to_unit(vector)).collect();
        if query.limit == 0 {
            return Ok(vec![Vec::new(); units.len()]);
        }
        let now = changes::newest(conn)?;
        if let Some(root) = vector_tree::root(conn, query.kind)? {
            let is_built = lock.read().unwrap_or_else(PoisonError::into_inner).mark.is_some();
            if is_built {
                // The projection was for fewer vectors and would waste memory.
                *lock.write().unwrap_or_else(PoisonError::into_inner) = Index::default();
            }
            let Self { limits, nodes: cache, .. } = self;
            return TreeSearch { conn, limits: *limits, root, cache, now }.search(query, &units);
        }
        let mut index = lock.read().unwrap_or_else(PoisonError::into_inner);
        if index.is_behind(now) {
            drop(index);
            let mut behind = lock.write().unwrap_or_else(PoisonError::into_inner);
            if behind.is_behind(now) {
                behind.catch_up(conn, query.kind, now)?;
            }
            drop(behind);
            index = lock.read().unwrap_or_else(PoisonError::into_inner);
        }
        match index.changed_since(now) {
            Some(changed) => {
                let candidates = index.table.candidates(query, &units, &changed);
                let each = units.iter().zip(candidates);
                each.map(|(unit, candidates)| index.search(conn, query, unit, &changed, &candidates))
                    .collect()
            }
            None => search_stored(conn, query, &units),
        }
    }
}

/// The projection of one kind.
#[derive(Default)]
struct Index {
    /// Its position in the change log. `None` before it is built.
    mark: Option<Mark>,
    /// The vectors, each with its slot.
    table: VectorTable<i64>,
    /// The newest changes, oldest first, and the position in the log after which none is missing.
    remembered: VecDeque<(i64, Arc<str>)>,
    remembers_after: i64,
}

impl Index {
    fn is_behind(&self, now: Mark) -> bool {
        self.mark.is_none_or(|mark| mark.id < now.id)
    }

    /// Returns the keys that changed between the snapshot at `now` and this projection. `None` if the changes are no longer kept.
    fn changed_since(&self, now: Mark) -> Option<BTreeSet<&str>> {
        let newer = self.remembered.iter().rev().take_while(|(id, _)| *id > now.id);
        (self.remembers_after <= now.id).then(|| newer.map(|(_, key)| &**key).collect())
    }

    fn catch_up(&mut self, conn: &Connection, kind: ItemKind, now: Mark) -> Result<()> {
        match self.mark {
            Some(mark) if changes::reaches(conn, mark)? => self.apply_changes(conn, kind, mark, now)?,
            _ => self.rebuild(conn, kind, now)?,
        }
        self.mark = Some(now);
        Ok(())
    }

    fn apply_changes(&mut self, conn: &Connection, kind: ItemKind, mark: Mark, now: Mark) -> Result<()> {
        for (id, code, key) in changes::after(conn, mark, changes::VECTOR)? {
            if code != rows::kind_code(kind) {
                continue;
            }
            match find(conn, kind, &key)? {
                // The vectors are now from another embedder.
                Some((_, data)) if !self.table.fits(&data) => return self.rebuild(conn, kind, now),
                Some((slot, data)) => self.table.put(&key, slot, &data),
                None => self.table.remove(&key),
            }
            self.remembered.push_back((id, Arc::from(key)));
            if self.remembered.len() > MAX_REMEMBERED_CHANGES
                && let Some((forgotten, _)) = self.remembered.pop_front()
            {
                self.remembers_after = forgotten;
            }
        }
        Ok(())
    }

    fn rebuild(&mut self, conn: &Connection, kind: ItemKind, now: Mark) -> Result<()> {
        *self = Self { remembers_after: now.id, ..Self::default() };
        for_each_stored(conn, kind, |key, slot, data| {
            self.table.put(key, slot, data);
            Ok(())
        })?;
        self.table.shrink_to_fit();
        Ok(())
    }

    /// Returns the nearest entries of the snapshot.
    fn search(
        &self,
        conn: &Connection,
        query: &VectorQuery,
        unit: &[f32],
        changed: &BTreeSet<&str>,
        candidates: &[Candidate],
    ) -> Result<Vec<ScoredId>> {
        let (mut hits, mut values) = (Vec::new(), Vec::new());
        // Entries that changed after the snapshot are wrong in the projection, so they are read from the snapshot.
        for key in changed.iter().filter(|key| admits(query, key)) {
            if let Some((_, data)) = find(conn, query.kind, key)? {
                vector::decode_into(&data, &mut values);
                add_near(query, unit, key, &values, &mut hits);
            }
        }
        let mut stored = conn.prepare_cached(STORED)?;
        self.table.best(query, unit, candidates, hits, |slot, values| {
            let mut found = stored.query([slot])?;
            let Some(found) = found.next()? else { return Ok(false) };
            vector::decode_into(stored_of(found)?, values);
            Ok(true)
        })
    }
}

pub(super) fn admits(query: &VectorQuery, key: &str) -> bool {
    query.only.admits(query.kind, key)
}

/// Ranks every stored vector of the snapshot without the projection. Each is read once for all query vectors.
fn search_stored(conn: &Connection, query: &VectorQuery, units: &[Vec<f32>]) -> Result<Vec<Vec<ScoredId>>> {
    let mut hits: Vec<Vec<ScoredId>> = vec![Vec::new(); units.len()];
    let mut values = Vec::new();
    for_each_stored(conn, query.kind, |key, _, data| {
        if admits(query, key) {
            vector::decode_into(data, &mut values);
            units.iter().zip(&mut hits).for_each(|(unit, hits)| add_near(query, unit, key, &values, hits));
        }
        Ok(())
    })?;
    hits.iter_mut().for_each(|hits| vector::rank(hits, query.limit));
    Ok(hits)
}

/// Ranks the vectors of `ids` that may be found without the projection. Each is read once for all query vectors.
pub(super) fn search_ids(
    conn: &Connection,
    query: &VectorQuery,
    units: &[Vec<f32>],
    ids: &[&str],
) -> Result<Vec<Vec<ScoredId>>> {
    let mut hits: Vec<Vec<ScoredId>> = vec![Vec::new(); units.len()];
    let mut values = Vec::new();
    for_each_of_ids(conn, query.kind, ids, |place, data| {
        vector::decode_into(data, &mut values);
        units.iter().zip(&mut hits).for_each(|(unit, hits)| add_near(query, unit, ids[place], &values, hits));
    })?;
    hits.iter_mut().try_for_each(|hits| rank_live(conn, query, hits))?;
    Ok(hits)
}

/// Returns the first hits that may be found. Checks only hits that would be among the first.
fn rank_live(conn: &Connection, query: &VectorQuery, hits: &mut Vec<ScoredId>) -> Result<()> {
    if query.kind == ItemKind::Chunk {
        let mut is_live = conn.prepare_cached(LIVE_CHUNK)?;
        vector::rank(hits, usize::MAX);
        let (mut live, mut place) = (0, 0);
        while place < hits.len() && live < query.limit {
            if is_live.exists([&hits[place].id])? {
                hits.swap(live, place);
                live += 1;
            }
            place += 1;
        }
        hits.truncate(live);
    } else {
        vector::rank(hits, query.limit);
    }
    Ok(())
}

/// Visits the vectors of these ids by their places, including those of staged documents, in the order in which they are
/// stored. So vectors that are stored together are read together.
pub(super) fn for_each_of_ids(
    conn: &Connection,
    kind: ItemKind,
    ids: &[impl AsRef<str>],
    mut visit: impl FnMut(usize, &[u8]),
) -> Result<()> {
    let mut slot = conn.prepare_cached("SELECT slot FROM vectors WHERE kind = ?1 AND key = ?2")?;
    let mut slots: Vec<(i64, usize)> = Vec::with_capacity(ids.len());
    for (place, id) in ids.iter().enumerate() {
        let found = slot.query_row(params![rows::kind_code(kind), id.as_ref()], |row| row.get(0));
        slots.extend(found.optional()?.map(|slot| (slot, place)));
    }
    slots.sort_unstable();
    let mut stored = conn.prepare_cached(STORED)?;
    for (slot, place) in slots {
        let mut found = stored.query([slot])?;
        if let Some(row) = found.next()? {
            visit(place, stored_of(row)?);
        }
    }
    Ok(())
}

/// Visits every vector of a kind, including those of staged documents, in files of any version.
pub(super) fn for_each_of_kind(
    conn: &Connection,
    kind: ItemKind,
    mut visit: impl FnMut(&str, i64, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut select = conn.prepare_cached(
        "SELECT v.key, v.slot, x.data FROM vectors v JOIN vector_data x ON x.slot = v.slot WHERE v.kind = ?1",
    )?;
    let mut found = select.query([rows::kind_code(kind)])?;
    while let Some(row) = found.next()? {
        visit(row.get_ref(0)?.as_str()?, row.get(1)?, row.get_ref(2)?.as_blob()?)?;
    }
    Ok(())
}

/// Visits every vector that may be found.
fn for_each_stored(
    conn: &Connection,
    kind: ItemKind,
    mut visit: impl FnMut(&str, i64, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut is_live = conn.prepare_cached(LIVE_CHUNK)?;
    let mut select = conn.prepare_cached(
        "SELECT x.slot, x.data, row_sum('vector_data', x.slot, x.data) = x.sum, v.key
            FROM vectors v JOIN vector_data x ON x.slot = v.slot WHERE v.kind = ?1",
    )?;
    let mut found = select.query([rows::kind_code(kind)])?;
    while let Some(row) = found.next()? {
        let key = row.get_ref(3)?.as_str()?;
        if kind != ItemKind::Chunk || is_live.exists([key])? {
            visit(key, row.get(0)?, stored_of(row)?)?;
        }
    }
    Ok(())
}

/// Returns the slot and stored form of a vector that may be found.
fn find(conn: &Connection, kind: ItemKind, key: &str) -> Result<Option<(i64, Vec<u8>)>> {
    let mut select = conn.prepare_cached(
        "SELECT v.slot, x.data, row_sum('vector_data', x.slot, x.data) = x.sum
            FROM vectors v JOIN vector_data x ON x.slot = v.slot WHERE v.kind = ?1 AND v.key = ?2",
    )?;
    let found = select
        .query_row(params![rows::kind_code(kind), key], |row| Ok((row.get(0)?, stored_of(row)?.to_vec())))
        .optional()?;
    let may_be_found = match kind {
        ItemKind::Chunk => found.is_some() && conn.prepare_cached(LIVE_CHUNK)?.exists([key])?,
        ItemKind::Entity | ItemKind::Relation | ItemKind::Node => true,
    };
    Ok(found.filter(|_| may_be_found))
}
