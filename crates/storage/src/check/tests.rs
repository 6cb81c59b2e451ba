use graphloom_core::{Batch, Member, Span, Store, WorkspaceId};

use super::*;
use crate::conformance::{block_on, sample};
use crate::memory::MemoryStore;
use crate::sqlite::{self, SqliteStore};

/// Returns a batch with one document that is indexed without errors.
fn sound() -> Batch {
    let mut batch = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    for entity in &mut batch.put_entities {
        (entity.mention_count, entity.degree) = (1, 1);
    }
    (batch.put_relations[0].fact_count, batch.put_relations[0].weight) = (1, 1.5);
    batch
}

fn findings_of(store: &dyn Store) -> Vec<String> {
    let findings = block_on(async { check(&*store.snapshot().await?).await }).expect("checked");
    findings.into_iter().map(|finding| format!("{} {}", finding.kind, finding.what)).collect()
}

/// Returns the findings after changing the sound batch and committing it and then another one.
fn check_broken(change: impl FnOnce(&mut Batch), then: Batch) -> Vec<String> {
    let store = MemoryStore::new(WorkspaceId::default());
    let mut batch = sound();
    change(&mut batch);
    for batch in [batch, then] {
        block_on(store.commit(batch)).expect("the batch is accepted");
    }
    findings_of(&store)
}

fn check_change(change: impl FnOnce(&mut Batch)) -> Vec<String> {
    check_broken(change, Batch::default())
}

#[test]
fn a_sound_workspace_has_no_findings() {
    assert_eq!(check_change(|_| {}), [""; 0]);
}

#[test]
fn documents_without_jobs_or_with_unfinished_chunks_are_found() {
    let found = check_change(|batch| batch.put_jobs.clear());
    assert_eq!(found, ["document it has no job, so nothing would ever index it"]);
    let pending = |batch: &mut Batch| {
        batch.put_chunks[0].extraction = ChunkExtraction::Pending;
        batch.put_extractions.clear();
    };
    assert_eq!(check_change(pending), ["chunk its document is merged, but it is still to be asked about"]);
}

#[test]
fn a_second_live_document_with_the_same_source_is_found() {
    let second = sample::document("a", "another text");
    let job = sample::job(&second.document.id, 1);
    let then = Batch { put_documents: vec![second], put_jobs: vec![job], ..Batch::default() };
    assert_eq!(check_broken(|_| {}, then), ["document another Live document has the same source \"a\""]);
}

#[test]
fn a_wrong_content_hash_is_found() {
    let change = |batch: &mut Batch| {
        batch.put_documents[0].document.content_hash = graphloom_core::ContentHash::of(b"other");
    };
    assert_eq!(check_change(change), ["document its text does not hash to its content hash"]);
}

#[test]
fn chunks_without_vectors_are_found_unless_staged() {
    let change = |batch: &mut Batch| drop(batch.put_vectors.remove(0));
    assert_eq!(check_change(change), ["chunk it has no vector, so vector search does not find it"]);
    let new = sample::staged(sample::document("b", "next"));
    let (mut job, chunk) = (sample::job(&new.document.id, 1), sample::whole(&new));
    job.state = JobState::Chunked;
    let then =
        Batch { put_documents: vec![new], put_jobs: vec![job], put_chunks: vec![chunk], ..Batch::default() };
    assert_eq!(check_broken(|_| {}, then), [""; 0]);
}

#[test]
fn unused_extractions_are_found() {
    let change = |batch: &mut Batch| batch.put_extractions.push(sample::extraction("unused", ""));
    assert_eq!(check_change(change), ["extraction no chunk uses it"]);
}

#[test]
fn evidence_without_views_and_views_without_evidence_are_found() {
    let gone = Batch { remove_entities: vec![sample::key("ADA")], ..Batch::default() };
    assert_eq!(
        check_broken(|_| {}, gone),
        [
            "entity it is mentioned but has no row",
            "entity it has no vector, so vector search does not find it"
        ]
    );
    let gone = Batch { remove_relations: vec![sample::pair("ADA", "BOB")], ..Batch::default() };
    assert_eq!(
        check_broken(|_| {}, gone),
        [
            "relation it is stated but has no row",
            "relation it has no vector, so vector search does not find it"
        ]
    );
    let extra = |batch: &mut Batch| {
        let mut entity = sample::entity("CLEO", "");
        (entity.mention_count, entity.degree) = (0, 0);
        batch.put_entities.push(entity);
        batch.put_vectors.push(sample::vector(ItemKind::Entity, "CLEO", &[1.0; 3]));
    };
    assert_eq!(
        check_change(extra),
        ["entity nothing mentions it", "entity it has a vector but does not exist"]
    );
    let unstated = check_change(|batch| batch.put_facts.clear());
    assert!(unstated.contains(&"relation nothing states it".to_owned()), "{unstated:?}");
}

#[test]
fn a_staged_document_in_the_graph_is_found() {
    let change = |batch: &mut Batch| batch.put_documents[0] = sample::staged(batch.put_documents[0].clone());
    let id = sound().put_documents[0].document.id.clone();
    let mention = format!("mention its document {id} is not live");
    assert_eq!(
        check_change(change),
        [
            "job it is merged, but its document is still staged".to_owned(),
            mention.clone(),
            mention,
            format!("fact its document {id} is not live")
        ]
    );
}

#[test]
fn wrong_counts_and_weights_are_found() {
    let change = |batch: &mut Batch| {
        batch.put_entities[0].mention_count = 7;
        batch.put_entities[1].degree = 8;
        batch.put_relations[0].fact_count = 9;
        batch.put_relations[0].weight = 2.0;
    };
    assert_eq!(
        check_change(change),
        [
            "entity it counts 7 mentions, there are 1",
            "entity its degree is stored as 8, but is 1",
            "relation it counts 9 facts, there are 1",
            "relation its weight is 2, that of its facts 1.5"
        ]
    );
}

#[test]
fn missing_and_stray_vectors_and_summaries_are_found() {
    let missing = |batch: &mut Batch| batch.put_vectors.truncate(2);
    assert_eq!(
        check_change(missing),
        [
            "entity it has no vector, so vector search does not find it",
            "relation it has no vector, so vector search does not find it"
        ]
    );
    let stray = |batch: &mut Batch| {
        batch.put_vectors.push(sample::vector(ItemKind::Chunk, "chunk-x", &[1.0; 3]));
        batch.put_vectors.push(sample::vector(ItemKind::Relation, "X\tY", &[1.0; 3]));
        batch.set_summaries = vec![(GraphKey::Entity(sample::key("X")), vec![sample::summary("s")])];
    };
    assert_eq!(
        check_change(stray),
        [
            "chunk it has a vector but does not exist",
            "relation it has a vector but does not exist",
            "summary the item that it summarizes does not exist"
        ]
    );
}

#[test]
fn nodes_without_members_or_vectors_are_found() {
    let layered = |batch: &mut Batch| {
        let node = sample::node("themes", 0, [Member::Entity(sample::key("ADA"))], "Ada");
        batch.put_layers = vec![sample::layer("themes", 1, true)];
        batch.put_vectors.push(sample::vector(ItemKind::Node, node.key.as_str(), &[1.0; 3]));
        batch.put_nodes = vec![node];
    };
    assert_eq!(check_change(layered), [""; 0]);
    let broken = |batch: &mut Batch| {
        layered(batch);
        batch.put_layers[0].watermark = Revision(9);
        batch.put_vectors.pop();
    };
    assert_eq!(
        check_change(broken),
        [
            "layer it was derived from a revision that was never committed",
            "node it has no vector, so vector search does not find it"
        ]
    );
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(folder.path(), WorkspaceId::default()).expect("a store");
    let mut batch = sound();
    layered(&mut batch);
    block_on(store.commit(batch)).expect("the batch is accepted");
    assert_eq!(findings_of(&store), [""; 0]);
    sqlite::execute(folder.path(), "UPDATE node_members SET member = 'EVE'");
    assert_eq!(
        findings_of(&store),
        [
            "node its key is not the hash of its layer, level and members",
            "node its member entity EVE does not exist"
        ]
    );
}

#[test]
fn vectors_that_do_not_match_the_contextualized_text_are_found() {
    let contextualize = |batch: &mut Batch| {
        let id = batch.put_chunks[0].id.clone();
        batch.put_chunk_contexts.push(sample::chunk_context(&id, "s", Some("From the annual report")));
    };
    assert_eq!(check_change(contextualize), ["chunk its vector is not that of its context and text"]);
    let embedded = |batch: &mut Batch| {
        contextualize(batch);
        let text = "From the annual report\n\nAda met Bob";
        batch.put_vectors[0].entry.inputs_hash = ContentHash::of(text.as_bytes());
    };
    assert_eq!(check_change(embedded), [""; 0]);
}

#[test]
fn damaged_texts_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(folder.path(), WorkspaceId::default()).expect("a store");
    let mut batch = sound();
    let new = batch.put_documents[0].clone();
    let mut tail = sample::chunk(&new, 1, Span::new(8, 11));
    tail.extraction = batch.put_chunks[0].extraction.clone();
    batch.put_vectors.push(sample::vector(ItemKind::Chunk, tail.id.as_str(), &[1.0; 3]));
    batch.put_chunks.push(tail);
    block_on(store.commit(batch)).expect("the batch is accepted");
    assert_eq!(findings_of(&store), [""; 0]);
    sqlite::execute(folder.path(), "UPDATE segments SET bytes = x'416461'");
    assert_eq!(
        findings_of(&store),
        [
            "document its text has 3 bytes instead of 11",
            "chunk its span leaves the text or cuts a character",
            "chunk its span leaves the text or cuts a character"
        ]
    );
}
