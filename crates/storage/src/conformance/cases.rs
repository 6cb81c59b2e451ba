//! One case per documented behaviour. Every case gets a new empty store.
//!
//! Cases panic if a store misbehaves.

use std::collections::BTreeMap;

use graphloom_core::{
    Batch, ChunkExtraction, ChunkId, GraphKey, ItemKey, ItemKind, Job, JobState, Lease, NewDocument,
    QueueState, Require, Revision, SearchRequest, Span, Store, StoreCounts, Timestamp, table,
};

pub use super::caches::{
    cached_answers_can_be_replaced_and_are_deleted_by_kind,
    calls_and_cached_answers_keep_the_revision_of_the_evidence, the_ledger_keeps_its_order,
    the_oldest_cached_answers_are_deleted_first,
};
pub use super::chunk_contexts::chunk_contexts_are_searched_and_removed_with_their_chunks;
pub use super::conversations::{
    an_answer_is_removed_with_any_document_it_rests_on_and_so_are_later_ones,
    conversations_can_be_stored_renamed_and_removed_with_their_exchanges,
};
pub use super::filters::{
    chunks_are_listed_and_counted_without_their_text, documents_are_listed_by_source_and_by_date,
    extractions_without_records_are_counted_while_they_exist,
    pages_of_documents_are_listed_in_every_order_by_status_and_name,
    rejects_are_counted_while_their_extraction_exists, searches_within_documents_ignore_all_others,
    selecting_by_filter_equals_asking_every_document,
};
pub use super::graph::{
    claims_are_found_by_both_entities_and_removed_with_their_chunk,
    decisions_keep_their_order_and_change_the_graph,
    entities_and_relations_are_stored_and_removed_with_vectors_and_summaries,
    mentions_and_facts_are_found_from_either_side, mentions_need_their_chunk,
    set_aside_records_are_stored_and_not_counted,
    stale_marks_can_be_set_and_cleared_and_are_removed_with_their_items, summaries_are_replaced_as_a_whole,
};
pub use super::layers::{
    a_node_is_removed_with_any_of_its_members,
    a_search_in_one_layer_finds_its_nodes_even_if_many_of_others_match_better,
    layers_and_nodes_are_removed_with_what_is_built_on_them,
    nodes_need_their_layer_their_members_and_their_own_key,
    nodes_of_layers_are_found_by_key_member_level_vector_and_keywords,
    only_current_layers_are_part_of_the_canonical_state,
};
pub use super::originals::originals_can_be_stored_and_replaced_and_are_removed_with_their_documents;
use super::sample;
pub use super::searches::{
    all_vectors_can_be_replaced_by_those_of_another_space, an_old_snapshot_searches_its_own_vectors,
    changed_descriptions_are_found_by_their_new_words,
    concurrent_searches_return_the_same_as_sequential_ones,
    equal_vectors_beyond_the_limit_keep_the_smallest_ids, faint_words_count_for_a_quarter,
    keyword_scores_depend_only_on_existing_texts, query_syntax_in_a_question_is_ordinary_text,
    text_is_found_by_stem_in_any_script, the_best_keyword_hits_are_the_first_of_all_hits,
    the_embedding_space_is_set_once, vectors_are_found_by_cosine_with_ties_by_id, vectors_must_fit_the_space,
    words_match_in_any_spelling,
};
use super::steps::{commit, conflict, counts, get, invalid, matching, near, view};

fn documents(put_documents: Vec<NewDocument>) -> Batch {
    Batch { put_documents, ..Batch::default() }
}

/// A conformance case.
pub async fn a_new_store_is_empty(store: &dyn Store) {
    let view = view(store).await;
    assert_eq!([view.revision(), view.graph_revision(), view.evidence_revision()], [Revision(0); 3]);
    assert_eq!(get(view.counts().await), StoreCounts::default());
    assert_eq!(get(view.embedding().await), None);
    assert_eq!(get(view.scan(table::Documents, None, 10).await), []);
    let request = SearchRequest::by_vector(ItemKind::Chunk, vec![1.0], 3, 0.0);
    assert_eq!(get(view.search(&[request.clone(), request]).await), [vec![], vec![]]);
    assert!(matching(&*view, ItemKind::Chunk, "anything").await.is_empty());
}

/// A conformance case.
pub async fn an_empty_batch_keeps_the_revision(store: &dyn Store) {
    assert_eq!(commit(store, Batch::default()).await, Revision(0));
    assert_eq!(commit(store, documents(vec![sample::document("a", "text")])).await, Revision(1));
    assert_eq!(commit(store, Batch::default()).await, Revision(1));
    assert_eq!(view(store).await.graph_revision(), Revision(0));
    commit(store, Batch { put_entities: vec![sample::entity("ADA", "x")], ..Batch::default() }).await;
    assert_eq!(view(store).await.graph_revision(), Revision(2));
}

/// A conformance case.
pub async fn documents_are_found_by_id_source_and_content(store: &dyn Store) {
    let [a, b] = ["a", "b"].map(|source| sample::document(source, "same text"));
    let new = sample::staged(sample::document("a", "new text"));
    commit(store, documents(vec![a.clone(), b.clone(), new.clone()])).await;
    let view = view(store).await;
    let ids = [b.document.id.clone(), graphloom_core::DocumentId::from_stored("none"), a.document.id.clone()];
    assert_eq!(get(view.documents(&ids).await), [Some(b.document.clone()), None, Some(a.document.clone())]);
    let mut versions = vec![a.document.clone(), new.document];
    versions.sort_by(|x, y| x.id.cmp(&y.id));
    assert_eq!(get(view.documents_of_sources(&["a".to_owned(), "z".to_owned()]).await), [versions, vec![]]);
    let mut same = vec![a.document.clone(), b.document];
    same.sort_by(|x, y| x.id.cmp(&y.id));
    assert_eq!(get(view.documents_of_contents(&[a.document.content_hash]).await), [same]);
}

/// A conformance case.
pub async fn long_texts_are_returned_whole_and_chunks_slice_them(store: &dyn Store) {
    let text = "äöü 東京 plain ".repeat(12_000);
    let new = sample::document("long", &text);
    let border = (0..).map(|n| (1 << 16) - n).find(|&at| text.is_char_boundary(at)).expect("a border");
    let spans = [Span::new(0, 8), Span::new(border, border + 21), Span::new(1 << 17, text.len())];
    let spans = spans.map(|span| {
        let up = |at: u64| (at as usize..).find(|&at| text.is_char_boundary(at)).expect("a border");
        Span::new(up(span.start), up(span.end))
    });
    let chunks: Vec<_> = (0..).zip(spans).map(|(n, span)| sample::chunk(&new, n, span)).collect();
    let ids: Vec<_> = chunks.iter().map(|chunk| chunk.id.clone()).collect();
    let id = new.document.id.clone();
    commit(store, Batch { put_documents: vec![new], put_chunks: chunks.clone(), ..Batch::default() }).await;
    let view = view(store).await;
    assert_eq!(get(view.texts(std::slice::from_ref(&id)).await), [Some(text)]);
    assert_eq!(get(view.chunks(&ids).await), chunks.iter().cloned().map(Some).collect::<Vec<_>>());
    assert_eq!(get(view.chunks_of(&[id]).await), [chunks]);
}

/// A conformance case.
pub async fn a_document_with_chunks_keeps_its_text(store: &dyn Store) {
    let mut new = sample::document("a", "one text");
    commit(store, documents(vec![new.clone()])).await;
    new.text = "two text".to_owned();
    commit(store, documents(vec![new.clone()])).await;
    commit(store, Batch { put_chunks: vec![sample::whole(&new)], ..Batch::default() }).await;
    new.document.title = "another title".to_owned();
    commit(store, documents(vec![new.clone()])).await;
    assert_eq!(
        get(view(store).await.documents(&[new.document.id.clone()]).await),
        [Some(new.document.clone())]
    );
    new.text = "six text".to_owned();
    invalid(store, documents(vec![new])).await;
}

/// A conformance case.
pub async fn a_text_of_another_length_is_refused(store: &dyn Store) {
    let mut new = sample::document("a", "text");
    new.document.text_bytes = 5;
    invalid(store, documents(vec![new])).await;
}

/// A conformance case.
pub async fn chunks_must_equal_their_slice(store: &dyn Store) {
    let new = sample::document("a", "zwölf");
    commit(store, documents(vec![new.clone()])).await;
    let good = sample::chunk(&new, 0, Span::new(0, 4));
    let put = |chunk| Batch { put_chunks: vec![chunk], ..Batch::default() };
    for (span, text) in [
        (Span::new(0, 4), "zwo"),
        (Span::new(0, 3), "zw\u{FFFD}"),
        (Span::new(0, 9), "zwölf"),
        (Span::new(3, 3), ""),
        (Span::new(7, 7), ""),
        (Span { start: 4, end: 2 }, ""),
        (Span { start: 0, end: u64::MAX }, "zwölf"),
    ] {
        let mut chunk = good.clone();
        (chunk.span, chunk.text) = (span, text.to_owned());
        invalid(store, put(chunk)).await;
    }
    let mut stray = good.clone();
    stray.document = graphloom_core::DocumentId::from_stored("none");
    invalid(store, put(stray)).await;
    commit(store, put(good)).await;
    commit(store, put(sample::chunk(&new, 1, Span::new(6, 6)))).await;
}

/// A conformance case.
pub async fn chunks_are_returned_in_order_with_their_extraction(store: &dyn Store) {
    let new = sample::document("a", "abcdef");
    let mut chunks: Vec<_> =
        (0..4).map(|n| sample::chunk(&new, n, Span::new(n as usize, n as usize + 2))).collect();
    let id = new.document.id.clone();
    let mut put = chunks.clone();
    put.reverse();
    commit(store, Batch { put_documents: vec![new], put_chunks: put, ..Batch::default() }).await;
    let extraction = sample::extraction("e", "said");
    chunks[1].extraction = ChunkExtraction::Done { key: extraction.key.clone() };
    chunks[2].extraction = ChunkExtraction::Failed { reason: "timeout".to_owned(), attempts: 2 };
    let set = chunks[1..3].iter().map(|chunk| (chunk.id.clone(), chunk.extraction.clone())).collect();
    let batch = Batch { put_extractions: vec![extraction.clone()], set_extractions: set, ..Batch::default() };
    commit(store, batch).await;
    let view = view(store).await;
    assert_eq!(get(view.chunks_of(&[id]).await), [chunks]);
    assert_eq!(get(view.extractions(std::slice::from_ref(&extraction.key)).await), [Some(extraction)]);
}

/// A conformance case.
pub async fn a_chunk_cannot_name_a_missing_extraction(store: &dyn Store) {
    let new = sample::document("a", "text");
    let mut chunk = sample::whole(&new);
    let done = ChunkExtraction::Done { key: sample::extraction("e", "").key };
    commit(store, Batch { put_documents: vec![new], put_chunks: vec![chunk.clone()], ..Batch::default() })
        .await;
    let set = |id| Batch { set_extractions: vec![(id, done.clone())], ..Batch::default() };
    invalid(store, set(chunk.id.clone())).await;
    invalid(store, set(graphloom_core::ChunkId::from_stored("none"))).await;
    chunk.extraction = done.clone();
    invalid(store, Batch { put_chunks: vec![chunk], ..Batch::default() }).await;
}

/// A conformance case.
pub async fn jobs_are_claimed_oldest_first_while_no_lease_holds(store: &dyn Store) {
    let new: Vec<_> = (0..7).map(|n| sample::document(&format!("s{n}"), "text")).collect();
    let mut jobs: Vec<_> = new.iter().map(|new| sample::job(&new.document.id, 10)).collect();
    jobs[0].created_at = Timestamp(20);
    jobs[1].state = JobState::Chunked;
    jobs[1].lease = Some(Lease { owner: "w".to_owned(), expires_at: Timestamp(100) });
    jobs[2].state = JobState::Merged;
    jobs[3].state = JobState::Failed { reason: "unreadable".to_owned() };
    jobs[5].created_at = Timestamp(5);
    jobs[6].state = JobState::Cancelled;
    commit(store, Batch { put_documents: new, put_jobs: jobs.clone(), ..Batch::default() }).await;
    let view = view(store).await;
    let before = [5, 4, 0].map(|n: usize| jobs[n].clone());
    assert_eq!(get(view.claimable_jobs(Timestamp(100), 10).await), before);
    assert_eq!(get(view.claimable_jobs(Timestamp(100), 1).await), before[..1]);
    let after = get(view.claimable_jobs(Timestamp(101), 10).await);
    assert_eq!((after.len(), after.contains(&jobs[1])), (4, true));
    assert_eq!(get(view.leased_jobs().await), jobs[1..2]);
    let stray = sample::job(&graphloom_core::DocumentId::from_stored("none"), 1);
    invalid(store, Batch { put_jobs: vec![stray], ..Batch::default() }).await;
}

/// A conformance case.
pub async fn a_claim_is_refused_when_the_job_changed(store: &dyn Store) {
    let new = sample::document("a", "text");
    let free = sample::job(&new.document.id, 1);
    commit(store, Batch { put_documents: vec![new], put_jobs: vec![free.clone()], ..Batch::default() }).await;
    let lease = Some(Lease { owner: "one".to_owned(), expires_at: Timestamp(9) });
    let claimed = Job { lease, attempts: 1, ..free.clone() };
    let put = |require: &Job, job: &Job| Batch {
        require: vec![Require::JobIs(require.clone())],
        put_jobs: vec![job.clone()],
        ..Batch::default()
    };
    commit(store, put(&free, &claimed)).await;
    conflict(store, put(&free, &claimed)).await;
    conflict(store, Batch { require: vec![Require::JobIs(free.clone())], ..Batch::default() }).await;
    // The lease is free again, but the work is done.
    let done = Job { state: JobState::Merged, lease: None, ..claimed.clone() };
    commit(store, put(&claimed, &done)).await;
    conflict(store, put(&free, &claimed)).await;
    // The same lease in a later claim is a different claim.
    let claimed_again = Job { attempts: 2, ..claimed.clone() };
    commit(store, put(&done, &claimed_again)).await;
    conflict(store, put(&claimed, &done)).await;
    commit(store, put(&claimed_again, &done)).await;
    let unknown = Job { document: graphloom_core::DocumentId::from_stored("none"), ..free };
    conflict(store, Batch { require: vec![Require::JobIs(unknown)], ..Batch::default() }).await;
}

/// A conformance case.
pub async fn a_batch_is_refused_when_the_outcome_of_an_extraction_changed(store: &dyn Store) {
    let new = sample::document("a", "text");
    let chunk = sample::whole(&new);
    let pending = chunk.extraction.clone();
    let failed = ChunkExtraction::Failed { reason: "refused".to_owned(), attempts: 1 };
    commit(store, Batch { put_documents: vec![new], put_chunks: vec![chunk.clone()], ..Batch::default() })
        .await;
    let set = |require: &ChunkExtraction, extraction: &ChunkExtraction| Batch {
        require: vec![Require::ExtractionIs { chunk: chunk.id.clone(), extraction: require.clone() }],
        set_extractions: vec![(chunk.id.clone(), extraction.clone())],
        ..Batch::default()
    };
    commit(store, set(&pending, &failed)).await;
    conflict(store, set(&pending, &failed)).await;
    let again = ChunkExtraction::Failed { reason: "refused".to_owned(), attempts: 2 };
    conflict(store, set(&again, &pending)).await;
    commit(store, set(&failed, &pending)).await;
    let unknown = Require::ExtractionIs { chunk: ChunkId::from_stored("none"), extraction: pending };
    conflict(store, Batch { require: vec![unknown], ..Batch::default() }).await;
}

/// A conformance case.
pub async fn a_batch_is_refused_when_the_graph_changed(store: &dyn Store) {
    let put = |require: u64, name: &str| Batch {
        require: vec![Require::GraphUnchangedSince(Revision(require))],
        put_entities: vec![sample::entity(name, "x")],
        ..Batch::default()
    };
    commit(store, put(0, "A")).await;
    conflict(store, put(0, "B")).await;
    commit(store, documents(vec![sample::document("a", "text")])).await;
    commit(store, put(1, "B")).await;
}

/// A conformance case.
pub async fn a_batch_is_refused_when_the_documents_of_a_source_changed(store: &dyn Store) {
    let [old, new] = ["old", "new"].map(|text| sample::document("a", text));
    let staged = sample::staged(new.clone());
    let put = |known: Vec<&NewDocument>, new: &NewDocument| Batch {
        require: vec![Require::SourceIs {
            source: "a".to_owned(),
            documents: known.into_iter().map(|new| new.document.clone()).collect(),
        }],
        put_documents: vec![new.clone()],
        ..Batch::default()
    };
    commit(store, put(vec![], &old)).await;
    conflict(store, put(vec![], &staged)).await;
    commit(store, put(vec![&old], &staged)).await;
    conflict(store, put(vec![&old], &staged)).await;
    // A version that went live no longer matches the staged version that was seen.
    let live = Batch { activate_documents: vec![new.document.id.clone()], ..Batch::default() };
    commit(store, live).await;
    conflict(store, put(vec![&staged, &old], &old)).await;
    commit(store, put(vec![&new, &old], &old)).await;
    let mut with_meta = old.clone();
    with_meta.document.meta.insert("year".to_owned(), "1990".to_owned());
    commit(store, put(vec![&old, &new], &with_meta)).await;
    conflict(store, put(vec![&old, &new], &old)).await;
    // Nor does a source match after one of its versions was removed.
    let gone = Batch { remove_documents: vec![old.document.id.clone()], ..Batch::default() };
    commit(store, gone).await;
    conflict(store, put(vec![&with_meta, &new], &with_meta)).await;
    commit(store, put(vec![&new], &new)).await;
}

/// A conformance case.
pub async fn a_refused_batch_changes_nothing(store: &dyn Store) {
    let mut batch = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    batch.append_calls.clear();
    batch.put_vectors.push(sample::vector(ItemKind::Entity, "LAST", &[1.0]));
    invalid(store, batch.clone()).await;
    assert_eq!(counts(store).await, StoreCounts::default());
    assert_eq!(view(store).await.revision(), Revision(0));
    assert_eq!(get(view(store).await.embedding().await), None);
    batch.put_vectors.pop();
    assert_eq!(commit(store, batch).await, Revision(1));
}

/// A conformance case.
pub async fn removing_a_document_removes_everything_that_depends_on_it(store: &dyn Store) {
    let first = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    commit(store, first.clone()).await;
    let one = counts(store).await;
    let second = sample::indexed("b", "Cleo met Dan", "CLEO", "DAN");
    let id = second.put_documents[0].document.id.clone();
    let chunk = second.put_chunks[0].id.clone();
    commit(store, second.clone()).await;
    let remove = Batch {
        remove_documents: vec![id.clone(), graphloom_core::DocumentId::from_stored("none")],
        remove_entities: ["CLEO", "DAN"].map(sample::key).to_vec(),
        remove_relations: vec![sample::pair("CLEO", "DAN")],
        ..Batch::default()
    };
    commit(store, remove).await;
    assert_eq!(counts(store).await, one);
    let view = view(store).await;
    assert_eq!(get(view.texts(std::slice::from_ref(&id)).await), [None]);
    assert_eq!(get(view.jobs(&[id]).await), [None]);
    assert_eq!(get(view.chunks(&[chunk]).await), [None]);
    assert!(matching(&*view, ItemKind::Chunk, "cleo").await.is_empty());
    assert_eq!(near(&*view, ItemKind::Entity, &[0.0, 1.0, 0.0], 9).await, ["ADA", "BOB"]);
}

/// A conformance case.
pub async fn a_batch_must_remove_or_mark_views_that_lose_their_last_evidence(store: &dyn Store) {
    let [a, b] = [("a", "Ada met Bob", "BOB"), ("b", "Ada met Dan", "DAN")]
        .map(|(source, text, other)| sample::indexed(source, text, "ADA", other));
    let (id, chunk) = (a.put_documents[0].document.id.clone(), a.put_chunks[0].id.clone());
    commit(store, a).await;
    commit(store, b).await;
    let before = counts(store).await;
    let remove = Batch { remove_documents: vec![id], ..Batch::default() };
    let clear = Batch { clear_graph_of: vec![chunk], ..Batch::default() };
    let (bob, relation) = (sample::key("BOB"), sample::pair("ADA", "BOB"));
    for taken in [clear, remove.clone()] {
        invalid(store, taken.clone()).await;
        invalid(store, Batch { remove_entities: vec![bob.clone()], ..taken.clone() }).await;
        invalid(store, Batch { remove_relations: vec![relation.clone()], ..taken }).await;
    }
    assert_eq!(counts(store).await, before);
    // Ada is also mentioned elsewhere. Marked entities and relations are derived again later.
    let set_stale = vec![(GraphKey::Entity(bob), true), (GraphKey::Relation(relation), true)];
    commit(store, Batch { set_stale, ..remove }).await;
}

/// A conformance case.
pub async fn an_extraction_exists_as_long_as_a_chunk_names_it(store: &dyn Store) {
    let [mut a, mut b] = ["a", "b"].map(|source| sample::indexed(source, "same text", "ADA", "BOB"));
    let key = a.put_extractions[0].key.clone();
    let [a_id, b_id] = [&mut a, &mut b].map(|batch| batch.put_documents[0].document.id.clone());
    commit(store, a).await;
    commit(store, b).await;
    commit(store, Batch { remove_documents: vec![a_id], ..Batch::default() }).await;
    assert!(get(view(store).await.extractions(std::slice::from_ref(&key)).await)[0].is_some());
    commit(store, sample::removal(&[b_id], &["ADA", "BOB"])).await;
    assert_eq!(get(view(store).await.extractions(&[key]).await), [None]);
}

/// A conformance case.
pub async fn an_extraction_replaced_by_a_complete_one_is_removed(store: &dyn Store) {
    let new = sample::document("a", "text");
    let id = sample::whole(&new).id;
    let chunk = sample::whole(&new);
    commit(store, Batch { put_documents: vec![new], put_chunks: vec![chunk], ..Batch::default() }).await;
    let (saved, whole) = (sample::extraction("saved", "some"), sample::extraction("whole", "all"));
    for again in [false, true] {
        let (key, reason) = (saved.key.clone(), "1 cut".to_owned());
        let damaged = ChunkExtraction::Damaged { key, reason, attempts: 2, again };
        let put_extractions = if again { Vec::new() } else { vec![saved.clone()] };
        let set_extractions = vec![(id.clone(), damaged.clone())];
        commit(store, Batch { put_extractions, set_extractions, ..Batch::default() }).await;
        let view = view(store).await;
        assert_eq!(get(view.scan(table::Chunks, None, 9).await)[0].extraction, damaged);
        assert_eq!(get(view.extractions(std::slice::from_ref(&saved.key)).await), [Some(saved.clone())]);
    }
    let done = ChunkExtraction::Done { key: whole.key.clone() };
    let set_extractions = vec![(id, done)];
    commit(store, Batch { put_extractions: vec![whole.clone()], set_extractions, ..Batch::default() }).await;
    let stored = get(view(store).await.extractions(&[saved.key, whole.key.clone()]).await);
    assert_eq!(stored, [None, Some(whole)]);
}

/// A conformance case.
pub async fn an_extraction_is_removed_when_its_chunk_names_another(store: &dyn Store) {
    let batch = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    let (old, chunk) = (batch.put_extractions[0].key.clone(), batch.put_chunks[0].id.clone());
    commit(store, batch).await;
    let new = sample::extraction("new", "said anew");
    let done = ChunkExtraction::Done { key: new.key.clone() };
    let swap = Batch {
        put_extractions: vec![new.clone()],
        set_extractions: vec![(chunk, done)],
        ..Batch::default()
    };
    commit(store, swap).await;
    assert_eq!(get(view(store).await.extractions(&[old, new.key.clone()]).await), [None, Some(new)]);
}

/// A conformance case.
pub async fn renewals_are_listed_by_document_and_keep_their_extractions(store: &dyn Store) {
    let new = sample::document("a", "abcdef");
    let chunks: Vec<_> =
        (0..3).map(|n| sample::chunk(&new, n, Span::new(n as usize, n as usize + 2))).collect();
    let id = new.document.id.clone();
    commit(store, Batch { put_documents: vec![new], put_chunks: chunks.clone(), ..Batch::default() }).await;
    let said = sample::extraction("new", "said anew");
    let done = sample::renewal(&chunks[0].id, ChunkExtraction::Done { key: said.key.clone() });
    let put = |put_renewals| Batch { put_renewals, ..Batch::default() };
    invalid(store, put(vec![done.clone()])).await;
    invalid(
        store,
        put(vec![sample::renewal(&graphloom_core::ChunkId::from_stored("none"), ChunkExtraction::Pending)]),
    )
    .await;
    let failed = ChunkExtraction::Failed { reason: "timeout".to_owned(), attempts: 2 };
    let renewals = vec![done, sample::renewal(&chunks[2].id, failed)];
    commit(store, Batch { put_extractions: vec![said.clone()], ..put(renewals.clone()) }).await;
    let ids = [graphloom_core::DocumentId::from_stored("none"), id.clone()];
    let before = view(store).await;
    assert_eq!(get(before.renewals_of(&ids).await), [vec![], renewals]);
    assert_eq!(get(before.extractions(std::slice::from_ref(&said.key)).await), [Some(said.clone())]);
    assert_eq!(get(before.chunks_of(std::slice::from_ref(&id)).await), std::slice::from_ref(&chunks));

    let ended = Batch { remove_renewals: vec![chunks[0].id.clone()], ..Batch::default() };
    commit(store, ended).await;
    let after = view(store).await;
    assert_eq!(get(after.extractions(std::slice::from_ref(&said.key)).await), [None]);
    commit(store, Batch { remove_documents: vec![id.clone()], ..Batch::default() }).await;
    assert_eq!(get(view(store).await.scan(table::Renewals, None, 9).await), []);
}

/// A conformance case.
pub async fn runs_list_the_documents_they_queued(store: &dyn Store) {
    let [a, b] = ["a", "b"].map(|source| sample::document(source, "text"));
    let [a_id, b_id] = [&a, &b].map(|new| new.document.id.clone());
    let put_tracks = vec![
        (sample::track("one"), a_id.clone()),
        (sample::track("two"), b_id.clone()),
        (sample::track("two"), a_id.clone()),
        (sample::track("two"), a_id.clone()),
    ];
    commit(store, Batch { put_tracks, ..documents(vec![a, b]) }).await;
    let tracks = ["two", "none", "one"].map(sample::track);
    let mut both = vec![a_id.clone(), b_id.clone()];
    both.sort();
    let before = view(store).await;
    assert_eq!(get(before.documents_of_tracks(&tracks).await), [both, vec![], vec![a_id.clone()]]);
    let of = get(before.tracks_of(&[a_id.clone(), b_id.clone()]).await);
    assert_eq!(of, [vec![sample::track("one"), sample::track("two")], vec![sample::track("two")]]);
    let stray = (sample::track("one"), graphloom_core::DocumentId::from_stored("none"));
    invalid(store, Batch { put_tracks: vec![stray], ..Batch::default() }).await;
    commit(store, Batch { remove_documents: vec![a_id], ..Batch::default() }).await;
    assert_eq!(get(view(store).await.documents_of_tracks(&tracks).await), [vec![b_id], vec![], vec![]]);
}

/// A conformance case.
pub async fn a_pause_is_stored_until_it_ends(store: &dyn Store) {
    assert_eq!(get(view(store).await.queue().await), QueueState::Running);
    let set = |queue| Batch { set_queue: Some(queue), ..Batch::default() };
    let paused = QueueState::Paused { since: Timestamp(1_700_000_000_000) };
    assert_eq!(commit(store, set(paused)).await, Revision(1));
    assert_eq!(get(view(store).await.queue().await), paused);
    commit(store, documents(vec![sample::document("a", "text")])).await;
    assert_eq!(get(view(store).await.queue().await), paused);
    commit(store, set(QueueState::Running)).await;
    assert_eq!(get(view(store).await.queue().await), QueueState::Running);
    invalid(store, set(QueueState::Paused { since: Timestamp(u64::MAX) })).await;
}

/// A conformance case.
pub async fn one_batch_replaces_a_document_with_its_next_version(store: &dyn Store) {
    let old = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    let id = old.put_documents[0].document.id.clone();
    commit(store, old).await;
    let mut new = sample::indexed("a", "Ada left Bob", "ADA", "BOB");
    new.remove_documents = vec![id];
    let put = new.put_documents[0].clone();
    commit(store, new).await;
    let view = view(store).await;
    assert_eq!(get(view.documents_of_sources(&["a".to_owned()]).await), [vec![put.document.clone()]]);
    assert_eq!(get(view.mentions_of(&[sample::key("ADA")]).await)[0].len(), 1);
    assert_eq!(get(view.texts(&[put.document.id]).await), [Some(put.text)]);
}

/// A conformance case.
pub async fn staged_documents_are_not_found_until_activated(store: &dyn Store) {
    let mut batch = sample::indexed("a", "Zanzibar is an island", "ADA", "BOB");
    batch.put_documents[0] = sample::staged(batch.put_documents[0].clone());
    let (document, chunk) = (batch.put_documents[0].document.id.clone(), batch.put_chunks[0].id.clone());
    commit(store, batch).await;
    let before = view(store).await;
    assert!(near(&*before, ItemKind::Chunk, &[1.0, 0.0, 0.0], 9).await.is_empty());
    assert!(matching(&*before, ItemKind::Chunk, "zanzibar").await.is_empty());
    commit(store, Batch { activate_documents: vec![document], ..Batch::default() }).await;
    let after = view(store).await;
    assert_eq!(near(&*after, ItemKind::Chunk, &[1.0, 0.0, 0.0], 9).await, [chunk.as_str()]);
    assert_eq!(matching(&*after, ItemKind::Chunk, "zanzibar").await, [chunk.as_str()]);
    assert!(near(&*before, ItemKind::Chunk, &[1.0, 0.0, 0.0], 9).await.is_empty());
    assert!(matching(&*before, ItemKind::Chunk, "zanzibar").await.is_empty());
    let unknown = vec![graphloom_core::DocumentId::from_stored("none")];
    invalid(store, Batch { activate_documents: unknown, ..Batch::default() }).await;
}

/// A conformance case.
pub async fn a_snapshot_never_changes(store: &dyn Store) {
    let batch = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    let id = batch.put_documents[0].document.id.clone();
    commit(store, batch).await;
    let before = view(store).await;
    commit(store, sample::removal(std::slice::from_ref(&id), &["ADA", "BOB"])).await;
    assert_eq!(before.revision(), Revision(1));
    assert_eq!(get(before.texts(&[id]).await), [Some("Ada met Bob".to_owned())]);
    assert_eq!(get(before.mentions_of(&[sample::key("ADA")]).await)[0].len(), 1);
    assert_eq!(view(store).await.revision(), Revision(2));
}

/// A conformance case.
pub async fn scans_page_through_everything(store: &dyn Store) {
    for n in 0..5 {
        commit(store, sample::indexed(&n.to_string(), &format!("text {n}"), &format!("A{n}"), "ZED")).await;
    }
    let view = view(store).await;
    let mut pages = view.pages_of(table::Mentions, 3);
    let mut seen = Vec::new();
    while let Some(page) = get(pages.next().await) {
        seen.extend(page.iter().map(|mention| (mention.chunk.clone(), mention.ordinal)));
    }
    let mut sorted = seen.clone();
    sorted.sort();
    assert_eq!((seen.len(), &seen), (10, &sorted));
    let entities = table::Vectors { kind: ItemKind::Entity };
    let entity = |name| ItemKey::Entity(sample::key(name));
    assert_eq!(get(view.scan(entities, Some(&entity("A1")), 2).await)[0].item, entity("A2"));
    assert_eq!(get(view.scan(table::Entities, Some(&sample::key("A4")), 9).await).len(), 1);
    assert_eq!(get(view.scan(table::Documents, None, 0).await), []);
}

/// A conformance case.
pub async fn invalid_numbers_and_keys_are_refused(store: &dyn Store) {
    let whole = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    let mut batch = whole.clone();
    batch.put_facts[0].weight = f64::NAN;
    invalid(store, batch).await;
    let mut batch = whole.clone();
    batch.put_relations[0].weight = f64::INFINITY;
    invalid(store, batch).await;
    let mut batch = whole;
    batch.put_vectors[0].vector[0] = f32::NAN;
    invalid(store, batch).await;
    let tabbed = sample::entity("A\tB", "x");
    invalid(store, Batch { put_entities: vec![tabbed], ..Batch::default() }).await;
}

/// A conformance case.
pub async fn settings_are_replaced_as_a_whole_if_the_expected_ones_match(store: &dyn Store) {
    let settings = |model: &str| BTreeMap::from([("extract_llm".to_owned(), model.to_owned())]);
    let set = |before, model| Batch {
        require: vec![Require::SettingsAre(before)],
        set_settings: Some(settings(model)),
        ..Batch::default()
    };
    let before = view(store).await;
    assert_eq!(get(before.settings().await), BTreeMap::new());
    assert_eq!(commit(store, set(BTreeMap::new(), "one")).await, Revision(1));
    let refused = store.commit(set(BTreeMap::new(), "two")).await.expect_err("others were first");
    assert!(refused.is_conflict(), "{refused}");
    assert_eq!(get(view(store).await.settings().await), settings("one"));
    commit(store, set(settings("one"), "two")).await;
    let after = view(store).await;
    assert_eq!(get(after.settings().await), settings("two"));
    assert_eq!(after.graph_revision(), Revision(0));
    assert_eq!(get(before.settings().await), BTreeMap::new());
}
