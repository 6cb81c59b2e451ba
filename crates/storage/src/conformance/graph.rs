//! Cases of the graph: evidence, views and decisions.

use graphloom_core::{Batch, Claim, GraphKey, ItemKind, Span, Store, table};

use super::sample;
use super::steps::{commit, get, invalid, near, view};

/// A conformance case.
pub async fn mentions_and_facts_are_found_from_either_side(store: &dyn Store) {
    let new = sample::document("a", "abcdefgh");
    let chunks: Vec<_> =
        (0..3).map(|n| sample::chunk(&new, n, Span::new(n as usize, n as usize + 4))).collect();
    let mut ids: Vec<_> = chunks.iter().map(|chunk| chunk.id.clone()).collect();
    ids.sort();
    let mentions = vec![
        sample::mention(&ids[2], 0, "A"),
        sample::mention(&ids[0], 1, "A"),
        sample::mention(&ids[0], 0, "B"),
    ];
    let facts = vec![
        sample::fact(&ids[1], 0, "B", "A"),
        sample::fact(&ids[0], 1, "A", "C"),
        sample::fact(&ids[0], 0, "A", "B"),
    ];
    commit(
        store,
        Batch {
            put_documents: vec![new],
            put_chunks: chunks,
            put_mentions: mentions.clone(),
            put_facts: facts.clone(),
            ..Batch::default()
        },
    )
    .await;
    let before = view(store).await;
    let keys = ["A", "C", "X"].map(sample::key);
    let [m2, m1, _] = <[_; 3]>::try_from(mentions).expect("three");
    assert_eq!(get(before.mentions_of(&keys).await), [vec![m1, m2], vec![], vec![]]);
    let [f1, f_c, f0] = <[_; 3]>::try_from(facts).expect("three");
    let ab = vec![f0.clone(), f1.clone()];
    assert_eq!(get(before.facts_of(&[sample::pair("A", "B"), sample::pair("B", "C")]).await), [ab, vec![]]);
    assert_eq!(get(before.facts_touching(&keys[..2]).await), [vec![f0, f1, f_c.clone()], vec![f_c]]);
    let relation = |one, other| GraphKey::Relation(sample::pair(one, other));
    let entity = |name| GraphKey::Entity(sample::key(name));
    assert_eq!(
        get(before.graph_keys_of(&ids[..1]).await),
        [entity("A"), entity("B"), entity("C"), relation("A", "B"), relation("A", "C")]
    );
    let behind =
        get(before.chunks_behind(&[entity("A"), relation("A", "B"), relation("B", "C")], None, 1).await);
    assert_eq!(behind, [vec![ids[0].clone()], vec![ids[0].clone()], vec![]]);

    // A record with the same place replaces the old one, whatever the old one counted for. A cleared chunk has no records.
    let replaced = sample::mention(&ids[2], 0, "C");
    let batch = Batch {
        clear_graph_of: vec![ids[0].clone()],
        put_mentions: vec![replaced.clone()],
        ..Batch::default()
    };
    commit(store, batch).await;
    let after = view(store).await;
    assert_eq!(get(after.mentions_of(&keys[..2]).await), [vec![], vec![replaced]]);
    assert_eq!(get(after.counts().await).facts, 1);
}

/// A conformance case.
pub async fn claims_are_found_by_both_entities_and_removed_with_their_chunk(store: &dyn Store) {
    let new = sample::document("a", "abcdefgh");
    let chunks: Vec<_> =
        (0..2).map(|n| sample::chunk(&new, n, Span::new(n as usize, n as usize + 4))).collect();
    let mut ids: Vec<_> = chunks.iter().map(|chunk| chunk.id.clone()).collect();
    ids.sort();
    let claims = [
        sample::claim(&ids[1], 0, "B", Some("A")),
        sample::claim(&ids[0], 1, "A", None),
        sample::claim(&ids[0], 0, "A", Some("C")),
        sample::claim(&ids[0], 2, "A", Some("A")),
    ];
    let batch = Batch {
        put_documents: vec![new],
        put_chunks: chunks,
        put_claims: claims.to_vec(),
        ..Batch::default()
    };
    commit(store, batch).await;
    let before = view(store).await;
    let keys = ["A", "C", "X"].map(sample::key);
    let [of_b, alone, of_c, itself] = claims;
    let of_a = vec![of_c.clone(), alone.clone(), itself.clone(), of_b.clone()];
    assert_eq!(get(before.claims_of(&keys).await), [of_a, vec![of_c.clone()], vec![]]);
    assert_eq!(get(before.counts().await).claims, 4);

    let replaced = sample::claim(&ids[1], 0, "C", None);
    commit(store, Batch { put_claims: vec![replaced.clone()], ..Batch::default() }).await;
    assert_eq!(get(view(store).await.claims_of(&keys[1..2]).await), [vec![of_c, replaced.clone()]]);
    commit(store, Batch { clear_graph_of: vec![ids[0].clone()], ..Batch::default() }).await;
    let after = view(store).await;
    assert_eq!(get(after.claims_of(&keys).await), [vec![], vec![replaced], vec![]]);
    let none = graphloom_core::ChunkId::from_stored("none");
    invalid(store, Batch { put_claims: vec![sample::claim(&none, 0, "A", None)], ..Batch::default() }).await;
    let empty = Claim { span: Span::new(1, 1), ..sample::claim(&ids[1], 0, "A", None) };
    invalid(store, Batch { put_claims: vec![empty], ..Batch::default() }).await;
}

/// A conformance case.
pub async fn mentions_need_their_chunk(store: &dyn Store) {
    let chunk = graphloom_core::ChunkId::from_stored("none");
    invalid(store, Batch { put_mentions: vec![sample::mention(&chunk, 0, "A")], ..Batch::default() }).await;
    invalid(store, Batch { put_facts: vec![sample::fact(&chunk, 0, "A", "B")], ..Batch::default() }).await;
}

/// A conformance case.
pub async fn entities_and_relations_are_stored_and_removed_with_vectors_and_summaries(store: &dyn Store) {
    let owner = GraphKey::Relation(sample::pair("ADA", "BOB"));
    let mut batch = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    batch.put_relations.push(sample::relation("AAA", "ADA", "more"));
    batch.set_summaries = vec![(owner.clone(), vec![sample::summary("s")])];
    let relations = batch.put_relations.clone();
    commit(store, batch).await;
    let before = view(store).await;
    let keys = ["ADA", "NOBODY"].map(sample::key);
    assert_eq!(
        get(before.relations_of(&keys).await),
        [vec![relations[1].clone(), relations[0].clone()], vec![]]
    );
    assert_eq!(get(before.degrees(&keys).await), [1, 0]);
    let changed = sample::entity("ADA", "changed");
    let batch = Batch {
        put_entities: vec![changed.clone()],
        remove_entities: vec![sample::key("BOB")],
        remove_relations: vec![sample::pair("ADA", "BOB"), sample::pair("X", "Y")],
        ..Batch::default()
    };
    commit(store, batch).await;
    let after = view(store).await;
    let entities = get(after.entities(&["ADA", "BOB"].map(sample::key)).await);
    assert_eq!(entities, [Some(changed), None]);
    assert_eq!(get(after.relations(&[sample::pair("ADA", "BOB")]).await), [None]);
    assert_eq!(get(after.summaries(&[owner]).await), [vec![]]);
    assert_eq!(near(&*after, ItemKind::Entity, &[0.0, 1.0, 0.0], 9).await, ["ADA"]);
    assert!(near(&*after, ItemKind::Relation, &[0.0, 0.0, 1.0], 9).await.is_empty());
    assert_eq!(near(&*before, ItemKind::Relation, &[0.0, 0.0, 1.0], 9).await, ["ADA\tBOB"]);
}

/// A conformance case.
pub async fn summaries_are_replaced_as_a_whole(store: &dyn Store) {
    let owner = GraphKey::Entity(sample::key("ADA"));
    let set = |names: &[&str]| Batch {
        set_summaries: vec![(owner.clone(), names.iter().map(|name| sample::summary(name)).collect())],
        ..Batch::default()
    };
    commit(store, set(&["x", "y"])).await;
    commit(store, set(&["y", "z"])).await;
    let mut expected = vec![sample::summary("y"), sample::summary("z")];
    expected.sort_by(|x, y| x.key.cmp(&y.key));
    assert_eq!(get(view(store).await.summaries(std::slice::from_ref(&owner)).await), [expected]);
    commit(store, set(&[])).await;
    assert_eq!(get(view(store).await.summaries(std::slice::from_ref(&owner)).await), [vec![]]);
}

/// A conformance case.
pub async fn stale_marks_can_be_set_and_cleared_and_are_removed_with_their_items(store: &dyn Store) {
    let [ada, bob] = ["ADA", "BOB"].map(|name| GraphKey::Entity(sample::key(name)));
    let pair = GraphKey::Relation(sample::pair("ADA", "BOB"));
    let mark = |keys: &[(&GraphKey, bool)]| Batch {
        set_stale: keys.iter().map(|(key, is_stale)| ((*key).clone(), *is_stale)).collect(),
        ..Batch::default()
    };
    commit(store, sample::indexed("a", "Ada met Bob", "ADA", "BOB")).await;
    let before = view(store).await.graph_revision();
    commit(store, mark(&[(&pair, true), (&bob, true), (&ada, true), (&ada, true)])).await;
    let snapshot = view(store).await;
    assert!(
        snapshot.graph_revision() > before,
        "what was derived from the older state is not right any more"
    );
    assert_eq!(get(snapshot.counts().await).stale, 3);
    assert_eq!(get(snapshot.scan(table::Stale, None, 2).await), [ada.clone(), bob.clone()]);
    assert_eq!(get(snapshot.scan(table::Stale, Some(&bob), 2).await), [pair]);
    commit(store, mark(&[(&ada, false)])).await;
    commit(store, Batch { remove_entities: vec![sample::key("BOB")], ..Batch::default() }).await;
    commit(store, Batch { remove_relations: vec![sample::pair("ADA", "BOB")], ..Batch::default() }).await;
    assert!(get(view(store).await.scan(table::Stale, None, 9).await).is_empty());
}

/// A conformance case.
pub async fn decisions_keep_their_order_and_change_the_graph(store: &dyn Store) {
    let decisions: Vec<_> =
        [(0, "ADA"), (1, "BOB"), (300, "ADA")].map(|(order, name)| sample::decision(order, name, "x")).into();
    let mut put = decisions.clone();
    put.reverse();
    let before = view(store).await.graph_revision();
    commit(store, Batch { put_decisions: put, ..Batch::default() }).await;
    let after = view(store).await;
    assert!(after.graph_revision() > before, "what was derived without them is not right any more");
    assert_eq!(get(after.scan(table::Decisions, None, 9).await), decisions);
    let first = (decisions[0].order, decisions[0].id.clone());
    assert_eq!(get(after.scan(table::Decisions, Some(&first), 1).await), decisions[1..2]);
    assert_eq!(get(after.counts().await).decisions, 3);
}

/// A conformance case.
pub async fn set_aside_records_are_stored_and_not_counted(store: &dyn Store) {
    let mut batch = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    batch.put_mentions[0].set_aside = true;
    batch.put_facts[0].set_aside = true;
    let (mention, fact) = (batch.put_mentions[0].clone(), batch.put_facts[0].clone());
    commit(store, batch).await;
    let view = view(store).await;
    assert_eq!(get(view.mentions_of(&[sample::key("ADA")]).await), [vec![mention.clone()]]);
    assert_eq!(get(view.facts_of(&[sample::pair("ADA", "BOB")]).await), [vec![fact]]);
    let bob = GraphKey::Entity(sample::key("BOB"));
    assert_eq!(
        get(view.graph_keys_of(std::slice::from_ref(&mention.chunk)).await),
        std::slice::from_ref(&bob)
    );
    let keys = [GraphKey::Entity(sample::key("ADA")), GraphKey::Relation(sample::pair("ADA", "BOB")), bob];
    assert_eq!(get(view.chunks_behind(&keys, None, 9).await), [vec![], vec![], vec![mention.chunk]]);
}
