//! Pages of documents in a chosen order, and the number of documents by status.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{DocumentId, DocumentOrder, DocumentPage, DocumentsFound, StatusKind};

use super::PostgresSnapshot;
use crate::error::Fault;
use crate::rows::{self, get};

/// SQL for the index of a document's status in [`StatusKind::ALL`], given [`WITH_STATUS`]. It equals what
/// `DocumentStatus::derive` returns: a document without a job waits, and one in the graph is incomplete if a chunk
/// failed, lost records or has no context.
const STATUS: &str = "(CASE coalesce(j.state, 'accepted') \
    WHEN 'failed' THEN 0 WHEN 'cancelled' THEN 2 WHEN 'chunked' THEN 3 WHEN 'accepted' THEN 4 \
    ELSE CASE WHEN i.document IS NULL THEN 5 ELSE 1 END END)";
/// Joins the documents `d` with their jobs and with the incomplete ones.
const WITH_STATUS: &str = " LEFT JOIN jobs j ON j.workspace_id = $1 AND j.document = d.id LEFT JOIN ( \
        SELECT document FROM chunks WHERE workspace_id = $1 \
            AND (extraction LIKE '{\"state\":\"failed\"%' OR extraction LIKE '{\"state\":\"damaged\"%') \
        UNION SELECT c.document FROM situations s JOIN chunks c ON c.workspace_id = $1 AND c.id = s.chunk \
            WHERE s.workspace_id = $1 AND s.failed \
    ) i ON i.document = d.id";

impl PostgresSnapshot {
    pub(super) async fn count_statuses(&self) -> Result<BTreeMap<StatusKind, u64>, Fault> {
        let sql = format!(
            "SELECT {STATUS}, count(*) FROM documents d{WITH_STATUS} WHERE d.workspace_id = $1 GROUP BY 1"
        );
        let found = self.session.rows(&sql, &[]).await?;
        found.iter().map(|row| Ok((status_of(get(row, 0)?), rows::number(row, 1)?))).collect()
    }

    pub(super) async fn find_page(&self, page: &DocumentPage) -> Result<DocumentsFound, Fault> {
        let joined = match page.status.is_some() || page.order == DocumentOrder::Status {
            true => WITH_STATUS,
            false => "",
        };
        let status = match &page.status {
            Some(wanted) => format!(" AND {STATUS} = ANY ('{{{}}}'::int[])", places_of(wanted)),
            None => String::new(),
        };
        let from = format!(
            "FROM documents d{joined} WHERE d.workspace_id = $1 \
            AND ($2::text = '' OR strpos(lower(d.source COLLATE \"default\"), lower($2)) > 0){status}"
        );
        let count = self.session.rows(&format!("SELECT count(*) {from}"), &[&page.name]).await?;
        let total = count.first().map(|row| rows::number(row, 0)).transpose()?.unwrap_or(0);
        let direction = if page.descending { " DESC" } else { "" };
        // There is an index on the first characters of sources.
        let keys: &[&str] = match page.order {
            DocumentOrder::Id => &["d.id"],
            DocumentOrder::Source => &["left(d.source, 256)", "d.source", "d.id"],
            DocumentOrder::Accepted => &["d.added_at", "d.id"],
            DocumentOrder::Size => &["d.text_bytes", "d.id"],
            DocumentOrder::Status => &[STATUS, "d.source", "d.id"],
        };
        let order: Vec<String> = keys.iter().map(|key| format!("{key}{direction}")).collect();
        let sql = format!("SELECT d.id {from} ORDER BY {} LIMIT $3 OFFSET $4", order.join(", "));
        let found =
            self.session.rows(&sql, &[&page.name, &rows::limit(page.limit), &rows::limit(page.skip)]).await?;
        let id = |row| Ok::<_, Fault>(DocumentId::from_stored(get::<String>(row, 0)?));
        Ok(DocumentsFound { ids: found.iter().map(id).collect::<Result<_, _>>()?, total })
    }
}

/// Returns the indexes of statuses in [`StatusKind::ALL`], separated by commas.
fn places_of(wanted: &BTreeSet<StatusKind>) -> String {
    let places = StatusKind::ALL.iter().enumerate().filter(|(_, kind)| wanted.contains(kind));
    places.map(|(place, _)| place.to_string()).collect::<Vec<_>>().join(",")
}

fn status_of(place: i32) -> StatusKind {
    let place = usize::try_from(place).unwrap_or(usize::MAX);
    StatusKind::ALL.get(place).copied().unwrap_or(StatusKind::Waiting)
}
