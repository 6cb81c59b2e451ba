//! Steps of cases. Each panics if the store misbehaves.

use graphloom_core::{
    Batch, Hit, ItemKind, Revision, SearchRequest, Snapshot, Store, StoreCounts, StoreError,
};

pub(super) async fn commit(store: &dyn Store, batch: Batch) -> Revision {
    store.commit(batch).await.expect("the batch is accepted")
}

pub(super) async fn refusal(store: &dyn Store, batch: Batch) -> StoreError {
    store.commit(batch).await.expect_err("the batch is refused")
}

pub(super) async fn invalid(store: &dyn Store, batch: Batch) {
    let error = refusal(store, batch).await;
    assert!(matches!(error, StoreError::Invalid { .. }), "{error:?}");
}

pub(super) async fn conflict(store: &dyn Store, batch: Batch) {
    let error = refusal(store, batch).await;
    assert!(error.is_conflict(), "{error:?}");
}

pub(super) async fn view(store: &dyn Store) -> Box<dyn Snapshot> {
    store.snapshot().await.expect("a snapshot")
}

pub(super) fn get<T>(answer: Result<T, StoreError>) -> T {
    answer.expect("the store answers")
}

pub(super) async fn counts(store: &dyn Store) -> StoreCounts {
    get(view(store).await.counts().await)
}

/// Returns the ids near a vector, best first.
pub(super) async fn near(view: &dyn Snapshot, kind: ItemKind, vector: &[f32], limit: usize) -> Vec<String> {
    let request = SearchRequest::by_vector(kind, vector.to_vec(), limit, 0.1);
    ids(found(view, &request).await)
}

/// Returns the ids that match a text, best first.
pub(super) async fn matching(view: &dyn Snapshot, kind: ItemKind, text: &str) -> Vec<String> {
    ids(found(view, &SearchRequest::by_words(kind, text, 10)).await)
}

/// Returns the hits of a search.
pub(super) async fn found(view: &dyn Snapshot, request: &SearchRequest) -> Vec<Hit> {
    get(view.search(std::slice::from_ref(request)).await).remove(0)
}

pub(super) fn ids(hits: Vec<Hit>) -> Vec<String> {
    hits.into_iter().map(|hit| hit.item.id().into_owned()).collect()
}
