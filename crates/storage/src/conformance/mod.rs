//! One suite for every store: each method's documented behaviour, and a comparison with the in-memory reference over
//! random batches.
//!
//! A store's tests call `conformance_tests!(open)`, where `open` returns a new empty store and whatever must live as
//! long as the store.

pub mod caches;
pub mod cases;
pub mod chunk_contexts;
pub mod conversations;
pub mod filters;
pub mod graph;
pub mod layers;
pub mod originals;
pub mod random;
pub mod sample;
pub mod searches;
mod steps;
pub mod workspaces;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// Runs a future on this thread. Stores need no runtime, so their tests need none either.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Defines one test per case for the store that `open` creates: `open()` returns `(store, guard)`.
///
/// - `histories`: number of random histories to compare with the reference; 48 by default.
#[macro_export]
macro_rules! conformance_tests {
    ($open:expr) => {
        $crate::conformance_tests!($open, histories: 48);
    };
    ($open:expr, histories: $histories:expr) => {
        $crate::conformance_tests!(
            $open;
            a_new_store_is_empty,
            an_empty_batch_keeps_the_revision,
            calls_and_cached_answers_keep_the_revision_of_the_evidence,
            documents_are_found_by_id_source_and_content,
            long_texts_are_returned_whole_and_chunks_slice_them,
            a_document_with_chunks_keeps_its_text,
            a_text_of_another_length_is_refused,
            chunks_must_equal_their_slice,
            chunks_are_returned_in_order_with_their_extraction,
            a_chunk_cannot_name_a_missing_extraction,
            jobs_are_claimed_oldest_first_while_no_lease_holds,
            a_claim_is_refused_when_the_job_changed,
            a_batch_is_refused_when_the_outcome_of_an_extraction_changed,
            a_batch_is_refused_when_the_graph_changed,
            a_batch_is_refused_when_the_documents_of_a_source_changed,
            a_refused_batch_changes_nothing,
            removing_a_document_removes_everything_that_depends_on_it,
            a_batch_must_remove_or_mark_views_that_lose_their_last_evidence,
            an_extraction_exists_as_long_as_a_chunk_names_it,
            an_extraction_replaced_by_a_complete_one_is_removed,
            an_extraction_is_removed_when_its_chunk_names_another,
            renewals_are_listed_by_document_and_keep_their_extractions,
            chunk_contexts_are_searched_and_removed_with_their_chunks,
            an_answer_is_removed_with_any_document_it_rests_on_and_so_are_later_ones,
            conversations_can_be_stored_renamed_and_removed_with_their_exchanges,
            originals_can_be_stored_and_replaced_and_are_removed_with_their_documents,
            runs_list_the_documents_they_queued,
            a_pause_is_stored_until_it_ends,
            one_batch_replaces_a_document_with_its_next_version,
            mentions_and_facts_are_found_from_either_side,
            mentions_need_their_chunk,
            claims_are_found_by_both_entities_and_removed_with_their_chunk,
            entities_and_relations_are_stored_and_removed_with_vectors_and_summaries,
            summaries_are_replaced_as_a_whole,
            stale_marks_can_be_set_and_cleared_and_are_removed_with_their_items,
            decisions_keep_their_order_and_change_the_graph,
            set_aside_records_are_stored_and_not_counted,
            concurrent_searches_return_the_same_as_sequential_ones,
            the_embedding_space_is_set_once,
            all_vectors_can_be_replaced_by_those_of_another_space,
            settings_are_replaced_as_a_whole_if_the_expected_ones_match,
            vectors_must_fit_the_space,
            vectors_are_found_by_cosine_with_ties_by_id,
            equal_vectors_beyond_the_limit_keep_the_smallest_ids,
            staged_documents_are_not_found_until_activated,
            a_snapshot_never_changes,
            an_old_snapshot_searches_its_own_vectors,
            text_is_found_by_stem_in_any_script,
            words_match_in_any_spelling,
            keyword_scores_depend_only_on_existing_texts,
            faint_words_count_for_a_quarter,
            the_best_keyword_hits_are_the_first_of_all_hits,
            query_syntax_in_a_question_is_ordinary_text,
            changed_descriptions_are_found_by_their_new_words,
            the_ledger_keeps_its_order,
            cached_answers_can_be_replaced_and_are_deleted_by_kind,
            the_oldest_cached_answers_are_deleted_first,
            scans_page_through_everything,
            invalid_numbers_and_keys_are_refused,
            documents_are_listed_by_source_and_by_date,
            pages_of_documents_are_listed_in_every_order_by_status_and_name,
            rejects_are_counted_while_their_extraction_exists,
            extractions_without_records_are_counted_while_they_exist,
            chunks_are_listed_and_counted_without_their_text,
            nodes_of_layers_are_found_by_key_member_level_vector_and_keywords,
            a_node_is_removed_with_any_of_its_members,
            a_search_in_one_layer_finds_its_nodes_even_if_many_of_others_match_better,
            layers_and_nodes_are_removed_with_what_is_built_on_them,
            nodes_need_their_layer_their_members_and_their_own_key,
            only_current_layers_are_part_of_the_canonical_state,
            searches_within_documents_ignore_all_others,
            selecting_by_filter_equals_asking_every_document,
        );

        #[test]
        fn equals_the_reference_under_random_batches() {
            $crate::conformance::random::compare_with_memory($open, $histories);
        }
    };
    ($open:expr; $($case:ident),* $(,)?) => {
        $(
            #[test]
            fn $case() {
                let (store, _guard) = ($open)();
                $crate::conformance::block_on($crate::conformance::cases::$case(&store));
            }
        )*
    };
}
