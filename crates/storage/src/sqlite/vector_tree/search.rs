//! Searches a tree.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use graphloom_core::{FilteredIds, ItemKind};
use graphloom_rules::search::{ScoredId, VectorQuery};
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::super::changes::Mark;
use super::super::{rows, vectors};
use super::TreeLimits;
use super::cache::NodeCache;
use super::node::{Node, Nodes, Row};
use crate::vector;
use crate::vector::question::Question;

/// Number of scores between two checks of the worst hit so far, because ranking costs more than a few unnecessary scores.
const SCORES_A_LOOK: usize = 16;

/// Factor by which more leaves are read if too little was found.
const MORE_LEAVES: usize = 4;

/// The tree of a kind in a snapshot.
pub(crate) struct TreeSearch<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) limits: TreeLimits,
    pub(crate) root: i64,
    /// Nodes that were read before, and the snapshot's position in the change log, which shows whether they are still valid.
    pub(crate) cache: &'a NodeCache,
    pub(crate) now: Mark,
}

/// A row with an estimate or a bound of its score. The greater one is better. Of equal scores, the lower id is better.
#[derive(Debug, Clone, Copy)]
struct ScoredRow {
    score: f32,
    id: i64,
}

impl Ord for ScoredRow {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.id.cmp(&self.id))
    }
}

impl PartialOrd for ScoredRow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ScoredRow {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ScoredRow {}

/// The entries that a restricted query allows.
enum AllowedEntries<'a> {
    Filtered(&'a FilteredIds, ItemKind),
    Listed(Vec<String>),
}

impl AllowedEntries<'_> {
    fn count(&self) -> usize {
        match self {
            Self::Filtered(ids, kind) => ids.count(*kind),
            Self::Listed(ids) => ids.len(),
        }
    }

    fn ids(&self) -> Vec<&str> {
        match self {
            Self::Filtered(ids, kind) => ids.ids(*kind).collect(),
            Self::Listed(ids) => ids.iter().map(String::as_str).collect(),
        }
    }
}

/// The part of the tree that a question reached.
struct Frontier {
    /// Rows of leaves with their upper bounds.
    rows: BinaryHeap<ScoredRow>,
    /// The estimated cosine of the direction of the last node that was read, if others were left out. What is behind
    /// those is hardly nearer.
    edge: f32,
}

impl TreeSearch<'_> {
    /// Returns for each query vector the nearest entries that may be found in the leaves that are read. Their scores
    /// and order are exact. If so few entries are allowed that it costs less, each of them is compared instead.
    ///
    /// If a filter allows one entry in `n`, its nearest entries are among `n` times as many of all entries, so leaves
    /// are read for that many. The allowed entries may still be elsewhere. So if too little was found, more leaves are
    /// read, up to as many allowed rows as there are rows without a filter.
    pub(crate) fn search(&self, query: &VectorQuery, units: &[Vec<f32>]) -> Result<Vec<Vec<ScoredId>>> {
        let Self { conn, limits, .. } = *self;
        let leaves_for = |hits: usize| limits.leaves.max(hits.div_ceil(limits.hits_a_leaf.max(1)));
        let (mut leaves, mut most) = (leaves_for(query.limit), leaves_for(query.limit));
        if let Some(allowed) = self.allowed(query)? {
            let all = super::Tree::read(conn, query.kind)?.vectors as usize;
            let count = allowed.count();
            let one_in = all.div_ceil(count.max(1)).max(1);
            leaves = leaves_for(query.limit.saturating_mul(one_in));
            most = most.saturating_mul(one_in);
            let rows = leaves.saturating_mul(limits.node_rows).min(all);
            if count <= limits.exact_allowed.max(rows / limits.rows_a_look_up.max(1)) {
                return vectors::search_ids(conn, query, units, &allowed.ids());
            }
        }
        let questions: Vec<Question> = units.iter().map(|unit| Question::new(unit)).collect();
        let mut hits = vec![Vec::new(); units.len()];
        let mut short: Vec<usize> = (0..units.len()).collect();
        loop {
            let short_questions: Vec<&Question> = short.iter().map(|&place| &questions[place]).collect();
            let mut still = Vec::new();
            for (place, Frontier { rows, edge }) in
                short.into_iter().zip(self.candidates(&short_questions, leaves)?)
            {
                hits[place] = best_of(conn, query, &units[place], rows)?;
                if hits[place].len() < query.limit && edge > query.min_score {
                    still.push(place);
                }
            }
            if still.is_empty() || leaves >= most {
                return Ok(hits);
            }
            short = still;
            leaves = leaves.saturating_mul(MORE_LEAVES).min(most);
        }
    }

    /// Returns the entries that a restricted query allows. `None` for all entries.
    fn allowed<'q>(&self, query: &'q VectorQuery) -> Result<Option<AllowedEntries<'q>>> {
        match (&query.only.filtered, &query.only.layer) {
            (None, None) => Ok(None),
            (Some(filtered), None) => Ok(Some(AllowedEntries::Filtered(filtered, query.kind))),
            (_, Some(layer)) => {
                // The prefix of a key ends with `-`, and the next character is `.`.
                let mut keys = self.conn.prepare_cached(
                    "SELECT key FROM vectors WHERE kind = ?1 AND key > ?2 || '-' AND key < ?2 || '.'",
                )?;
                let keys =
                    keys.query_map(params![rows::kind_code(query.kind), layer.as_str()], |row| row.get(0))?;
                let mut keys: Vec<String> = keys.collect::<Result<_>>()?;
                keys.retain(|key| query.only.admits(query.kind, key));
                Ok(Some(AllowedEntries::Listed(keys)))
            }
        }
    }

    /// Returns for each question the rows of the leaves nearest to it. A node that several questions reach is scored
    /// for all of them at once, while it is loaded.
    fn candidates(&self, questions: &[&Question], leaves: usize) -> Result<Vec<Frontier>> {
        let mut nodes = Nodes::new(self.conn);
        let mut scores = Vec::new();
        let mut found = vec![Vec::new(); questions.len()];
        let mut edges = vec![f32::NEG_INFINITY; questions.len()];
        let mut front: BTreeMap<i64, Vec<usize>> =
            BTreeMap::from([(self.root, (0..questions.len()).collect())]);
        // One level per round, ending with the leaves.
        while !front.is_empty() {
            let mut next: Vec<Vec<ScoredRow>> = vec![Vec::new(); questions.len()];
            let mut level = 0;
            for (id, askers) in std::mem::take(&mut front) {
                let node = self.cache.get(self.now, id, || {
                    let mut node = Node::default();
                    nodes.read(id, &mut node).map(|()| node)
                })?;
                level = node.level;
                for asker in askers {
                    let question = questions[asker];
                    node.score(question, &mut scores);
                    let rows = node.rows().zip(&scores);
                    if level == 0 {
                        let bound = |(row, score): (Row<'_>, &f32)| ScoredRow {
                            score: question.upper(*score, row.residual),
                            id: row.id,
                        };
                        found[asker].extend(rows.map(bound));
                    } else {
                        next[asker].extend(rows.map(|(row, &score)| ScoredRow { score, id: row.id }));
                    }
                }
            }
            let wide = match level {
                1 => leaves,
                _ => self.limits.search_width.max(leaves / self.limits.node_rows.max(1)),
            };
            for (asker, mut next) in next.into_iter().enumerate() {
                if next.len() > wide.max(1) {
                    let (_, last, _) =
                        next.select_nth_unstable_by(wide.max(1) - 1, |one, other| other.cmp(one));
                    edges[asker] = last.score;
                    next.truncate(wide.max(1));
                }
                next.into_iter().for_each(|row| front.entry(row.id).or_default().push(asker));
            }
        }
        Ok(found.into_iter().zip(edges).map(|(rows, edge)| Frontier { rows: rows.into(), edge }).collect())
    }
}

/// Returns the best candidates by exact score. Stops when no bound reaches the worst hit that still counts.
fn best_of(
    conn: &Connection,
    query: &VectorQuery,
    unit: &[f32],
    mut candidates: BinaryHeap<ScoredRow>,
) -> Result<Vec<ScoredId>> {
    let mut stored = conn.prepare_cached(vectors::STORED)?;
    let mut keys = conn.prepare_cached("SELECT key FROM vector_places WHERE slot = ?1")?;
    let mut is_live = conn.prepare_cached(vectors::LIVE_CHUNK)?;
    let (mut hits, mut values): (Vec<ScoredId>, Vec<f32>) = (Vec::new(), Vec::new());
    let (mut worst, mut unranked) = (query.min_score, 0);
    while let Some(ScoredRow { score: upper, id: slot }) = candidates.pop() {
        if upper < worst {
            break;
        }
        let mut found = stored.query([slot])?;
        let Some(found) = found.next()? else { continue };
        vector::decode_into(vectors::stored_of(found)?, &mut values);
        let score = vector::cosine(unit, &values);
        // Most candidates end here, so everything else is read after this check.
        if score < worst {
            continue;
        }
        let key: Option<String> = keys.query_row([slot], |row| row.get(0)).optional()?;
        let Some(id) = key.filter(|key| vectors::admits(query, key)) else { continue };
        if query.kind == ItemKind::Chunk && !is_live.exists([&id])? {
            continue;
        }
        hits.push(ScoredId { id, score });
        unranked += 1;
        if hits.len() >= query.limit && unranked >= SCORES_A_LOOK.min(query.limit) {
            vector::rank(&mut hits, query.limit);
            worst = hits.last().map_or(worst, |hit| hit.score.max(query.min_score));
            unranked = 0;
        }
    }
    vector::rank(&mut hits, query.limit);
    Ok(hits)
}
