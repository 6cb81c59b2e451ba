//! Pages of the in-memory store's tables.

use std::collections::BTreeMap;
use std::ops::Bound;

use graphloom_core::table::{Page, PageOf, Table};
use graphloom_core::{Document, ItemKey, Summary, VectorEntry};

use super::State;

/// Fills the page.
pub(super) fn read(state: &State, page: PageOf<'_>) {
    match page {
        PageOf::Documents(page) => values(page, &state.documents),
        PageOf::DocumentsBySource(page) => {
            let after = page.after.as_ref().map(|(source, id)| (source, id));
            let mut documents: Vec<&Document> = (state.documents.values())
                .filter(|document| after.is_none_or(|after| (&document.source, &document.id) > after))
                .collect();
            documents.sort_by_key(|document| (&document.source, &document.id));
            page.rows = documents.into_iter().take(page.limit).cloned().collect();
        }
        PageOf::DocumentsByDate(page) => {
            let after = page.after.as_ref().map(|(date, id)| (date, id));
            let mut documents: Vec<&Document> = (state.documents.values())
                .filter(|document| after.is_none_or(|after| (&document.added_at, &document.id) < after))
                .collect();
            documents.sort_by_key(|document| std::cmp::Reverse((document.added_at, &document.id)));
            page.rows = documents.into_iter().take(page.limit).cloned().collect();
        }
        PageOf::Jobs(page) => values(page, &state.jobs),
        PageOf::Chunks(page) => values(page, &state.chunks),
        PageOf::Renewals(page) => values(page, &state.renewals),
        PageOf::ChunkContexts(page) => values(page, &state.chunk_contexts),
        PageOf::Extractions(page) => values(page, &state.extractions),
        PageOf::Mentions(page) => values(page, &state.mentions),
        PageOf::Facts(page) => values(page, &state.facts),
        PageOf::Claims(page) => values(page, &state.claims),
        PageOf::Decisions(page) => values(page, &state.decisions),
        PageOf::Entities(page) => values(page, &state.entities),
        PageOf::Relations(page) => values(page, &state.relations),
        PageOf::Summaries(page) => {
            let rows = after(&state.summaries, page.after.as_ref()).take(page.limit);
            let row = |((owner, key), text): (&(_, _), &String)| {
                (Clone::clone(owner), Summary { key: Clone::clone(key), text: text.clone() })
            };
            page.rows = rows.map(row).collect();
        }
        PageOf::Nodes(page) => {
            let (layer, level) = (&page.table.layer, page.table.level);
            let nodes = after(&state.nodes, page.after.as_ref()).map(|(_, node)| node);
            let nodes =
                nodes.filter(|node| node.layer == *layer && level.is_none_or(|level| node.level == level));
            page.rows = nodes.take(page.limit).cloned().collect();
        }
        PageOf::Stale(page) => {
            let keys = after(&state.stale, page.after.as_ref()).take(page.limit);
            page.rows = keys.map(|(key, ())| key.clone()).collect();
        }
        PageOf::Vectors(page) => {
            let kind = page.table.kind;
            let start = match &page.after {
                Some(item) => Bound::Excluded((kind, item.id().into_owned())),
                None => Bound::Included((kind, String::new())),
            };
            let rows = state.vectors.range((start, Bound::Unbounded)).take_while(|((of, _), _)| *of == kind);
            let entry = |((_, id), stored): (&(_, String), &super::StoredVector)| {
                Some(VectorEntry {
                    item: ItemKey::from_id(kind, id)?,
                    inputs_hash: stored.inputs_hash.clone(),
                })
            };
            page.rows = rows.take(page.limit).filter_map(entry).collect();
        }
        PageOf::Calls(page) => {
            let skip = usize::try_from(page.after.unwrap_or(0)).unwrap_or(usize::MAX);
            page.rows = state.calls.iter().skip(skip).take(page.limit).cloned().collect();
        }
        PageOf::Conversations(page) => values(page, &state.conversations),
        PageOf::Exchanges(page) => {
            let of = page.table.conversation.as_ref();
            let rows = after(&state.exchanges, page.after.as_ref()).map(|(_, exchange)| exchange);
            let rows = rows.filter(|exchange| of.is_none_or(|of| exchange.conversation == *of));
            page.rows = rows.take(page.limit).cloned().collect();
        }
    }
}

/// Fills a page with rows that are stored under the key of their table.
fn values<T>(page: &mut Page<T>, rows: &BTreeMap<T::Key, T::Row>)
where
    T: Table,
    T::Key: Ord,
    T::Row: Clone,
{
    page.rows = after(rows, page.after.as_ref()).take(page.limit).map(|(_, row)| row.clone()).collect();
}

fn after<'a, K: Ord, V>(rows: &'a BTreeMap<K, V>, key: Option<&K>) -> impl Iterator<Item = (&'a K, &'a V)> {
    rows.range((key.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded))
}
