//! Cases of filters: reading selected documents, and searching within some documents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graphloom_core::{
    Batch, Chunk, ChunkCounts, ChunkExtraction, Document, DocumentFilter, DocumentOrder, DocumentPage,
    DocumentsFound, Extraction, FilteredIds, ItemKind, Job, JobState, Records, RejectReason, SearchRequest,
    Span, StatusKind, Store, Timestamp, Visibility, table,
};

use super::sample;
use super::steps::{self, ids, view};

/// Commits three documents about Ada, each with a different acquaintance. One document is staged.
async fn library(store: &dyn Store) -> Vec<Document> {
    let mut documents = Vec::new();
    for (source, text, other, project, added_at) in [
        ("notes/a.md", "Ada met Bob", "BOB", "weir", 1_000),
        ("notes/old/b.md", "Ada met Cleo", "CLEO", "mill", 2_000),
        ("c.md", "Ada met Dan", "DAN", "weir", 3_000),
    ] {
        let mut batch = sample::indexed(source, text, "ADA", other);
        let document = &mut batch.put_documents[0].document;
        document.meta.insert("project".to_owned(), project.to_owned());
        document.added_at = Timestamp(added_at);
        if source == "c.md" {
            document.visibility = Visibility::Staged;
        }
        documents.push(document.clone());
        store.commit(batch).await.expect("the batch is accepted");
    }
    documents
}

fn filter(json: &str) -> DocumentFilter {
    serde_json::from_str(json).expect("a filter")
}

/// A conformance case.
pub async fn chunks_are_listed_and_counted_without_their_text(store: &dyn Store) {
    let new = sample::document("a", "one two three");
    let mut chunks: Vec<_> =
        (0..3).map(|n| sample::chunk(&new, n, Span::new(4 * n as usize, 4 * n as usize + 3))).collect();
    let extraction = sample::extraction("x", "said");
    chunks[1].extraction = ChunkExtraction::Done { key: extraction.key.clone() };
    chunks[2].extraction = ChunkExtraction::Failed { reason: "no".to_owned(), attempts: 1 };
    let ids: Vec<_> = chunks.iter().map(|chunk| chunk.id.clone()).collect();
    let document = new.document.id.clone();
    let (put_documents, put_extractions) = (vec![new], vec![extraction]);
    chunks.reverse();
    let batch = Batch { put_documents, put_extractions, put_chunks: chunks, ..Batch::default() };
    store.commit(batch).await.expect("the batch is accepted");
    let view = view(store).await;
    let asked = [document, graphloom_core::DocumentId::from_stored("none")];
    assert_eq!(view.chunk_ids_of(&asked).await.expect("ids"), [ids, vec![]]);
    let counts = ChunkCounts { chunks: 3, extracted: 1, failed: 1, damaged: 0, without_context: 0 };
    assert_eq!(view.chunk_counts_of(&asked).await.expect("counts"), [counts, ChunkCounts::default()]);
}

/// A conformance case.
pub async fn documents_are_listed_by_source_and_by_date(store: &dyn Store) {
    library(store).await;
    let view = view(store).await;
    let sources = |documents: &[Document]| documents.iter().map(|it| it.source.clone()).collect::<Vec<_>>();
    let page = view.scan(table::DocumentsBySource, None, 2).await.expect("documents");
    assert_eq!(sources(&page), ["c.md", "notes/a.md"]);
    let rest = view
        .scan(table::DocumentsBySource, Some(&("notes/a.md".to_owned(), page[1].id.clone())), 2)
        .await
        .expect("documents");
    assert_eq!(sources(&rest), ["notes/old/b.md"]);
    let page = view.scan(table::DocumentsByDate, None, 2).await.expect("documents");
    assert_eq!(sources(&page), ["c.md", "notes/old/b.md"]);
    let rest = view
        .scan(table::DocumentsByDate, Some(&(page[1].added_at, page[1].id.clone())), 2)
        .await
        .expect("documents");
    assert_eq!(sources(&rest), ["notes/a.md"]);
}

/// A conformance case.
pub async fn pages_of_documents_are_listed_in_every_order_by_status_and_name(store: &dyn Store) {
    let texts =
        [("b/Zürich.md", "four"), ("a.md", "a longer text"), ("c/ZÜRICH 2.md", "x"), ("d.md", "of five")];
    let mut batch = Batch::default();
    for (number, (source, text)) in (0..).zip(texts) {
        let mut new = sample::document(source, text);
        new.document.added_at = Timestamp(10 - number);
        let state = match number {
            0 => JobState::Merged,
            1 => JobState::Failed { reason: "no".to_owned() },
            2 => JobState::Merged,
            _ => JobState::Chunked,
        };
        batch.put_jobs.push(Job { state, ..sample::job(&new.document.id, 1) });
        // A failed chunk makes a document in the graph incomplete.
        let failed = ChunkExtraction::Failed { reason: "no".to_owned(), attempts: 1 };
        batch.put_chunks.extend((number == 2).then(|| Chunk { extraction: failed, ..sample::whole(&new) }));
        batch.put_documents.push(new);
    }
    let documents: Vec<Document> = batch.put_documents.iter().map(|new| new.document.clone()).collect();
    store.commit(batch).await.expect("the batch is accepted");
    let view = view(store).await;
    let all = |order| DocumentPage {
        order,
        descending: false,
        status: None,
        name: String::new(),
        skip: 0,
        limit: 9,
    };
    // Returns the first letters of the sources on a page, and the number of documents on all pages.
    let found = async |page: DocumentPage| {
        let DocumentsFound { ids, total } = view.document_page(&page).await.expect("a page");
        let first =
            |id| documents.iter().find(|document| document.id == id).map(|it| it.source[..1].to_owned());
        (ids.into_iter().filter_map(first).collect::<String>(), total)
    };
    assert_eq!(found(all(DocumentOrder::Source)).await, ("abcd".to_owned(), 4));
    assert_eq!(found(all(DocumentOrder::Accepted)).await.0, "dcab");
    assert_eq!(found(all(DocumentOrder::Size)).await.0, "cbda");
    assert_eq!(found(all(DocumentOrder::Status)).await.0, "acdb", "failed, incomplete, indexing, ready");
    let descending = DocumentPage { descending: true, ..all(DocumentOrder::Size) };
    assert_eq!(found(descending.clone()).await.0, "adbc");
    assert_eq!(found(DocumentPage { skip: 1, limit: 2, ..descending }).await, ("db".to_owned(), 4));
    assert_eq!(found(DocumentPage { skip: 9, ..all(DocumentOrder::Id) }).await, (String::new(), 4));
    let named = DocumentPage { name: "zürich".to_owned(), ..all(DocumentOrder::Accepted) };
    assert_eq!(found(named.clone()).await, ("cb".to_owned(), 2));
    let none = DocumentPage { status: Some(BTreeSet::new()), ..all(DocumentOrder::Id) };
    assert_eq!(found(none).await, (String::new(), 0));
    let status = Some(BTreeSet::from([StatusKind::Ready, StatusKind::Failed]));
    assert_eq!(found(DocumentPage { status: status.clone(), ..named }).await, ("b".to_owned(), 1));
    assert_eq!(found(DocumentPage { status, ..all(DocumentOrder::Status) }).await, ("ab".to_owned(), 2));
    let wild = DocumentPage { name: "%".to_owned(), ..all(DocumentOrder::Id) };
    assert_eq!(found(wild).await.1, 0, "what is searched for is no pattern");
}

/// A conformance case.
pub async fn rejects_are_counted_while_their_extraction_exists(store: &dyn Store) {
    let documents = library(store).await;
    let counted = view(store).await.reject_counts().await.expect("counts");
    assert_eq!(counted, BTreeMap::from([(RejectReason::FieldCount, 3)]));
    assert_eq!(
        view(store).await.status_counts().await.expect("counts"),
        BTreeMap::from([(StatusKind::Ready, 3)])
    );
    let again = Batch {
        put_extractions: vec![sample::extraction("Ada met Bob", "said otherwise")],
        ..Batch::default()
    };
    store.commit(again).await.expect("the batch is accepted");
    let removal = Batch {
        remove_documents: vec![documents[1].id.clone()],
        remove_entities: vec![sample::key("CLEO")],
        remove_relations: vec![sample::pair("ADA", "CLEO")],
        ..Batch::default()
    };
    store.commit(removal).await.expect("the batch is accepted");
    let counted = view(store).await.reject_counts().await.expect("counts");
    assert_eq!(counted, BTreeMap::from([(RejectReason::FieldCount, 2)]));
}

/// A conformance case.
pub async fn extractions_without_records_are_counted_while_they_exist(store: &dyn Store) {
    let documents = library(store).await;
    let count = async || view(store).await.empty_extractions().await.expect("counts");
    assert_eq!(count().await, 0);
    let said = sample::extraction("Ada met Bob", "said");
    let nothing = Extraction { records: Records::default(), ..said.clone() };
    let put = |extraction| Batch { put_extractions: vec![extraction], ..Batch::default() };
    store.commit(put(nothing.clone())).await.expect("the batch is accepted");
    store.commit(put(nothing.clone())).await.expect("the batch is accepted");
    assert_eq!(count().await, 1);
    store.commit(put(said)).await.expect("the batch is accepted");
    assert_eq!(count().await, 0, "an extraction that is replaced counts as what it is now");
    store.commit(put(nothing)).await.expect("the batch is accepted");
    let all = documents.iter().map(|document| document.id.clone()).collect::<Vec<_>>();
    store.commit(sample::removal(&all, &["ADA", "BOB", "CLEO", "DAN"])).await.expect("the batch is accepted");
    assert_eq!(count().await, 0);
}

/// A conformance case.
pub async fn searches_within_documents_ignore_all_others(store: &dyn Store) {
    let documents = library(store).await;
    let view = view(store).await;
    let allowed = FilteredIds::resolve(&*view, &filter(r#"{"sources":["notes/old/*","c.md"]}"#), true).await;
    let allowed = allowed.expect("an answer").expect("not every document");
    assert_eq!(
        *allowed.documents(),
        BTreeSet::from([documents[1].id.clone()]),
        "a staged document answers nothing"
    );
    assert!(allowed.admits(ItemKind::Entity, "CLEO") && !allowed.admits(ItemKind::Entity, "BOB"));
    assert_eq!((allowed.degree(&sample::key("ADA")), allowed.degree(&sample::key("BOB"))), (1, 0));

    for (kind, question, found) in [
        (
            ItemKind::Chunk,
            [1.0, 0.0, 0.0],
            vec![sample::whole(&sample::document("notes/old/b.md", "Ada met Cleo")).id.to_string()],
        ),
        (ItemKind::Entity, [0.0, 1.0, 1.0], vec!["CLEO".to_owned()]),
        (ItemKind::Relation, [0.0, 0.0, 1.0], vec![sample::pair("ADA", "CLEO").to_string()]),
    ] {
        let request = SearchRequest::by_vector(kind, question.to_vec(), 1, -1.0);
        let request = request.filtered(Some(Arc::clone(&allowed)));
        assert_eq!(ids(steps::found(&*view, &request).await), found);
    }
    let words = |text, limit, ids| SearchRequest::by_words(ItemKind::Chunk, text, limit).filtered(Some(ids));
    let request = words("ada met", 1, Arc::clone(&allowed));
    let hits = steps::found(&*view, &request).await;
    assert_eq!(hits.len(), 1);
    assert!(allowed.admits(ItemKind::Chunk, &hits[0].item.id()));
    let other =
        FilteredIds::of(&*view, BTreeSet::from([documents[0].id.clone()]), true).await.expect("an answer");
    let other = words("ada met", 1, Arc::new(other));
    assert_ne!(steps::found(&*view, &other).await, hits, "another filter, another answer");
    assert_eq!(steps::found(&*view, &request).await, hits, "a filter asked again answers the same");
    let ada = [graphloom_core::GraphKey::Entity(sample::key("ADA"))];
    let behind = view.chunks_behind(&ada, Some(allowed.as_ref()), 1).await.expect("chunks");
    assert_eq!(behind, [[hits[0].item.clone().into_chunk().expect("a chunk")]]);

    let nothing = Arc::new(FilteredIds::default());
    let request = SearchRequest::by_vector(ItemKind::Chunk, vec![1.0, 0.0, 0.0], 9, -1.0);
    assert_eq!(steps::found(&*view, &request.filtered(Some(Arc::clone(&nothing)))).await, []);
    assert_eq!(steps::found(&*view, &words("ada", 9, nothing)).await, []);
}

/// A conformance case.
pub async fn selecting_by_filter_equals_asking_every_document(store: &dyn Store) {
    let documents = library(store).await;
    let view = view(store).await;
    let ids: Vec<_> = documents.iter().map(|document| document.id.clone()).collect();
    let statuses = graphloom_core::statuses_of(&*view, &ids).await.expect("statuses");
    let by_id = format!(r#"{{"documents":["{}","doc-none"]}}"#, documents[2].id);
    for (json, count) in [
        ("{}", 3),
        (r#"{"sources":["notes/a.md","gone.md"]}"#, 1),
        (r#"{"sources":["notes/a.md"],"meta":["project=mill"]}"#, 0),
        (r#"{"sources":["notes/**"]}"#, 2),
        (r#"{"meta":["project=weir"],"status":["ready"]}"#, 2),
        (r#"{"status":["failed","waiting"]}"#, 0),
        (r#"{"accepted_after":"1970-01-01T00:00:02Z"}"#, 2),
        (by_id.as_str(), 1),
    ] {
        let filter = filter(json);
        let found = filter.select(&*view).await.expect("documents");
        let mut expected: Vec<&Document> = (documents.iter().zip(&statuses))
            .filter(|(document, status)| filter.admits(document, status.kind()))
            .map(|(document, _)| document)
            .collect();
        expected.sort_by(|one, other| one.id.cmp(&other.id));
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{json}");
        assert_eq!(found.len(), count, "{json}");
    }
    let everything = FilteredIds::resolve(&*view, &filter("{}"), true).await.expect("an answer");
    assert_eq!(everything, None, "a filter that admits every document changes nothing");
}
