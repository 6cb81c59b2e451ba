//! Cases of layers, which are views over a whole workspace.

use graphloom_core::{
    Batch, ContentHash, ItemKind, LayerName, LayerNode, Member, NodeKey, Require, Revision, SearchRequest,
    Store, table, write_dump,
};

use super::sample;
use super::steps::{commit, conflict, counts, found, get, invalid, matching, near, view};

/// Commits a graph of two documents and the layer `themes` over it: two nodes of entities or chunks, and a node of these two.
async fn layered(store: &dyn Store) -> [LayerNode; 3] {
    commit(store, sample::indexed("a", "Ada met Bob", "ADA", "BOB")).await;
    let second = sample::indexed("b", "Cleo met Dan", "CLEO", "DAN");
    let chunk = Member::Chunk(second.put_chunks[0].id.clone());
    commit(store, second).await;
    let people = sample::node("themes", 1, [entity("ADA"), entity("BOB")], "The chess club");
    let letters = sample::node("themes", 1, [chunk], "The letters");
    let all =
        sample::node("themes", 0, [&people, &letters].map(|node| Member::Node(node.key.clone())), "All");
    let vector = |node: &LayerNode, vector: &[f32]| sample::vector(ItemKind::Node, node.key.as_str(), vector);
    let batch = Batch {
        put_layers: vec![sample::layer("themes", 2, true)],
        // The order does not matter.
        put_nodes: [&all, &people, &letters].map(LayerNode::clone).to_vec(),
        put_vectors: vec![vector(&people, &[1.0, 0.0, 0.0]), vector(&all, &[0.0, 1.0, 0.0])],
        ..Batch::default()
    };
    commit(store, batch).await;
    [people, letters, all]
}

fn entity(name: &str) -> Member {
    Member::Entity(sample::key(name))
}

fn nodes(layer: &LayerName, level: Option<u32>) -> table::Nodes {
    table::Nodes { layer: layer.clone(), level }
}

fn keys(nodes: &[&LayerNode]) -> Vec<NodeKey> {
    let mut keys: Vec<NodeKey> = nodes.iter().map(|node| node.key.clone()).collect();
    keys.sort();
    keys
}

/// A conformance case.
pub async fn nodes_of_layers_are_found_by_key_member_level_vector_and_keywords(store: &dyn Store) {
    let [people, letters, all] = layered(store).await;
    let now = view(store).await;
    let layer = LayerName::new("themes").expect("a name");
    assert_eq!(get(now.layers().await), [sample::layer("themes", 2, true)]);
    assert_eq!(now.graph_revision(), Revision(2), "a layer is no part of the graph");
    let asked = [letters.key.clone(), NodeKey::from_stored("themes-none"), all.key.clone()];
    assert_eq!(get(now.nodes(&asked).await), [Some(letters.clone()), None, Some(all.clone())]);
    let members = [entity("ADA"), entity("CLEO"), Member::Node(letters.key.clone())];
    let expected = [vec![people.key.clone()], vec![], vec![all.key.clone()]];
    assert_eq!(get(now.nodes_of(&members).await), expected);
    assert_eq!(get(now.node_counts(&layer).await), [(0, 1), (1, 2)].into());
    let listed = |nodes: Vec<LayerNode>| nodes.into_iter().map(|node| node.key).collect::<Vec<_>>();
    let below = keys(&[&people, &letters]);
    assert_eq!(listed(get(now.scan(nodes(&layer, Some(1)), None, 9).await)), below);
    assert_eq!(listed(get(now.scan(nodes(&layer, Some(1)), Some(&below[0]), 9).await)), below[1..]);
    assert_eq!(
        listed(get(now.scan(nodes(&layer, None), None, 2).await)),
        keys(&[&people, &letters, &all])[..2]
    );
    let other = LayerName::new("theme").expect("a name");
    assert_eq!(get(now.scan(nodes(&other, None), None, 9).await), []);
    let found = near(&*now, ItemKind::Node, &[1.0, 0.1, 0.0], 1).await;
    assert_eq!(found, [people.key.as_str()]);
    assert_eq!(matching(&*now, ItemKind::Node, "chess").await, [people.key.as_str()]);

    let is = |layer| Require::LayerIs { name: sample::layer("themes", 2, true).name, layer };
    let renewed = sample::layer("themes", 2, false);
    let renew =
        |require| Batch { require: vec![require], put_layers: vec![renewed.clone()], ..Batch::default() };
    conflict(store, renew(is(None))).await;
    conflict(store, renew(is(Some(renewed.clone())))).await;
    commit(store, renew(is(Some(sample::layer("themes", 2, true))))).await;
    assert_eq!(get(view(store).await.layers().await), [renewed]);

    let mut written = people.clone();
    written.text = "About gambits.".to_owned();
    written.inputs_hash = ContentHash::of(b"others");
    commit(store, Batch { put_nodes: vec![written.clone()], ..Batch::default() }).await;
    let after = view(store).await;
    assert_eq!(get(after.nodes(std::slice::from_ref(&people.key)).await), [Some(written)]);
    assert_eq!(matching(&*after, ItemKind::Node, "gambit").await, [people.key.as_str()]);
}

/// A conformance case.
pub async fn a_search_in_one_layer_finds_its_nodes_even_if_many_of_others_match_better(store: &dyn Store) {
    commit(store, sample::indexed("a", "Ada met Bob", "ADA", "BOB")).await;
    // One name is a prefix of the other.
    let [one, other] = ["themes", "themes_2"].map(|name| LayerName::new(name).expect("a name"));
    let put_nodes: Vec<LayerNode> = (0..40)
        .map(|level| sample::node(other.as_str(), level, [entity("ADA")], "Chess, chess and chess"))
        .chain([sample::node(one.as_str(), 0, [entity("BOB")], "A long report that mentions chess once")])
        .collect();
    let vector = |node: &LayerNode| {
        let values = if node.layer == one { [0.6, 0.8, 0.0] } else { [1.0, 0.0, 0.0] };
        sample::vector(ItemKind::Node, node.key.as_str(), &values)
    };
    let batch = Batch {
        put_layers: [&one, &other].map(|name| sample::layer(name.as_str(), 1, true)).to_vec(),
        put_vectors: put_nodes.iter().map(vector).collect(),
        put_nodes: put_nodes.clone(),
        ..Batch::default()
    };
    commit(store, batch).await;
    let now = view(store).await;
    let by_vector = |limit| SearchRequest::by_vector(ItemKind::Node, vec![1.0, 0.0, 0.0], limit, -1.0);
    let by_words = |limit| SearchRequest::by_words(ItemKind::Node, "chess", limit);
    for ask in [&by_vector as &dyn Fn(usize) -> SearchRequest, &by_words] {
        let all = found(&*now, &ask(99)).await;
        assert_eq!(all.len(), put_nodes.len());
        for layer in [&one, &other] {
            let mut expected = all.clone();
            expected.retain(|hit| layer.holds(&hit.item.id()));
            for limit in [1, 7, 99] {
                let hits = found(&*now, &ask(limit).in_layer(layer.clone())).await;
                assert_eq!(hits, expected[..limit.min(expected.len())], "{layer}, {limit}");
            }
        }
        let none = LayerName::new("theme").expect("a name");
        assert_eq!(found(&*now, &ask(9).in_layer(none)).await, []);
        assert_eq!(
            found(&*now, &SearchRequest { kind: ItemKind::Entity, ..ask(9).in_layer(one.clone()) }).await,
            []
        );
    }
}

/// A conformance case.
pub async fn a_node_is_removed_with_any_of_its_members(store: &dyn Store) {
    let [people, letters, all] = layered(store).await;
    let before = view(store).await;
    commit(store, sample::removal(&[], &["ADA"])).await;
    let after = view(store).await;
    let asked = [&people, &letters, &all].map(|node| node.key.clone());
    assert_eq!(get(after.nodes(&asked).await), [None, Some(letters.clone()), None]);
    assert!(matching(&*after, ItemKind::Node, "chess").await.is_empty());
    assert_eq!((counts(store).await.nodes, counts(store).await.node_vectors), (1, 0));
    assert_eq!(get(before.nodes(&asked).await).iter().flatten().count(), 3);

    let document = sample::document("b", "Cleo met Dan").document.id;
    commit(store, sample::removal(&[document], &["CLEO", "DAN"])).await;
    assert_eq!(counts(store).await.nodes, 0);
    assert_eq!(get(view(store).await.layers().await).len(), 1);
}

/// A conformance case.
pub async fn layers_and_nodes_are_removed_with_what_is_built_on_them(store: &dyn Store) {
    let [people, _, all] = layered(store).await;
    let over = sample::node("over", 0, [Member::Node(all.key.clone())], "Over all");
    let batch =
        Batch { put_layers: vec![sample::layer("over", 3, true)], put_nodes: vec![over], ..Batch::default() };
    commit(store, batch).await;
    assert_eq!(counts(store).await.nodes, 4);
    commit(store, Batch { remove_nodes: vec![people.key.clone()], ..Batch::default() }).await;
    assert_eq!((counts(store).await.nodes, counts(store).await.node_vectors), (1, 0));
    let removed = sample::layer("themes", 2, true).name;
    commit(store, Batch { remove_layers: vec![removed], ..Batch::default() }).await;
    assert_eq!(counts(store).await.nodes, 0);
    assert_eq!(get(view(store).await.layers().await), [sample::layer("over", 3, true)]);
}

/// A conformance case.
pub async fn nodes_need_their_layer_their_members_and_their_own_key(store: &dyn Store) {
    let [people, _, all] = layered(store).await;
    let put = |node: LayerNode| Batch { put_nodes: vec![node], ..Batch::default() };
    invalid(store, put(sample::node("none", 0, [entity("ADA")], "of no layer"))).await;
    invalid(store, put(sample::node("themes", 0, [entity("EVE")], "of nobody"))).await;
    invalid(store, put(sample::node("themes", 0, [], "of nothing"))).await;
    invalid(store, put(LayerNode { level: 7, ..people.clone() })).await;
    let unsorted = LayerNode { members: people.members.iter().rev().cloned().collect(), ..people };
    invalid(store, put(unsorted)).await;
    invalid(store, Batch { put_layers: vec![sample::layer("No name", 0, true)], ..Batch::default() }).await;
    let orphan = Batch {
        remove_nodes: vec![all.members[0].id()].into_iter().map(NodeKey::from_stored).collect(),
        put_nodes: vec![all],
        ..Batch::default()
    };
    invalid(store, orphan).await;
}

/// A conformance case.
pub async fn only_current_layers_are_part_of_the_canonical_state(store: &dyn Store) {
    commit(store, sample::indexed("a", "Ada met Bob", "ADA", "BOB")).await;
    let dumped = async || {
        let mut lines = Vec::new();
        write_dump(&*view(store).await, &mut lines).await.expect("memory does not fail").hash
    };
    let plain = dumped().await;
    let node = sample::node("themes", 0, [entity("ADA")], "Ada");
    let key = node.key.to_string();
    let put = |watermark, complete| Batch {
        put_layers: vec![sample::layer("themes", watermark, complete)],
        put_nodes: vec![node.clone()],
        put_vectors: vec![sample::vector(ItemKind::Node, &key, &[1.0, 0.0, 0.0])],
        ..Batch::default()
    };
    for out_of_date in [put(1, false), put(0, true)] {
        commit(store, out_of_date).await;
        assert_eq!(dumped().await, plain);
    }
    commit(store, put(1, true)).await;
    let current = dumped().await;
    assert_ne!(current, plain);
    commit(store, put(2, true)).await;
    assert_eq!(dumped().await, current, "when it was derived makes no difference");
    commit(store, Batch { put_entities: vec![sample::entity("BOB", "changed")], ..Batch::default() }).await;
    assert!(!get(view(store).await.layers().await)[0].is_current(view(store).await.graph_revision()));
}
