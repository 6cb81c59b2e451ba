//! Lists documents in a given order, page by page. The cost of a page depends on what it shows and skips, not on the size of
//! the workspace.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use graphloom_core::{
    Document, DocumentFilter, DocumentId, Snapshot, StatusKind, StoreError, statuses_of, table,
};

use super::status::{DocumentState, states_of};

/// Documents per read.
const PAGE: usize = 500;

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentSort {
    /// By source, then id.
    Source,
    /// Latest first, then by descending id.
    Date,
    /// Documents that need attention first, in the order of [`StatusKind::ALL`]; within a status by source, then id.
    Status,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The documents with their states, in order.
    pub documents: Vec<DocumentState>,
    /// The value of `after` for the next page; `None` on the last page.
    pub next: Option<DocumentId>,
}

/// Why a page cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The document given as `after` no longer exists.
    #[error("no page after {0}: the document no longer exists")]
    Gone(DocumentId),
    /// The store failed.
    #[error("listing documents")]
    Store(#[from] StoreError),
}

impl ListError {
    /// What the user can do about it, if anything.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Gone(_) => Some("start again with the first page".to_owned()),
            Self::Store(error) => error.remedy(),
        }
    }
}

/// Returns at most `limit` documents that `filter` admits, live and staged, in the order of `sort`, starting after the document
/// `after` of an earlier page. Texts and extractions are not read.
pub fn list<'a>(
    snapshot: &'a dyn Snapshot,
    filter: &'a DocumentFilter,
    sort: DocumentSort,
    after: Option<&'a DocumentId>,
    limit: usize,
) -> BoxFuture<'a, Result<Listing, ListError>> {
    Box::pin(async move {
        let after = match after {
            None => None,
            Some(id) => {
                let found = snapshot.documents(std::slice::from_ref(id)).await?.into_iter().flatten().next();
                Some(found.ok_or_else(|| ListError::Gone(id.clone()))?)
            }
        };
        // One more than the page shows whether another page follows.
        let wanted = limit.saturating_add(1);
        let mut found = match sort {
            DocumentSort::Source | DocumentSort::Date => {
                in_order(snapshot, filter, sort, after, wanted).await?
            }
            DocumentSort::Status => by_status(snapshot, filter, after, wanted).await?,
        };
        let more = found.len() > limit;
        found.truncate(limit);
        let ids: Vec<DocumentId> = found.into_iter().map(|document| document.id).collect();
        let next = ids.last().filter(|_| more).cloned();
        let documents = states_of(snapshot, &ids).await?.into_iter().flatten().collect();
        Ok(Listing { documents, next })
    })
}

/// Counts the documents that `filter` admits by status, live and staged.
pub async fn count_by_status(
    snapshot: &dyn Snapshot,
    filter: &DocumentFilter,
) -> Result<BTreeMap<StatusKind, u64>, StoreError> {
    if filter.is_empty() {
        return snapshot.status_counts().await;
    }
    let ids: Vec<DocumentId> =
        filter.select(snapshot).await?.into_iter().map(|document| document.id).collect();
    let mut counts = BTreeMap::new();
    for status in statuses_of(snapshot, &ids).await? {
        *counts.entry(status.kind()).or_default() += 1;
    }
    Ok(counts)
}

async fn by_status(
    snapshot: &dyn Snapshot,
    filter: &DocumentFilter,
    mut after: Option<Document>,
    wanted: usize,
) -> Result<Vec<Document>, StoreError> {
    let start = match &after {
        None => None,
        Some(document) => {
            statuses_of(snapshot, std::slice::from_ref(&document.id)).await?.pop().map(|status| status.kind())
        }
    };
    let mut found = Vec::new();
    for status in StatusKind::ALL.into_iter().skip_while(|status| start.is_some_and(|start| *status != start))
    {
        let matches = filter.status.is_empty() || filter.status.contains(&status);
        let of_first = after.take();
        if matches && found.len() < wanted {
            let of_status = DocumentFilter { status: BTreeSet::from([status]), ..filter.clone() };
            let wanted = wanted - found.len();
            found.extend(in_order(snapshot, &of_status, DocumentSort::Source, of_first, wanted).await?);
        }
    }
    Ok(found)
}

/// Lists by source or date.
async fn in_order(
    snapshot: &dyn Snapshot,
    filter: &DocumentFilter,
    sort: DocumentSort,
    mut after: Option<Document>,
    wanted: usize,
) -> Result<Vec<Document>, StoreError> {
    let by_date = sort == DocumentSort::Date;
    if filter.names_documents() {
        let mut named = filter.select(snapshot).await?;
        let order = |one: &Document, other: &Document| match by_date {
            true => (other.added_at, &other.id).cmp(&(one.added_at, &one.id)),
            false => (&one.source, &one.id).cmp(&(&other.source, &other.id)),
        };
        named.retain(|document| after.as_ref().is_none_or(|after| order(after, document).is_lt()));
        named.sort_by(order);
        named.truncate(wanted);
        return Ok(named);
    }
    let mut found = Vec::new();
    loop {
        let page = match (by_date, &after) {
            (true, after) => {
                let after = after.as_ref().map(|after| (after.added_at, after.id.clone()));
                snapshot.scan(table::DocumentsByDate, after.as_ref(), PAGE).await?
            }
            (false, after) => {
                let after = after.as_ref().map(|after| (after.source.clone(), after.id.clone()));
                snapshot.scan(table::DocumentsBySource, after.as_ref(), PAGE).await?
            }
        };
        let is_last = page.len() < PAGE;
        after = page.last().cloned();
        found.extend(filter.admitted(snapshot, page).await?);
        if is_last || found.len() >= wanted {
            found.truncate(wanted);
            return Ok(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use graphloom_core::{
        Batch, Format, Job, JobState, NewDocument, Store, Timestamp, Visibility, WorkspaceId,
    };
    use graphloom_storage::memory::MemoryStore;

    use super::*;

    /// Creates documents d0, d1, ... whose sources, dates and states are ordered differently.
    async fn library(documents: u64) -> MemoryStore {
        let store = MemoryStore::new(WorkspaceId::default());
        let mut batch = Batch::default();
        for number in 0..documents {
            let source = format!("{}.md", (number * 7) % documents);
            let content_hash = graphloom_core::ContentHash::of(source.as_bytes());
            let id = DocumentId::new(&source, &content_hash);
            let state = match number % 3 {
                0 => JobState::Merged,
                1 => JobState::Failed { reason: "no".to_owned() },
                _ => JobState::Accepted,
            };
            let (document, created_at) = (id.clone(), Timestamp(0));
            batch.put_jobs.push(Job { document, state, lease: None, attempts: 0, created_at });
            let document = Document {
                id,
                source,
                title: String::new(),
                content_hash,
                text_bytes: 0,
                format: Format::Text,
                encoding: "UTF-8".to_owned(),
                lines_match_source: true,
                parts: Vec::new(),
                remarks: Vec::new(),
                meta: BTreeMap::from([("even".to_owned(), number.is_multiple_of(2).to_string())]),
                visibility: Visibility::Live,
                added_at: Timestamp(1000 - number / 2),
            };
            batch.put_documents.push(NewDocument { document, text: String::new() });
        }
        store.commit(batch).await.expect("a valid batch");
        store
    }

    /// Returns all pages of `limit` documents, concatenated.
    async fn pages(
        snapshot: &dyn Snapshot,
        json: &str,
        sort: DocumentSort,
        limit: usize,
    ) -> Vec<DocumentState> {
        let filter: DocumentFilter = serde_json::from_str(json).expect("a filter");
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = list(snapshot, &filter, sort, after.as_ref(), limit).await.expect("a page");
            assert!(page.documents.len() <= limit);
            all.extend(page.documents);
            match page.next {
                Some(next) => after = Some(next),
                None => return all,
            }
        }
    }

    #[tokio::test]
    async fn pages_of_any_size_join_to_the_whole_list_in_order() {
        let store = library(20).await;
        let snapshot = store.snapshot().await.expect("a snapshot");
        let named = r#"{"sources":["3.md","11.md","4.md","gone.md"]}"#;
        for json in ["{}", r#"{"meta":["even=true"]}"#, r#"{"status":["failed","waiting"]}"#, named] {
            for sort in [DocumentSort::Source, DocumentSort::Date, DocumentSort::Status] {
                let whole = pages(snapshot.as_ref(), json, sort, 100).await;
                let filter: DocumentFilter = serde_json::from_str(json).expect("a filter");
                assert_eq!(whole.len(), filter.select(snapshot.as_ref()).await.expect("documents").len());
                let rank = |state: &DocumentState| {
                    let DocumentState { document, status, .. } = state;
                    let status = match sort {
                        DocumentSort::Status => Some(status.kind()),
                        DocumentSort::Source | DocumentSort::Date => None,
                    };
                    let date = (sort == DocumentSort::Date)
                        .then(|| std::cmp::Reverse((document.added_at, document.id.clone())));
                    (status, date, document.source.clone())
                };
                assert!(whole.iter().map(rank).is_sorted(), "{json} {sort:?}");
                for limit in [1, 2, 7] {
                    assert_eq!(
                        pages(snapshot.as_ref(), json, sort, limit).await,
                        whole,
                        "{json} {sort:?} {limit}"
                    );
                }
            }
        }
    }

    #[tokio::test]
    async fn counts_by_status_add_up_to_what_is_listed() {
        let store = library(20).await;
        let snapshot = store.snapshot().await.expect("a snapshot");
        let counted = async |json: &str| {
            let filter = serde_json::from_str(json).expect("a filter");
            count_by_status(snapshot.as_ref(), &filter).await.expect("counts")
        };
        let all = counted("{}").await;
        assert_eq!(
            all,
            BTreeMap::from([(StatusKind::Failed, 7), (StatusKind::Waiting, 6), (StatusKind::Ready, 7)])
        );
        assert_eq!(counted(r#"{"meta":["even"]}"#).await, all);
        assert_eq!(counted(r#"{"status":["failed"]}"#).await, BTreeMap::from([(StatusKind::Failed, 7)]));
    }

    #[tokio::test]
    async fn a_page_after_a_removed_document_is_refused() {
        let store = library(3).await;
        let snapshot = store.snapshot().await.expect("a snapshot");
        let gone = DocumentId::from_stored("doc-gone");
        let page =
            list(snapshot.as_ref(), &DocumentFilter::default(), DocumentSort::Date, Some(&gone), 2).await;
        assert!(page.is_err_and(|error| error.remedy().is_some()));
    }
}
