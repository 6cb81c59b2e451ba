//! One suite for every store: each method's documented behaviour, and a comparison with the in-memory reference over
//! random batches.
//!
//! A store's tests call `conformance_tests!(open)`, where `open` returns a new empty store and whatever must live as
//! long as the store.

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
#[macro_export]
macro_rules! conformance_tests {
    ($open:expr) => {
        $crate::conformance_tests!(
            $open;
            a_new_store_is_empty,
            an_empty_batch_keeps_the_revision,
            calls_and_cached_answers_leave_the_revision_of_the_evidence,
            documents_are_found_by_id_source_and_content,
            long_texts_come_back_whole_and_chunks_slice_them,
            a_document_with_chunks_keeps_its_text,
            a_text_of_another_length_is_refused,
            chunks_must_equal_their_slice,
            chunks_come_in_order_with_their_extraction,
            a_chunk_cannot_name_a_missing_extraction,
            jobs_are_claimed_oldest_first_while_no_lease_holds,
            a_claim_is_refused_when_the_job_changed,
            a_batch_is_refused_when_what_became_of_an_extraction_changed,
            a_batch_is_refused_when_the_graph_changed,
            a_batch_is_refused_when_the_documents_of_a_source_changed,
            a_refused_batch_changes_nothing,
            removing_a_document_removes_all_that_hangs_on_it,
            what_loses_its_last_evidence_must_be_derived_again,
            an_extraction_lives_as_long_as_a_chunk_names_it,
            an_extraction_that_a_whole_one_replaces_is_removed,
            an_extraction_goes_when_its_chunk_names_another,
            renewals_come_by_document_and_keep_their_extractions,
            chunk_contexts_are_searched_with_their_chunks_and_go_with_them,
            an_answer_goes_with_any_document_it_rests_on_and_takes_later_ones_along,
            conversations_are_put_renamed_and_removed_with_their_exchanges,
            originals_are_set_replaced_and_go_with_their_documents,
            runs_list_the_documents_they_queued,
            a_pause_is_kept_and_ends,
            one_batch_replaces_a_document_by_its_next_version,
            mentions_and_facts_are_found_from_either_side,
            mentions_need_their_chunk,
            claims_are_found_by_both_entities_and_leave_with_their_chunk,
            entities_and_relations_are_put_and_removed_with_vectors_and_summaries,
            summaries_are_replaced_as_a_whole,
            stale_marks_are_set_cleared_and_go_with_what_they_mark,
            decisions_come_in_their_order_and_change_the_graph,
            what_is_set_aside_is_kept_and_counts_for_nothing,
            several_searches_at_once_answer_as_one_after_another,
            the_embedding_space_is_set_once,
            all_vectors_can_be_replaced_by_those_of_another_space,
            settings_are_replaced_as_a_whole_by_who_knows_them,
            vectors_must_fit_the_space,
            vectors_are_found_by_cosine_with_ties_by_id,
            equal_vectors_beyond_the_limit_keep_the_smallest_ids,
            staged_documents_are_not_found_until_activated,
            a_snapshot_never_changes,
            an_old_snapshot_searches_its_own_vectors,
            text_is_found_by_stem_in_any_script,
            words_meet_however_they_are_written,
            scores_by_words_are_of_what_is_there_alone,
            faint_words_count_a_quarter,
            the_best_by_words_are_the_first_of_all,
            syntax_in_a_question_is_ordinary_text,
            changed_descriptions_are_found_by_their_new_words,
            the_ledger_keeps_its_order,
            remembered_answers_are_replaced_and_forgotten_by_kind,
            the_oldest_remembered_answers_go_first,
            scans_page_through_everything,
            numbers_that_are_none_are_refused,
            documents_come_by_source_and_by_date,
            pages_of_documents_come_in_every_order_by_status_and_name,
            rejects_are_counted_while_their_extraction_lives,
            extractions_without_records_are_counted_while_they_live,
            chunks_are_listed_and_counted_without_their_text,
            nodes_of_layers_are_found_by_key_member_level_vector_and_words,
            a_node_goes_with_any_of_its_members,
            a_search_in_one_layer_finds_its_nodes_however_many_of_others_match_better,
            layers_and_nodes_are_removed_with_what_is_built_on_them,
            nodes_need_their_layer_their_members_and_their_own_key,
            only_current_layers_are_part_of_the_canonical_state,
            searches_within_documents_count_nothing_else,
            selecting_by_filter_equals_asking_every_document,
        );

        #[test]
        fn equals_the_reference_under_random_batches() {
            $crate::conformance::random::compare_with_memory($open);
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
