//! Cases of vectors, vector search and full-text search.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graphloom_core::{
    Batch, EmbeddingSpec, FilteredIds, ItemKey, ItemKind, NewDocument, Require, SearchRequest, Store,
    StoreError, table,
};

use super::sample;
use super::steps::{commit, found, get, invalid, matching, near, refusal, view};

/// A conformance case.
pub async fn the_embedding_space_is_set_once(store: &dyn Store) {
    let set = |spec| Batch { embedding: Some(spec), ..Batch::default() };
    commit(store, set(sample::space(3))).await;
    commit(store, set(sample::space(3))).await;
    let other = EmbeddingSpec { model: "other".to_owned(), dimensions: 3 };
    for spec in [sample::space(4), other] {
        let error = refusal(store, set(spec)).await;
        assert!(matches!(error, StoreError::EmbeddingMismatch { .. }), "{error:?}");
    }
    assert_eq!(get(view(store).await.embedding().await), Some(sample::space(3)));
}

/// A conformance case.
pub async fn all_vectors_can_be_replaced_by_those_of_another_space(store: &dyn Store) {
    let kinds = [ItemKind::Chunk, ItemKind::Entity, ItemKind::Relation];
    commit(store, sample::indexed("a", "Ada met Bob", "ADA", "BOB")).await;
    let chunk = get(view(store).await.scan(table::Chunks, None, 1).await)[0].id.to_string();
    let ids = [(ItemKind::Chunk, chunk.as_str()), (ItemKind::Entity, "ADA"), (ItemKind::Entity, "BOB")];
    let put_vectors = ids.map(|(kind, id)| sample::vector(kind, id, &[1.0, 0.0, 0.5])).to_vec();
    commit(store, Batch { embedding: Some(sample::space(3)), put_vectors, ..Batch::default() }).await;
    let before = view(store).await;
    assert_eq!(near(&*before, ItemKind::Entity, &[1.0, 0.0, 0.0], 5).await.len(), 2);
    let graph_revision = before.graph_revision();

    let other = EmbeddingSpec { model: "other".to_owned(), dimensions: 40 };
    let direction = |at: usize| (0..40).map(|place| f32::from(place == at)).collect::<Vec<f32>>();
    let replace = || Batch {
        require: vec![Require::UnchangedSince(before.revision())],
        replace_embedding: true,
        embedding: Some(other.clone()),
        put_vectors: vec![
            sample::vector(ItemKind::Chunk, &chunk, &direction(39)),
            sample::vector(ItemKind::Entity, "ADA", &direction(20)),
        ],
        ..Batch::default()
    };
    commit(store, replace()).await;
    let after = view(store).await;
    assert_eq!(get(after.embedding().await), Some(other.clone()));
    assert!(after.graph_revision() > graph_revision, "layers rest on vectors");
    assert_eq!(near(&*after, ItemKind::Entity, &direction(20), 5).await, ["ADA"]);
    assert_eq!(near(&*after, ItemKind::Chunk, &direction(39), 5).await, [chunk.as_str()]);
    for kind in kinds {
        let of_kind = ids.iter().filter(|(of, id)| *of == kind && *id != "BOB").count();
        assert_eq!(get(after.scan(table::Vectors { kind }, None, 9).await).len(), of_kind);
    }
    // The older snapshot still has its own vectors.
    assert_eq!(near(&*before, ItemKind::Entity, &[1.0, 0.0, 0.0], 5).await.len(), 2);
    let error = refusal(store, replace()).await;
    assert!(error.is_conflict(), "the workspace changed: {error:?}");
}

/// A conformance case.
pub async fn vectors_must_fit_the_space(store: &dyn Store) {
    let put = |vector: &[f32]| Batch {
        put_vectors: vec![sample::vector(ItemKind::Entity, "A", vector)],
        ..Batch::default()
    };
    invalid(store, put(&[1.0, 0.0])).await;
    commit(store, Batch { embedding: Some(sample::space(2)), ..put(&[1.0, 0.0]) }).await;
    invalid(store, put(&[1.0, 0.0, 0.0])).await;
    let short = [SearchRequest::by_vector(ItemKind::Entity, vec![1.0], 1, 0.0)];
    let error = view(store).await.search(&short).await.expect_err("a query of another space");
    assert!(matches!(error, StoreError::EmbeddingMismatch { .. }), "{error:?}");
}

/// A conformance case.
pub async fn vectors_are_found_by_cosine_with_ties_by_id(store: &dyn Store) {
    let vectors: [(&str, [f32; 2]); 5] = [
        ("FAR", [-1.0, 0.0]),
        ("B", [5.0, 5.0]),
        ("A", [1.0, 1.0]),
        ("NEAR", [9.0, 0.1]),
        ("ZERO", [0.0, 0.0]),
    ];
    let rows = vectors.iter().map(|(id, vector)| sample::vector(ItemKind::Entity, id, vector)).collect();
    commit(store, Batch { embedding: Some(sample::space(2)), put_vectors: rows, ..Batch::default() }).await;
    let view = view(store).await;
    assert_eq!(near(&*view, ItemKind::Entity, &[2.0, 0.0], 9).await, ["NEAR", "A", "B"]);
    assert_eq!(near(&*view, ItemKind::Entity, &[2.0, 0.0], 2).await, ["NEAR", "A"]);
    assert!(near(&*view, ItemKind::Entity, &[2.0, 0.0], 0).await.is_empty());
    assert!(near(&*view, ItemKind::Chunk, &[2.0, 0.0], 9).await.is_empty());
    let both = [[1.0, 0.0], [-1.0, 0.0]]
        .map(|vector| SearchRequest::by_vector(ItemKind::Entity, vector.to_vec(), 1, -1.0));
    let hits = get(view.search(&both).await);
    assert_eq!([&*hits[0][0].item.id(), &*hits[1][0].item.id()], ["NEAR", "FAR"]);
    assert!((hits[0][0].score - 0.99994).abs() < 1e-3 && (hits[1][0].score - 1.0).abs() < 1e-3);
    let stored = get(view.vectors(&["B", "NONE"].map(|name| ItemKey::Entity(sample::key(name)))).await);
    let unit = stored[0].as_ref().expect("stored");
    assert!(unit.iter().all(|x| (x - 0.5f32.sqrt()).abs() < 1e-3), "{unit:?}");
    assert_eq!(stored[1], None);
}

/// A conformance case.
pub async fn equal_vectors_beyond_the_limit_keep_the_smallest_ids(store: &dyn Store) {
    let name = |n: usize| format!("E{:03}", (n * 37) % 200);
    let rows = (0..200).map(|n| sample::vector(ItemKind::Entity, &name(n), &[0.6, 0.8])).collect();
    commit(store, Batch { embedding: Some(sample::space(2)), put_vectors: rows, ..Batch::default() }).await;
    let view = view(store).await;
    assert_eq!(near(&*view, ItemKind::Entity, &[1.0, 0.5], 3).await, ["E000", "E001", "E002"]);
}

/// A conformance case.
pub async fn an_old_snapshot_searches_its_own_vectors(store: &dyn Store) {
    let put = |id: &str, vector: &[f32]| sample::vector(ItemKind::Entity, id, vector);
    let rows = vec![put("A", &[1.0, 0.0]), put("B", &[0.8, 0.6]), put("C", &[0.6, 0.8])];
    commit(store, Batch { embedding: Some(sample::space(2)), put_vectors: rows, ..Batch::default() }).await;
    let old = view(store).await;
    assert_eq!(near(&*old, ItemKind::Entity, &[1.0, 0.0], 3).await, ["A", "B", "C"]);
    let batch = Batch {
        remove_entities: vec![sample::key("A")],
        put_vectors: vec![put("C", &[1.0, 0.0]), put("D", &[1.0, 0.1])],
        ..Batch::default()
    };
    commit(store, batch).await;
    let new = view(store).await;
    assert_eq!(near(&*new, ItemKind::Entity, &[1.0, 0.0], 3).await, ["C", "D", "B"]);
    assert_eq!(near(&*old, ItemKind::Entity, &[1.0, 0.0], 3).await, ["A", "B", "C"]);
    assert_eq!(near(&*old, ItemKind::Entity, &[1.0, 0.0], 1).await, ["A"]);
}

/// A conformance case.
pub async fn text_is_found_by_stem_in_any_script(store: &dyn Store) {
    let texts = ["The engines were running quietly", "東京タワーは高い", "Straße nach Köln, ENGINE off"];
    let new: Vec<_> =
        texts.iter().enumerate().map(|(n, text)| sample::document(&n.to_string(), text)).collect();
    let chunks: Vec<_> = new.iter().map(sample::whole).collect();
    let id = |n: usize| chunks[n].id.to_string();
    commit(store, Batch { put_documents: new, put_chunks: chunks.clone(), ..Batch::default() }).await;
    let view = view(store).await;
    assert_eq!(matching(&*view, ItemKind::Chunk, "run").await, [id(0)]);
    assert_eq!(matching(&*view, ItemKind::Chunk, "東京").await, [id(1)]);
    assert_eq!(matching(&*view, ItemKind::Chunk, "塔 タワー").await, [id(1)]);
    assert_eq!(matching(&*view, ItemKind::Chunk, "KÖLN").await, [id(2)]);
    let mut both = [id(0), id(2)];
    both.sort();
    let mut found = matching(&*view, ItemKind::Chunk, "engine").await;
    found.sort();
    assert_eq!(found, both);
    assert_eq!(matching(&*view, ItemKind::Chunk, "running engine").await[0], id(0));
    assert!(matching(&*view, ItemKind::Entity, "engine").await.is_empty());
}

/// Queries, each with a text that it must find.
const MATCHING: [(&str, &str); 46] = [
    ("strasse", "Straße"),
    ("STRAẞE", "Strasse"),
    ("Straße", "STRASSE"),
    ("muller", "Herr Müller"),
    ("Müller", "Mu\u{308}ller"),
    ("Zürich", "ZURICH"),
    ("zurich", "in Zürich, 東京"),
    ("cafe", "two cafés"),
    ("Cafés", "a cafe"),
    ("lodz", "Łódź"),
    ("tromso", "Tromsø"),
    ("dordevic", "Đorđević"),
    ("encyclopaedia", "encyclopædias"),
    ("oeuvre", "Œuvres"),
    ("istanbul", "İSTANBUL"),
    ("diyarbakir", "Diyarbakır"),
    ("thingvellir", "Þingvellir"),
    ("οδυσσευς", "ΟΔΥΣΣΕΥΣ"),
    ("ΟΔΥΣΣΕΥΣ", "Οδυσσεύς"),
    ("елка", "Ёлка"),
    ("МОСКВА", "москва"),
    ("احمد", "أَحْمَد"),
    ("إسلام", "اسلام"),
    ("ٱلكتاب", "الكتاب"),
    ("على", "علي"),
    ("مدرسه", "مدرسة"),
    ("محمد", "محـــمد"),
    ("2026", "٢٠٢٦"),
    ("שלום", "שָׁלוֹם"),
    ("हिन्दी", "हिन्दी भाषा"),
    ("カタカナ", "ｶﾀｶﾅ"),
    ("ｶﾞｽ", "東京ガス"),
    ("한국", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}"),
    ("nasa", "ＮＡＳＡ"),
    ("office", "oﬃce"),
    ("acme", "Acme™"),
    ("information", "infor\u{ad}mation"),
    ("USA", "U.S.A."),
    ("u.s.a", "in the USA"),
    ("J.R.R. Tolkien", "JRR"),
    ("orleans", "Jeanne d'Orléans"),
    ("Orléans", "D’ORLEANS"),
    ("eau", "de l'eau"),
    ("arte", "dell’arte"),
    ("Ada", "Ada's engines"),
    ("engine", "Ada's engines"),
];
/// Queries, each with a text that it must not find.
const NOT_MATCHING: [(&str, &str); 10] = [
    ("strase", "Straße"),
    ("SA", "U.S.A."),
    ("nodejs", "node.js"),
    ("ab", "a. b"),
    ("dont", "don't"),
    ("acmetm", "Acme™"),
    ("カ", "ガ"),
    ("हिन", "हिन्दी भाषा"),
    ("دار", "در"),
    ("العربية", "مدرسة"),
];

/// A conformance case.
pub async fn words_match_in_any_spelling(store: &dyn Store) {
    let texts: BTreeSet<&str> = MATCHING.iter().chain(&NOT_MATCHING).map(|(_, text)| *text).collect();
    let put_documents: Vec<_> = texts.iter().map(|text| sample::document(text, text)).collect();
    let put_chunks: Vec<_> = put_documents.iter().map(sample::whole).collect();
    let of: BTreeMap<&str, String> =
        texts.into_iter().zip(put_chunks.iter().map(|chunk| chunk.id.to_string())).collect();
    commit(store, Batch { put_documents, put_chunks, ..Batch::default() }).await;
    let view = view(store).await;
    for (question, text) in MATCHING {
        let found = matching(&*view, ItemKind::Chunk, question).await;
        assert!(found.contains(&of[text]), "{question} finds {text}");
    }
    for (question, text) in NOT_MATCHING {
        let found = matching(&*view, ItemKind::Chunk, question).await;
        assert!(!found.contains(&of[text]), "{question} does not find {text}");
    }
}

/// A conformance case.
pub async fn keyword_scores_depend_only_on_existing_texts(store: &dyn Store) {
    let kept: Vec<_> =
        (0..40).map(|n| sample::document(&format!("kept {n}"), &prose(n, 3 + n * 5 % 40))).collect();
    let passing: Vec<_> =
        (0..60).map(|n| sample::document(&format!("passing {n}"), &prose(n + 7, 60 + n))).collect();
    let entity = |n: usize, words: usize| sample::entity(&format!("E{n}"), &prose(n, words));
    let add = |documents: &[NewDocument]| Batch {
        put_chunks: documents.iter().map(sample::whole).collect(),
        put_documents: documents.to_vec(),
        ..Batch::default()
    };
    let remove = |documents: &[NewDocument]| Batch {
        remove_documents: documents.iter().map(|new| new.document.id.clone()).collect(),
        ..Batch::default()
    };
    let entities = |words: usize| Batch {
        put_entities: (0..20).map(|n| entity(n, words + n % 5)).collect(),
        ..Batch::default()
    };
    commit(store, add(&kept)).await;
    commit(store, entities(4)).await;
    let expected = scores(store).await;

    for part in passing.chunks(20) {
        commit(store, add(part)).await;
        assert_ne!(scores(store).await, expected);
    }
    commit(store, entities(30)).await;
    commit(store, remove(&passing)).await;
    assert_ne!(scores(store).await, expected);
    commit(store, entities(4)).await;
    assert_eq!(scores(store).await, expected, "after others came and went");

    commit(store, remove(&kept)).await;
    let kept: Vec<_> = kept.into_iter().rev().collect();
    for (some, others) in kept.chunks(8).zip(passing.chunks(12)) {
        commit(store, add(&[others, some].concat())).await;
        assert_ne!(scores(store).await, expected);
    }
    for others in passing.chunks(25) {
        assert_ne!(scores(store).await, expected);
        commit(store, remove(others)).await;
    }
    assert_eq!(scores(store).await, expected, "in another order and in several commits");
}

/// A conformance case.
pub async fn faint_words_count_for_a_quarter(store: &dyn Store) {
    let put_documents: Vec<_> = ["the pump", "leak", "rain fell", "snow fell"]
        .map(|text| sample::document(text, text))
        .into_iter()
        .collect();
    let put_chunks = put_documents.iter().map(sample::whole).collect();
    commit(store, Batch { put_documents, put_chunks, ..Batch::default() }).await;
    let view = view(store).await;
    let score = async |text: &str, faint: &[&str]| {
        let faint = faint.iter().map(|word| (*word).to_owned()).collect();
        let request = [SearchRequest::by_words(ItemKind::Chunk, text, 9).with_faint(faint)];
        let found = get(view.search(&request).await).remove(0);
        found.first().map(|hit| hit.score)
    };
    let (whole, faint) = (score("leak", &[]).await, score("leak", &["Leak", "other"]).await);
    assert_eq!(whole.map(|score| score * 0.25), faint);
    assert_eq!(score("leak", &["other"]).await, whole);
}

/// A conformance case.
pub async fn the_best_keyword_hits_are_the_first_of_all_hits(store: &dyn Store) {
    let put_documents: Vec<_> =
        (0..300).map(|n| sample::document(&n.to_string(), &prose(n, 1 + n * n % 50))).collect();
    let put_chunks = put_documents.iter().map(sample::whole).collect();
    let some = put_documents.iter().step_by(3).map(|new| new.document.id.clone()).collect();
    commit(store, Batch { put_documents, put_chunks, ..Batch::default() }).await;
    let view = view(store).await;
    let some = Arc::new(get(FilteredIds::of(&*view, some, true).await));
    for text in QUESTIONS {
        for filtered in [None, Some(&some)] {
            let ask = |limit, filtered: Option<&Arc<FilteredIds>>| {
                SearchRequest::by_words(ItemKind::Chunk, text, limit).filtered(filtered.cloned())
            };
            let mut all = found(&*view, &ask(1000, None)).await;
            all.retain(|hit| filtered.is_none_or(|ids| ids.admits(ItemKind::Chunk, &hit.item.id())));
            for limit in [1, 2, 9, 40, 1000] {
                let best = found(&*view, &ask(limit, filtered)).await;
                assert_eq!(best, all[..limit.min(all.len())], "{text}");
            }
        }
    }
}

/// Queries for [`prose`].
const QUESTIONS: [&str; 4] = [
    "harbour",
    "the letter of the captain",
    "silver mill, stone bridge and the river",
    "Where were the lights of the engine in winter?",
];

/// Returns a text of this many words, some of which are much rarer than others.
fn prose(seed: usize, words: usize) -> String {
    const WORDS: [&str; 16] = [
        "the", "of", "and", "in", "river", "stone", "harbour", "engine", "light", "winter", "letter",
        "garden", "captain", "silver", "mill", "bridge",
    ];
    let word = |n: usize| {
        let mixed = (seed * 31 + n * n * 17 + n * 7) % 97;
        WORDS[mixed % 16 * (mixed % 7 + 1) / 7]
    };
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// Returns the hits of all questions with all bits of their scores.
async fn scores(store: &dyn Store) -> Vec<(String, u32)> {
    let view = view(store).await;
    let mut scores = Vec::new();
    for kind in [ItemKind::Chunk, ItemKind::Entity] {
        for text in QUESTIONS {
            for limit in [3, 1000] {
                let hits = found(&*view, &SearchRequest::by_words(kind, text, limit)).await;
                scores.extend(hits.into_iter().map(|hit| (hit.item.id().into_owned(), hit.score.to_bits())));
            }
        }
    }
    scores
}

/// A conformance case.
pub async fn query_syntax_in_a_question_is_ordinary_text(store: &dyn Store) {
    let batch = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    let chunk = batch.put_chunks[0].id.to_string();
    commit(store, batch).await;
    let view = view(store).await;
    for text in ["\"ada\" AND (", "ada:*", "-ada", "NOT ada", "ada^9 \\", "chunk:ada"] {
        assert_eq!(matching(&*view, ItemKind::Chunk, text).await, [chunk.as_str()], "{text}");
    }
    for text in ["", "   ", "\"", "*", "()"] {
        assert!(matching(&*view, ItemKind::Chunk, text).await.is_empty(), "{text}");
    }
}

/// A conformance case.
pub async fn changed_descriptions_are_found_by_their_new_words(store: &dyn Store) {
    commit(store, sample::indexed("a", "Ada met Bob", "ADA", "BOB")).await;
    let before = view(store).await;
    assert_eq!(matching(&*before, ItemKind::Entity, "second bob").await, ["BOB"]);
    assert_eq!(matching(&*before, ItemKind::Relation, "ada").await, ["ADA\tBOB"]);
    let batch = Batch {
        put_entities: vec![sample::entity("BOB", "a carpenter")],
        put_relations: vec![sample::relation("ADA", "BOB", "siblings")],
        ..Batch::default()
    };
    commit(store, batch).await;
    let after = view(store).await;
    assert_eq!(matching(&*after, ItemKind::Entity, "carpenters").await, ["BOB"]);
    assert!(matching(&*after, ItemKind::Entity, "second").await.is_empty());
    assert_eq!(matching(&*after, ItemKind::Relation, "sibling").await, ["ADA\tBOB"]);
}

/// A conformance case.
pub async fn concurrent_searches_return_the_same_as_sequential_ones(store: &dyn Store) {
    commit(store, sample::indexed("a", "Ada met Bob", "ADA", "BOB")).await;
    let vectors = ["ADA", "BOB"].map(|id| sample::vector(ItemKind::Entity, id, &[1.0, 0.5, 0.2])).to_vec();
    commit(store, Batch { embedding: Some(sample::space(3)), put_vectors: vectors, ..Batch::default() })
        .await;
    let view = view(store).await;
    let near = |kind, vector: [f32; 3]| SearchRequest::by_vector(kind, vector.to_vec(), 5, -1.0);
    let of = |kind, text| SearchRequest::by_words(kind, text, 5);
    let requests = [
        of(ItemKind::Chunk, "bob"),
        near(ItemKind::Entity, [1.0, 0.0, 0.0]),
        near(ItemKind::Relation, [1.0, 0.0, 0.0]),
        of(ItemKind::Chunk, "zebra"),
        near(ItemKind::Entity, [0.0, -1.0, 0.3]),
        of(ItemKind::Entity, "ada"),
    ];
    for part in [&requests[..], &requests[..1], &requests[1..3], &requests[3..], &[]] {
        let all = get(view.search(part).await);
        assert_eq!(all.len(), part.len());
        for (request, hits) in part.iter().zip(all) {
            assert_eq!(hits, found(&*view, request).await);
        }
    }
    let wrong = [requests[0].clone(), SearchRequest::by_vector(ItemKind::Entity, vec![1.0, 0.0], 5, -1.0)];
    let error = view.search(&wrong).await.expect_err("a query of another space");
    assert!(matches!(error, StoreError::EmbeddingMismatch { .. }), "{error:?}");
}
