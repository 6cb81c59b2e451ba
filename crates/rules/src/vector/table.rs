//! The vectors of one kind in memory: their coarse parts, which are scanned for candidates, and references to the stored
//! vectors, which then give the exact ranking.
//!
//! Each row knows the distance between its coarse parts and the stored vector, so a scan gives bounds, not estimates: a row
//! is skipped only if it cannot be among the best.

use std::collections::{BTreeSet, HashMap};
use std::iter::repeat_n;
use std::sync::Arc;

use graphloom_core::ItemKind;

use super::question::{LANES, Products, Question};
use super::{Coarse, ZERO, cosine, rank, read_coarse};
use crate::search::{Only, ScoredId, VectorQuery};

/// Number of rows that are scored for all questions before the next rows are read.
const BLOCK_ROWS: usize = 32;

/// A row that may be among the best: the upper bound of its score, and its number.
pub type Candidate = (f32, u32);

/// Rows of coarse parts by key. `P` is a reference to the stored vector.
#[derive(Debug)]
pub struct VectorTable<P> {
    /// Codes per row, including padding.
    stride: usize,
    /// Row number of each key.
    rows: HashMap<Arc<str>, usize>,
    keys: Vec<Arc<str>>,
    places: Vec<P>,
    /// `stride` codes per row: the coarse parts of the stored vector.
    codes: Vec<u8>,
    scales: Vec<f32>,
    /// Length of the difference between the stored vector and its coarse parts.
    residuals: Vec<f32>,
}

impl<P> Default for VectorTable<P> {
    fn default() -> Self {
        Self {
            stride: 0,
            rows: HashMap::new(),
            keys: Vec::new(),
            places: Vec::new(),
            codes: Vec::new(),
            scales: Vec::new(),
            residuals: Vec::new(),
        }
    }
}

impl<P> VectorTable<P> {
    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the number of codes in all vectors, including padding.
    pub fn numbers(&self) -> usize {
        self.codes.len()
    }

    /// True if there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// True if a stored vector has as many numbers as the others.
    pub fn fits(&self, stored: &[u8]) -> bool {
        self.is_empty() || stride(&read_coarse(stored)) == self.stride
    }

    /// Adds a stored vector that [fits](Self::fits), or replaces the one with this key.
    pub fn put(&mut self, key: &str, place: P, stored: &[u8]) {
        let coarse = read_coarse(stored);
        self.stride = stride(&coarse);
        let Coarse { codes, scale, residual } = coarse;
        let padding = repeat_n(ZERO, self.stride - codes.len());
        let codes = codes.iter().copied().chain(padding);
        match self.rows.get(key) {
            Some(&row) => {
                let start = row * self.stride;
                self.codes[start..start + self.stride]
                    .iter_mut()
                    .zip(codes)
                    .for_each(|(old, new)| *old = new);
                (self.places[row], self.scales[row], self.residuals[row]) = (place, scale, residual);
            }
            None => {
                let key: Arc<str> = Arc::from(key);
                self.rows.insert(Arc::clone(&key), self.keys.len());
                self.keys.push(key);
                self.places.push(place);
                self.codes.extend(codes);
                self.scales.push(scale);
                self.residuals.push(residual);
            }
        }
    }

    /// Removes the row with this key, if it exists; the last row takes its place.
    pub fn remove(&mut self, key: &str) {
        let Some(row) = self.rows.remove(key) else { return };
        let last = self.keys.len() - 1;
        self.keys.swap_remove(row);
        self.places.swap_remove(row);
        self.scales.swap_remove(row);
        self.residuals.swap_remove(row);
        self.codes.copy_within(last * self.stride.., row * self.stride);
        self.codes.truncate(last * self.stride);
        if let Some(moved) = self.keys.get(row) {
            self.rows.insert(Arc::clone(moved), row);
        }
    }

    /// Releases the memory that is reserved for further rows.
    pub fn shrink_to_fit(&mut self) {
        self.codes.shrink_to_fit();
    }

    /// Returns the rows that may be among the best, best first, for each question of a query. Only rows that the query is
    /// restricted to count, without the `changed` keys.
    ///
    /// - `units`: the question vectors, scaled to unit length.
    pub fn candidates(
        &self,
        query: &VectorQuery,
        units: &[Vec<f32>],
        changed: &BTreeSet<&str>,
    ) -> Vec<Vec<Candidate>> {
        let chosen = self.rows_of(&query.only, query.kind);
        let questions: Vec<Question> = units.iter().map(|unit| Question::new(unit)).collect();
        let dots = self.dots(&questions, chosen.as_deref());
        let each = questions.iter().zip(dots);
        each.map(|(question, dots)| self.bounded(query, question, &dots, changed, chosen.as_deref()))
            .collect()
    }

    /// Returns the nearest entries. It computes exact scores from the best bound down, until no bound reaches the worst
    /// score that still counts.
    ///
    /// - `hits`: hits that are already known, with exact scores, in any order.
    /// - `read`: reads the numbers of a stored vector; false if it no longer exists.
    pub fn best<E>(
        &self,
        query: &VectorQuery,
        unit: &[f32],
        candidates: &[Candidate],
        mut hits: Vec<ScoredId>,
        mut read: impl FnMut(&P, &mut Vec<f32>) -> Result<bool, E>,
    ) -> Result<Vec<ScoredId>, E> {
        let mut values = Vec::new();
        let mut worst = f32::NEG_INFINITY;
        for (checked, &(upper, row)) in candidates.iter().enumerate() {
            if upper < worst {
                break;
            }
            if read(&self.places[row as usize], &mut values)? {
                add_near(query, unit, &self.keys[row as usize], &values, &mut hits);
            }
            // Ranking costs more than computing a few unnecessary scores.
            if checked % query.limit.clamp(8, 64) == 0 && hits.len() > query.limit {
                rank(&mut hits, query.limit);
                worst = hits.last().map_or(worst, |hit| hit.score);
            }
        }
        rank(&mut hits, query.limit);
        Ok(hits)
    }

    /// Returns the rows that may be found, ascending; `None` for all.
    fn rows_of(&self, only: &Only, kind: ItemKind) -> Option<Vec<usize>> {
        if let Some(filtered) = &only.filtered {
            let ids = filtered.ids(kind).filter(|id| only.admits(kind, id));
            let mut rows: Vec<usize> = ids.filter_map(|id| self.rows.get(id).copied()).collect();
            rows.sort_unstable();
            return Some(rows);
        }
        only.layer.as_ref()?;
        let rows = self.keys.iter().enumerate().filter(|(_, key)| only.admits(kind, key));
        Some(rows.map(|(row, _)| row).collect())
    }

    /// Returns the product of each question with every row, or with the `chosen` rows. It passes over the rows once for all
    /// questions, in blocks that are small enough for the CPU cache.
    fn dots(&self, questions: &[Question], chosen: Option<&[usize]>) -> Vec<Vec<f32>> {
        let rows = chosen.map_or(self.keys.len(), <[usize]>::len);
        let mut dots = vec![Vec::with_capacity(rows); questions.len()];
        let mut block: Vec<&[u8]> = Vec::with_capacity(BLOCK_ROWS);
        for from in (0..rows).step_by(BLOCK_ROWS) {
            let part = from..rows.min(from + BLOCK_ROWS);
            let rows = part.map(|place| chosen.map_or(place, |chosen| chosen[place]));
            block.clear();
            block.extend(rows.map(|row| &self.codes[row * self.stride..][..self.stride]));
            for (question, dots) in questions.iter().zip(&mut dots) {
                question.dots(&block, dots);
            }
        }
        dots
    }

    /// Returns the rows that may be among the best for one question.
    ///
    /// - `dots`: the question's product with each `chosen` row.
    fn bounded(
        &self,
        query: &VectorQuery,
        question: &Question,
        dots: &[f32],
        changed: &BTreeSet<&str>,
        chosen: Option<&[usize]>,
    ) -> Vec<Candidate> {
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
            let row = self.rows.get(key).copied();
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
        let mut candidates: Vec<Candidate> = uppers
            .iter()
            .enumerate()
            .filter(|&(_, upper)| *upper >= threshold && *upper > f32::NEG_INFINITY)
            .map(|(place, upper)| (*upper, chosen.map_or(place, |chosen| chosen[place]) as u32))
            .collect();
        candidates.sort_unstable_by(|x, y| y.0.total_cmp(&x.0));
        candidates
    }
}

/// Returns the number of codes in a row, including padding.
fn stride(coarse: &Coarse<'_>) -> usize {
    coarse.codes.len().next_multiple_of(LANES)
}

/// Adds an entry to the hits if its vector is near enough.
pub fn add_near(query: &VectorQuery, unit: &[f32], key: &str, values: &[f32], hits: &mut Vec<ScoredId>) {
    let score = cosine(unit, values);
    if score >= query.min_score {
        hits.push(ScoredId { id: key.to_owned(), score });
    }
}
