//! Cases of the ledger of calls and of the caches, which keep the revision of the evidence.

use graphloom_core::{
    Batch, CacheEntry, CacheKind, CacheSize, Call, CallOutcome, ContentHash, MAX_CACHE_BYTES,
    MAX_CACHE_ENTRIES, Revision, Role, Store, Timestamp, table,
};

use super::sample;
use super::steps::{commit, get, view};

fn call(model: &str) -> Call {
    Call {
        role: Role::Summarize,
        model: model.to_owned(),
        prompt_tokens: 5,
        cached_prompt_tokens: 4,
        completion_tokens: 6,
        attempts: 2,
        started_at: Timestamp(8),
        duration_ms: 9,
        outcome: CallOutcome::Failed { reason: "limit".to_owned() },
        document: None,
        rejects: 3,
    }
}

/// A conformance case.
pub async fn calls_and_cached_answers_keep_the_revision_of_the_evidence(store: &dyn Store) {
    let put_documents = vec![sample::document("a", "text")];
    commit(store, Batch { put_documents, ..Batch::default() }).await;
    let key = ContentHash::of(b"question");
    let cached = CacheEntry { kind: CacheKind::Keywords, key, value: b"answer".to_vec() };
    commit(store, Batch { put_cached: vec![cached], ..Batch::default() }).await;
    commit(store, Batch { append_calls: vec![call("x")], ..Batch::default() }).await;
    let before = view(store).await;
    assert_eq!((before.revision(), before.evidence_revision()), (Revision(3), Revision(1)));
    let document = sample::document("a", "text").document.id;
    commit(store, Batch { put_jobs: vec![sample::job(&document, 1)], ..Batch::default() }).await;
    assert_eq!(view(store).await.evidence_revision(), Revision(4));
    assert_eq!(before.evidence_revision(), Revision(1));
}

/// A conformance case.
pub async fn the_ledger_keeps_its_order(store: &dyn Store) {
    commit(store, Batch { append_calls: vec![call("z"), call("y")], ..Batch::default() }).await;
    commit(store, Batch { append_calls: vec![call("x")], ..Batch::default() }).await;
    let view = view(store).await;
    assert_eq!(get(view.scan(table::Calls, Some(&1), 9).await), [call("y"), call("x")]);
    assert_eq!(get(view.scan(table::Calls, None, 1).await), [call("z")]);
    assert_eq!(get(view.scan(table::Calls, Some(&9), 1).await), []);
}

/// A conformance case.
pub async fn cached_answers_can_be_replaced_and_are_deleted_by_kind(store: &dyn Store) {
    let (keywords, answer) = (CacheKind::Keywords, CacheKind::Answer);
    let put_cached = vec![remembered(answer, 1, b"old"), remembered(keywords, 1, b"words")];
    commit(store, Batch { put_cached, ..Batch::default() }).await;
    let before = view(store).await;
    let graph_revision = before.graph_revision();
    // A batch clears caches before it puts entries.
    let put_cached = vec![remembered(answer, 1, b"new"), remembered(answer, 1, b"newer")];
    let batch = Batch { put_cached, clear_caches: vec![answer, keywords], ..Batch::default() };
    commit(store, batch).await;
    let after = view(store).await;
    let keys = [(answer, cache_key(1)), (keywords, cache_key(1)), (answer, cache_key(2))];
    assert_eq!(get(before.cached(&keys).await), [Some(b"old".to_vec()), Some(b"words".to_vec()), None]);
    assert_eq!(get(after.cached(&keys).await), [Some(b"newer".to_vec()), None, None]);
    let size = |kind, entries, bytes| CacheSize { kind, entries, bytes };
    assert_eq!(
        get(after.cache_sizes().await),
        [
            size(keywords, 0, 0),
            size(answer, 1, 5),
            size(CacheKind::Vector, 0, 0),
            size(CacheKind::Node, 0, 0),
            size(CacheKind::NextVector, 0, 0)
        ]
    );
    // Caching does not change the graph, so no merge has to be repeated for it.
    assert_eq!(after.graph_revision(), graph_revision);
}

/// A conformance case.
pub async fn the_oldest_cached_answers_are_deleted_first(store: &dyn Store) {
    let kind = CacheKind::Answer;
    let put_cached = (0..MAX_CACHE_ENTRIES).map(|n| remembered(kind, n, b"x")).collect();
    commit(store, Batch { put_cached, ..Batch::default() }).await;
    // Putting the oldest again makes it the newest.
    let put_cached = vec![remembered(kind, 0, b"y"), remembered(kind, MAX_CACHE_ENTRIES, b"z")];
    commit(store, Batch { put_cached, ..Batch::default() }).await;
    let known = |n| (kind, cache_key(n));
    let keys = [known(0), known(1), known(2), known(MAX_CACHE_ENTRIES)];
    let found: Vec<bool> = get(view(store).await.cached(&keys).await).iter().map(Option::is_some).collect();
    assert_eq!(found, [true, false, true, true]);

    // A kind without a limit keeps all entries until it is cleared.
    let put_cached = (0..=MAX_CACHE_ENTRIES).map(|n| remembered(CacheKind::NextVector, n, b"v")).collect();
    commit(store, Batch { put_cached, ..Batch::default() }).await;
    let oldest = (CacheKind::NextVector, cache_key(0));
    assert_eq!(get(view(store).await.cached(&[oldest]).await), [Some(b"v".to_vec())]);

    let half = vec![7; MAX_CACHE_BYTES as usize / 2];
    for n in 1..4 {
        let put_cached = vec![remembered(CacheKind::Vector, n, &half), remembered(kind, n, b"small")];
        commit(store, Batch { put_cached, ..Batch::default() }).await;
    }
    let view = view(store).await;
    let sizes = get(view.cache_sizes().await);
    assert_eq!((sizes[2].entries, sizes[2].bytes), (2, MAX_CACHE_BYTES));
    assert_eq!(get(view.cached(&[(CacheKind::Vector, cache_key(1))]).await), [None]);
    assert_eq!(sizes[1].entries, MAX_CACHE_ENTRIES as u64);
}

fn remembered(kind: CacheKind, number: usize, value: &[u8]) -> CacheEntry {
    CacheEntry { kind, key: cache_key(number), value: value.to_vec() }
}

fn cache_key(number: usize) -> ContentHash {
    ContentHash::of(&number.to_be_bytes())
}
