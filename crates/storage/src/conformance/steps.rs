//! Steps of cases; each panics if the store misbehaves.

use graphloom_core::{
    Batch, Revision, Snapshot, Store, StoreCounts, StoreError, TextQuery, VectorKind, VectorQuery,
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

/// The ids near a vector, best first.
pub(super) async fn near(view: &dyn Snapshot, kind: VectorKind, vector: &[f32], limit: usize) -> Vec<String> {
    let query = VectorQuery { kind, vectors: vec![vector.to_vec()], limit, min_score: 0.1, within: None };
    let hits = get(view.search_vectors(&query).await).remove(0);
    hits.into_iter().map(|hit| hit.id).collect()
}

/// The ids that match a text, best first.
pub(super) async fn matching(view: &dyn Snapshot, kind: VectorKind, text: &str) -> Vec<String> {
    let query = TextQuery { kind, text: text.to_owned(), limit: 10, within: None };
    get(view.search_text(&query).await).into_iter().map(|hit| hit.id).collect()
}
