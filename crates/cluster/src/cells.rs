//! Divides vectors into cells around centers that are chosen by hash; no cell exceeds a size limit.

use std::collections::BTreeMap;

use crate::neighbors::nearest_center;
use crate::tree::TreeSettings;

/// Vectors that are joined into one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The vector that the others are nearest to.
    pub center: u32,
    /// All its vectors, ascending.
    pub items: Vec<u32>,
}

/// Divides all rows into cells of at most `max_children` rows. There are fewer cells than rows, unless there is only one
/// row.
///
/// A row is a center if its priority is below a fixed fraction of all numbers, so the choice does not depend on other rows.
pub(crate) fn cells(rows: &[&[f32]], priorities: &[u64], settings: &TreeSettings) -> Vec<Cell> {
    let all: Vec<u32> = (0..rows.len() as u32).collect();
    let most = settings.max_children.max(2);
    let lowest = |items: &[u32], count: usize| {
        let mut centers = items.to_vec();
        centers.sort_unstable_by_key(|item| (priorities[*item as usize], *item));
        centers.truncate(count);
        centers
    };
    let mut open = match all.len() <= most {
        true => Vec::new(),
        false => {
            let limit = u64::MAX / settings.vectors_per_center.max(2);
            let centers = all.iter().copied().filter(|item| priorities[*item as usize] < limit).collect();
            around_survivors(rows, priorities, &all, centers, settings.min_children)
        }
    };
    if open.is_empty() {
        open.extend(lowest(&all, 1).into_iter().map(|center| Cell { center, items: all.clone() }));
    }
    let mut done = Vec::new();
    // Every part contains its own center and no other, so this ends.
    while let Some(cell) = open.pop() {
        if cell.items.len() <= most {
            done.push(cell);
            continue;
        }
        // The cell's own center is also the center of one part, so the parts stay near it.
        let mut centers = vec![cell.center];
        let others: Vec<u32> = cell.items.iter().copied().filter(|item| *item != cell.center).collect();
        // On average a part is filled to four fifths.
        let parts = (5 * cell.items.len()).div_ceil(4 * most).max(2);
        centers.extend(lowest(&others, parts - 1));
        open.extend(around(rows, priorities, &cell.items, &centers));
    }
    done
}

/// Returns cells around the centers. Cells smaller than `least` are dissolved, and their items join the nearest remaining
/// cell.
fn around_survivors(
    rows: &[&[f32]],
    priorities: &[u64],
    items: &[u32],
    centers: Vec<u32>,
    least: usize,
) -> Vec<Cell> {
    let (mut kept, small): (Vec<Cell>, Vec<Cell>) =
        around(rows, priorities, items, &centers).into_iter().partition(|cell| cell.items.len() >= least);
    let centers: Vec<u32> = kept.iter().map(|cell| cell.center).collect();
    let left: Vec<u32> = small.into_iter().flat_map(|cell| cell.items).collect();
    if centers.is_empty() || left.is_empty() {
        return kept;
    }
    let places: BTreeMap<u32, usize> =
        centers.iter().enumerate().map(|(place, center)| (*center, place)).collect();
    for (item, center) in left.iter().zip(nearest_center(rows, priorities, &left, &centers)) {
        kept[places[&center]].items.push(*item);
    }
    kept.iter_mut().for_each(|cell| cell.items.sort_unstable());
    kept
}

/// Assigns each item to the nearest center, and a center to itself; returns nothing if there are no centers.
fn around(rows: &[&[f32]], priorities: &[u64], items: &[u32], centers: &[u32]) -> Vec<Cell> {
    if centers.is_empty() {
        return Vec::new();
    }
    let mut cells: BTreeMap<u32, Vec<u32>> = centers.iter().map(|center| (*center, Vec::new())).collect();
    for (item, nearest) in items.iter().zip(nearest_center(rows, priorities, items, centers)) {
        let center = if cells.contains_key(item) { *item } else { nearest };
        cells.entry(center).or_default().push(*item);
    }
    cells.into_iter().map(|(center, items)| Cell { center, items }).collect()
}
