//! The vector projection of kinds of few vectors: the coarse parts of the vectors in memory, scanned to find candidates that the stored
//! vectors then rank exactly.
//!
//! It is built by the first search of a kind and follows the change log after that. Each row knows how far its
//! coarse parts are from the stored vector, so a scan gives bounds, not estimates: a row is left out only when it
//! cannot be among the best. Hits are those of the snapshot, also when the projection is ahead of it.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use graphloom_core::ItemKind;
use graphloom_rules::search::{Only, ScoredId, VectorQuery};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::changes::{self, Mark};
use super::question::{self, Products, Question};
use super::vector_tree::{self, NodeCache, TreeLimits, TreeSearch};
use super::{rows, sums};
use crate::vector::{self, Coarse, ZERO};

/// Changes remembered for snapshots older than the projection; an older one yet is searched without it.
const MAX_REMEMBERED_CHANGES: usize = 16 << 10;

/// Rows that are scored for one question after another before the next ones are read.
const ROWS_AT_HAND: usize = 32;

/// The number of the chunk with this key, if it is of a live document.
pub(super) const LIVE_CHUNK: &str =
    "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE c.key = ?1 AND d.live = 1";

/// The vector of a slot.
pub(super) const STORED: &str =
    "SELECT slot, data, row_sum('vector_data', slot, data) = sum FROM vector_data WHERE slot = ?1";

/// The vector that [`STORED`] found.
pub(super) fn stored_of<'a>(row: &'a Row<'_>) -> Result<&'a [u8]> {
    sums::require(row, 2, "vector_data")?;
    Ok(row.get_ref(1)?.as_blob()?)
}

/// The projections of all kinds, each built when first asked.
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

    /// Answers each query vector with the snapshot's nearest entries.
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
                // It was for fewer vectors, and would take memory for nothing.
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
                let chosen = index.rows_of(&query.only, query.kind);
                let questions: Vec<Question> = units.iter().map(|unit| Question::new(unit)).collect();
                let dots = index.dots(&questions, chosen.as_deref());
                (units.iter().zip(&questions).zip(dots))
                    .map(|((unit, question), dots)| {
                        let candidates =
                            index.candidates(query, question, &dots, &changed, chosen.as_deref());
                        index.search(conn, query, unit, &changed, candidates)
                    })
                    .collect()
            }
            None => search_stored(conn, query, &units),
        }
    }
}

/// The projection of one kind.
#[derive(Default)]
struct Index {
    /// Where in the change log it stands; `None` before it is built.
    mark: Option<Mark>,
    /// Codes a row, padding included.
    stride: usize,
    /// Row by key.
    places: HashMap<Arc<str>, usize>,
    keys: Vec<Arc<str>>,
    slots: Vec<i64>,
    /// `stride` codes a row: the coarse parts of the stored vector.
    codes: Vec<u8>,
    scales: Vec<f32>,
    /// Length of the difference between the stored vector and its coarse parts.
    residuals: Vec<f32>,
    /// The newest changes, oldest first, and the place in the log after which it holds all of them.
    remembered: VecDeque<(i64, Arc<str>)>,
    remembers_after: i64,
}

impl Index {
    fn is_behind(&self, now: Mark) -> bool {
        self.mark.is_none_or(|mark| mark.id < now.id)
    }

    /// The keys that changed between the snapshot at `now` and this projection; `None` where that is forgotten.
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
                // The vectors are of another embedder now.
                Some((_, data)) if !self.fits(&data) => return self.rebuild(conn, kind, now),
                Some((slot, data)) => self.put(&key, slot, &data),
                None => self.remove(&key),
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
            self.put(key, slot, data);
            Ok(())
        })?;
        self.codes.shrink_to_fit();
        Ok(())
    }

    /// Whether a vector has as many codes as the others.
    fn fits(&self, data: &[u8]) -> bool {
        self.keys.is_empty() || stride(&vector::read_coarse(data)) == self.stride
    }

    fn put(&mut self, key: &str, slot: i64, data: &[u8]) {
        let coarse = vector::read_coarse(data);
        self.stride = stride(&coarse);
        let Coarse { codes, scale, residual } = coarse;
        let codes = codes.iter().copied().chain(std::iter::repeat(ZERO)).take(self.stride);
        match self.places.get(key) {
            Some(&row) => {
                let start = row * self.stride;
                self.codes[start..start + self.stride]
                    .iter_mut()
                    .zip(codes)
                    .for_each(|(old, new)| *old = new);
                (self.slots[row], self.scales[row], self.residuals[row]) = (slot, scale, residual);
            }
            None => {
                let key: Arc<str> = Arc::from(key);
                self.places.insert(Arc::clone(&key), self.keys.len());
                self.keys.push(key);
                self.slots.push(slot);
                self.codes.extend(codes);
                self.scales.push(scale);
                self.residuals.push(residual);
            }
        }
    }

    /// Removes a row; the last one takes its place.
    fn remove(&mut self, key: &str) {
        let Some(row) = self.places.remove(key) else { return };
        let last = self.keys.len() - 1;
        self.keys.swap_remove(row);
        self.slots.swap_remove(row);
        self.scales.swap_remove(row);
        self.residuals.swap_remove(row);
        self.codes.copy_within(last * self.stride.., row * self.stride);
        self.codes.truncate(last * self.stride);
        if let Some(moved) = self.keys.get(row) {
            self.places.insert(Arc::clone(moved), row);
        }
    }

    /// The nearest entries: bounds from the coarse parts, then exact scores from the best bound down, until no bound
    /// reaches the worst score that still counts.
    fn search(
        &self,
        conn: &Connection,
        query: &VectorQuery,
        unit: &[f32],
        changed: &BTreeSet<&str>,
        candidates: Vec<(f32, u32)>,
    ) -> Result<Vec<ScoredId>> {
        let (mut hits, mut values) = (Vec::new(), Vec::new());
        let mut score = |key: &str, data: &[u8], hits: &mut Vec<ScoredId>| {
            vector::decode_into(data, &mut values);
            compare(query, unit, key, &values, hits);
        };
        // What changed after the snapshot: the projection is wrong about it, the snapshot is not.
        for key in changed.iter().filter(|key| admits(query, key)) {
            if let Some((_, data)) = find(conn, query.kind, key)? {
                score(key, &data, &mut hits);
            }
        }
        let mut stored = conn.prepare_cached(STORED)?;
        let mut worst = f32::NEG_INFINITY;
        for (checked, &(upper, row)) in candidates.iter().enumerate() {
            if upper < worst {
                break;
            }
            let mut found = stored.query([self.slots[row as usize]])?;
            if let Some(found) = found.next()? {
                score(&self.keys[row as usize], stored_of(found)?, &mut hits);
            }
            // Ranking costs more than a few spare scores.
            if checked % query.limit.clamp(8, 64) == 0 && hits.len() > query.limit {
                vector::rank(&mut hits, query.limit);
                worst = hits.last().map_or(worst, |hit| hit.score);
            }
        }
        vector::rank(&mut hits, query.limit);
        Ok(hits)
    }

    /// The rows of what may be found, ascending; `None` for all.
    fn rows_of(&self, only: &Only, kind: ItemKind) -> Option<Vec<usize>> {
        if let Some(filtered) = &only.filtered {
            let ids = filtered.ids(kind).filter(|id| only.admits(kind, id));
            let mut rows: Vec<usize> = ids.filter_map(|id| self.places.get(id).copied()).collect();
            rows.sort_unstable();
            return Some(rows);
        }
        only.layer.as_ref()?;
        let rows = self.keys.iter().enumerate().filter(|(_, key)| only.admits(kind, key));
        Some(rows.map(|(row, _)| row).collect())
    }

    /// For each question its product with every row, or with the `chosen` ones. The rows are gone through once for all
    /// questions, a few at a time that stay near at hand.
    fn dots(&self, questions: &[Question], chosen: Option<&[usize]>) -> Vec<Vec<f32>> {
        let rows = chosen.map_or(self.keys.len(), <[usize]>::len);
        let mut dots = vec![Vec::with_capacity(rows); questions.len()];
        let mut each = |from: usize, to: usize| {
            let codes = |row: usize| &self.codes[row * self.stride..][..self.stride];
            for (question, dots) in questions.iter().zip(&mut dots) {
                match chosen {
                    None => question.dots((from..to).map(codes), dots),
                    Some(chosen) => question.dots(chosen[from..to].iter().map(|&row| codes(row)), dots),
                }
            }
        };
        (0..rows).step_by(ROWS_AT_HAND).for_each(|from| each(from, rows.min(from + ROWS_AT_HAND)));
        dots
    }

    /// The rows that may be among the best, with their upper bounds, best first. Only `chosen` rows count where there is a
    /// filter.
    ///
    /// - `dots`: the question's product with each of these rows.
    fn candidates(
        &self,
        query: &VectorQuery,
        question: &Question,
        dots: &[f32],
        changed: &BTreeSet<&str>,
        chosen: Option<&[usize]>,
    ) -> Vec<(f32, u32)> {
        let (mut uppers, mut lowers) = (vec![0.0; dots.len()], vec![0.0; dots.len()]);
        let mut bounds = |scales: &[f32], residuals: &[f32]| {
            question.bounds(Products { dots, scales, residuals }, &mut uppers, &mut lowers);
        };
        match chosen {
            None => bounds(&self.scales, &self.residuals),
            Some(chosen) => {
                let of_chosen = |all: &[f32]| chosen.iter().map(|&row| all[row]).collect::<Vec<f32>>();
                bounds(&of_chosen(&self.scales), &of_chosen(&self.residuals));
            }
        }
        for &key in changed {
            let row = self.places.get(key).copied();
            let place = row.and_then(|row| match chosen {
                None => Some(row),
                Some(chosen) => chosen.binary_search(&row).ok(),
            });
            if let Some(place) = place {
                (uppers[place], lowers[place]) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
            }
        }
        let mut threshold = query.min_score;
        if lowers.len() > query.limit {
            let (_, kth, _) = lowers.select_nth_unstable_by(query.limit - 1, |x, y| y.total_cmp(x));
            threshold = threshold.max(*kth);
        }
        let mut candidates: Vec<(f32, u32)> = uppers
            .iter()
            .enumerate()
            .filter(|&(_, upper)| *upper >= threshold && *upper > f32::NEG_INFINITY)
            .map(|(place, upper)| (*upper, chosen.map_or(place, |chosen| chosen[place]) as u32))
            .collect();
        candidates.sort_unstable_by(|x, y| y.0.total_cmp(&x.0));
        candidates
    }
}

/// Codes of a row, padding included.
fn stride(coarse: &Coarse) -> usize {
    coarse.codes.len().next_multiple_of(question::LANES)
}

pub(super) fn admits(query: &VectorQuery, key: &str) -> bool {
    query.only.admits(query.kind, key)
}

/// Adds an entry to the hits where its vector is near enough.
fn compare(query: &VectorQuery, unit: &[f32], key: &str, values: &[f32], hits: &mut Vec<ScoredId>) {
    let score = vector::cosine(unit, values);
    if score >= query.min_score {
        hits.push(ScoredId { id: key.to_owned(), score });
    }
}

/// Ranks every stored vector of the snapshot, without the projection; each is read once for all query vectors.
fn search_stored(conn: &Connection, query: &VectorQuery, units: &[Vec<f32>]) -> Result<Vec<Vec<ScoredId>>> {
    let mut hits: Vec<Vec<ScoredId>> = vec![Vec::new(); units.len()];
    let mut values = Vec::new();
    for_each_stored(conn, query.kind, |key, _, data| {
        if admits(query, key) {
            vector::decode_into(data, &mut values);
            units.iter().zip(&mut hits).for_each(|(unit, hits)| compare(query, unit, key, &values, hits));
        }
        Ok(())
    })?;
    hits.iter_mut().for_each(|hits| vector::rank(hits, query.limit));
    Ok(hits)
}

/// Ranks those of `ids` whose vectors may be found, without the projection; each is read once for all query vectors.
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
        units.iter().zip(&mut hits).for_each(|(unit, hits)| compare(query, unit, ids[place], &values, hits));
    })?;
    hits.iter_mut().try_for_each(|hits| rank_live(conn, query, hits))?;
    Ok(hits)
}

/// The first hits that may be found. Only those are asked about that would be among the first.
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

/// Visits the vectors of these ids by their places, those of staged documents too, in the order in which they are stored: so
/// what lies together is read together.
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

/// Visits every vector of a kind, those of staged documents too, in files of any version.
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

/// The slot and stored form of a vector that may be found.
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
