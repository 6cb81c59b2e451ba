//! Searches of a tree.

use graphloom_core::{VectorHit, VectorKind, VectorQuery};
use rusqlite::{Connection, OptionalExtension, Result};

use super::super::question::Question;
use super::super::vectors;
use super::TreeLimits;
use super::node::{Node, Nodes};
use crate::vector;

/// Between two looks at the worst hit so far: ranking costs more than a few spare scores.
const SCORES_A_LOOK: usize = 16;

/// For each query vector the nearest entries that may be found, as far as the leaves that are read hold them: their scores
/// and order are exact. Where few entries are allowed each is compared.
pub(crate) fn search(
    conn: &Connection,
    limits: TreeLimits,
    root: i64,
    query: &VectorQuery,
    units: &[Vec<f32>],
) -> Result<Vec<Vec<VectorHit>>> {
    if query.limit == 0 {
        return Ok(vec![Vec::new(); units.len()]);
    }
    let allowed = query.within.as_deref();
    if let Some(allowed) = allowed.filter(|allowed| allowed.count(query.kind) <= limits.exact_allowed) {
        return vectors::search_ids(conn, query, units, allowed.ids(query.kind));
    }
    let mut leaves = limits.leaves.max(query.limit.div_ceil(limits.hits_a_leaf.max(1)));
    if let Some(allowed) = allowed {
        // Of what a leaf holds only a share counts, so it takes as many more of them.
        let all = super::Tree::read(conn, query.kind)?.vectors as usize;
        leaves = leaves.saturating_mul(all.div_ceil(allowed.count(query.kind).max(1)).max(1));
    }
    let nearest = |unit: &Vec<f32>| {
        let candidates = candidates(conn, limits, root, &Question::new(unit), leaves)?;
        best_of(conn, query, unit, candidates)
    };
    units.iter().map(nearest).collect()
}

/// The rows of the leaves nearest to the question with their upper bounds, best first.
fn candidates(
    conn: &Connection,
    limits: TreeLimits,
    root: i64,
    question: &Question,
    leaves: usize,
) -> Result<Vec<(f32, i64)>> {
    let mut nodes = Nodes::new(conn);
    let (mut node, mut scores) = (Node::default(), Vec::new());
    let mut front = vec![root];
    let mut candidates = Vec::new();
    // A level a round; the leaves are the last.
    while !front.is_empty() {
        let mut next: Vec<(f32, i64)> = Vec::new();
        let mut level = 0;
        for id in front.drain(..) {
            nodes.read(id, &mut node)?;
            node.score(question, &mut scores);
            level = node.level;
            let rows = node.rows().zip(&scores);
            if level == 0 {
                candidates.extend(rows.map(|(row, &score)| (question.upper(score, row.residual), row.id)));
            } else {
                next.extend(rows.map(|(row, &score)| (score, row.id)));
            }
        }
        let wide =
            if level == 1 { leaves } else { limits.search_width.max(leaves / limits.node_rows.max(1)) };
        best_first(&mut next);
        next.truncate(wide.max(1));
        front.extend(next.into_iter().map(|(_, id)| id));
    }
    best_first(&mut candidates);
    Ok(candidates)
}

fn best_first(scored: &mut [(f32, i64)]) {
    scored.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
}

/// The best of the candidates by exact score, until no bound reaches the worst that still counts.
fn best_of(
    conn: &Connection,
    query: &VectorQuery,
    unit: &[f32],
    candidates: Vec<(f32, i64)>,
) -> Result<Vec<VectorHit>> {
    let mut keys = conn.prepare_cached("SELECT key FROM vector_places WHERE slot = ?1")?;
    let mut stored = conn.prepare_cached("SELECT data FROM vector_data WHERE slot = ?1")?;
    let mut is_live = conn.prepare_cached(vectors::LIVE_CHUNK)?;
    let (mut hits, mut values): (Vec<VectorHit>, Vec<f32>) = (Vec::new(), Vec::new());
    let (mut worst, mut unranked) = (query.min_score, 0);
    for (upper, slot) in candidates {
        if upper < worst {
            break;
        }
        let key: Option<String> = keys.query_row([slot], |row| row.get(0)).optional()?;
        let Some(id) = key.filter(|key| vectors::admits(query, key)) else { continue };
        let mut found = stored.query([slot])?;
        let Some(found) = found.next()? else { continue };
        vector::decode_into(found.get_ref(0)?.as_blob()?, &mut values);
        let score = vector::cosine(unit, &values);
        if score < worst || (query.kind == VectorKind::Chunk && !is_live.exists([&id])?) {
            continue;
        }
        hits.push(VectorHit { id, score });
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
