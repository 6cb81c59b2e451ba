//! Cases of chunk contexts.

use graphloom_core::{Batch, ChunkId, DocumentId, ItemKind, StatusKind, Store, StoreError, table};

use super::sample;
use super::steps::{commit, get, matching, view};

/// A conformance case.
pub async fn chunk_contexts_are_searched_and_removed_with_their_chunks(store: &dyn Store) {
    let first = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    let (id, document) = (first.put_chunks[0].id.clone(), first.put_documents[0].document.id.clone());
    commit(store, first).await;
    assert_eq!(get(view(store).await.chunk_contexts(std::slice::from_ref(&id)).await), [None]);
    let put = |chunk_context| Batch { put_chunk_contexts: vec![chunk_context], ..Batch::default() };
    let of_nothing = sample::chunk_context(&ChunkId::from_stored("none"), "x", Some("text"));
    assert!(matches!(store.commit(put(of_nothing)).await, Err(StoreError::Invalid { .. })));

    let said = sample::chunk_context(&id, "x", Some("From the minutes of the chess club"));
    commit(store, put(said.clone())).await;
    let contextualized = view(store).await;
    assert_eq!(matching(&*contextualized, ItemKind::Chunk, "chess").await, [id.as_str()]);
    let chunk = get(contextualized.chunks(std::slice::from_ref(&id)).await).remove(0).expect("the chunk");
    assert_eq!(chunk.text, "Ada met Bob");
    let keys = [said.key.clone(), sample::chunk_context(&id, "y", None).key];
    let text = said.text().map(str::to_owned);
    assert_eq!(get(contextualized.context_texts(&keys).await), [text, None]);
    assert_eq!(get(contextualized.chunk_context_counts().await), [("model x".to_owned(), 1)].into());

    commit(store, put(sample::chunk_context(&id, "y", None))).await;
    let failed = view(store).await;
    let documents = [document.clone(), DocumentId::from_stored("none")];
    assert_eq!(get(failed.failed_contexts_of(&documents).await), [vec![(0, "timeout".to_owned())], vec![]]);
    assert_eq!(get(failed.chunk_counts_of(&documents).await)[0].without_context, 1);
    assert_eq!(get(failed.status_counts().await), [(StatusKind::Incomplete, 1)].into());
    assert_eq!(get(failed.context_texts(&keys).await), [None, None]);
    assert!(matching(&*failed, ItemKind::Chunk, "chess").await.is_empty());
    assert_eq!(matching(&*contextualized, ItemKind::Chunk, "ada").await, [id.as_str()]);

    commit(store, Batch { remove_chunk_contexts: vec![id.clone()], ..Batch::default() }).await;
    assert_eq!(get(view(store).await.status_counts().await), [(StatusKind::Ready, 1)].into());
    commit(store, put(said)).await;
    commit(store, sample::removal(&[document], &["ADA", "BOB"])).await;
    let after = view(store).await;
    assert_eq!(get(after.scan(table::ChunkContexts, None, 9).await), []);
    assert!(matching(&*after, ItemKind::Chunk, "chess").await.is_empty());
}
