use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use graphloom_core::{Batch, FilteredIds, SearchRequest, Store, StoreError, WorkspaceId};
use graphloom_rules::search::{Only, VectorQuery};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tempfile::TempDir;

use super::super::changes::Mark;
use super::super::locks::LockPatience;
use super::super::{Patience, SqliteStore, schema};
use super::*;
use crate::conformance::{block_on, sample};
use crate::vector;

/// Trees from the first vector on, with small nodes that are all read, so that nothing is missed.
const READ_WHOLLY: TreeLimits = TreeLimits {
    exact_vectors: 0,
    grown_by: 3,
    node_rows: 4,
    search_width: usize::MAX,
    insert_width: 2,
    settle_width: 3,
    settle_leaves: 2,
    leaves: usize::MAX,
    hits_a_leaf: 1,
    exact_allowed: 0,
    rows_a_look_up: usize::MAX,
    cache_bytes: 1 << 20,
};

mod read_wholly {
    use super::*;

    fn open() -> (SqliteStore, TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let store =
            SqliteStore::open_with(folder.path(), WorkspaceId::default(), Patience::Endless, READ_WHOLLY);
        (store.expect("the store opens"), folder)
    }

    crate::conformance_tests!(open);
}

const DIMENSIONS: usize = 48;

/// Returns the vector with this number: one of 20 directions plus as much noise.
fn near_a_direction(number: u64) -> Vec<f32> {
    let noise = |seed: u64, at: usize| {
        let hash = blake3::hash(&[seed.to_le_bytes(), (at as u64).to_le_bytes()].concat());
        f32::from(hash.as_bytes()[0]) / 127.5 - 1.0
    };
    (0..DIMENSIONS).map(|at| noise(number % 20, at) + noise(1000 + number, at)).collect()
}

struct Fixture {
    conn: Connection,
    limits: TreeLimits,
    _folder: TempDir,
}

impl Fixture {
    fn new(limits: TreeLimits) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("w.graphloom");
        let waiting = LockPatience::new(&path, Patience::Endless);
        let (conn, _) = schema::open_writer(&path, &waiting).expect("a new file");
        // One transaction, so that no change waits for the disk.
        conn.execute_batch("BEGIN").expect("a transaction");
        Self { conn, limits, _folder: folder }
    }

    fn put(&self, number: u64, vector: &[f32]) {
        let mut inserter = TreeInserter::new(&self.conn, self.limits);
        self.put_with(&mut inserter, number, vector);
        inserter.finish().expect("grown");
    }

    /// Puts the vectors with these numbers in one commit.
    fn put_all(&self, numbers: Range<u64>) {
        let mut inserter = TreeInserter::new(&self.conn, self.limits);
        for number in numbers {
            self.put_with(&mut inserter, number, &near_a_direction(number));
        }
        inserter.finish().expect("grown");
    }

    fn contradictions(&self) -> Vec<String> {
        contradictions(&self.conn).expect("a look")
    }

    fn put_with(&self, inserter: &mut TreeInserter<'_>, number: u64, vector: &[f32]) {
        let (data, key, slot) = (vector::encode(vector), format!("E{number}"), number.cast_signed());
        let conn = &self.conn;
        let known = conn.prepare("SELECT 1 FROM vectors WHERE slot = ?1").and_then(|mut s| s.exists([slot]));
        let known = known.expect("a look");
        conn.execute("INSERT OR REPLACE INTO vector_data (slot, data) VALUES (?1, ?2)", params![slot, data])
            .expect("stored");
        conn.execute(
            "INSERT OR REPLACE INTO vectors (kind, key, inputs_hash, slot) VALUES (1, ?1, 'h', ?2)",
            params![key, slot],
        )
        .expect("stored");
        inserter.put(ItemKind::Entity, (slot, &key), &data, !known).expect("put");
    }

    fn remove(&self, number: u64) {
        let slot = number.cast_signed();
        let gone = self.conn.execute("DELETE FROM vectors WHERE slot = ?1", [slot]).expect("removed");
        self.conn.execute("DELETE FROM vector_data WHERE slot = ?1", [slot]).expect("removed");
        if gone > 0 {
            remove(&self.conn, self.limits, ItemKind::Entity, slot).expect("removed");
        }
    }

    fn root(&self) -> Option<i64> {
        root(&self.conn, ItemKind::Entity).expect("a look")
    }

    fn nodes(&self) -> Vec<(i64, Vec<u8>)> {
        let mut select = self.conn.prepare("SELECT id, body FROM vector_nodes ORDER BY id").expect("a look");
        let nodes = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("nodes");
        nodes.collect::<Result<_>>().expect("nodes")
    }

    fn leaves(&self) -> Vec<Node> {
        let (mut open, mut leaves) = (Vec::from_iter(self.root()), Vec::new());
        while let Some(id) = open.pop() {
            let mut node = Node::default();
            Nodes::new(&self.conn).read(id, &mut node).expect("a node");
            match node.level {
                0 => leaves.push(node),
                _ => open.extend(node.rows().map(|row| row.id)),
            }
        }
        leaves
    }

    /// Returns the slots of all leaves, after checking that each is where its place says.
    fn slots(&self) -> BTreeSet<i64> {
        let (mut open, mut slots, mut node) = (Vec::from_iter(self.root()), BTreeSet::new(), Node::default());
        while let Some(id) = open.pop() {
            Nodes::new(&self.conn).read(id, &mut node).expect("a node");
            if node.level > 0 {
                open.extend(node.rows().map(|row| row.id));
                continue;
            }
            for row in node.rows() {
                let leaf: i64 = self
                    .conn
                    .query_row("SELECT leaf FROM vector_places WHERE slot = ?1", [row.id], |row| row.get(0))
                    .expect("a place");
                assert_eq!(leaf, id);
                assert!(slots.insert(row.id), "{} stands twice", row.id);
            }
        }
        slots
    }

    fn query(limit: usize, filtered: Option<Arc<FilteredIds>>) -> VectorQuery {
        let only = Only { filtered, layer: None };
        VectorQuery { kind: ItemKind::Entity, vectors: Vec::new(), limit, min_score: -1.0, only }
    }

    fn found(&self, query: &VectorQuery, question: &[f32]) -> Vec<String> {
        let root = self.root().expect("a tree");
        // Changes here are not in any log, so nodes read earlier may be invalid.
        let (cache, now) = (NodeCache::new(self.limits.cache_bytes), Mark::default());
        let tree = TreeSearch { conn: &self.conn, limits: self.limits, root, cache: &cache, now };
        let hits = tree.search(query, &[vector::to_unit(question)]).expect("hits");
        hits.into_iter().flatten().map(|hit| hit.id).collect()
    }

    fn nearest(&self, query: &VectorQuery, question: &[f32]) -> Vec<String> {
        let ids: Vec<String> = self.slots().into_iter().map(|slot| format!("E{slot}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let hits = vectors::search_ids(&self.conn, query, &[vector::to_unit(question)], &ids).expect("hits");
        hits.into_iter().flatten().map(|hit| hit.id).collect()
    }
}

/// Changes by number. A number that is put again gets another vector.
fn history() -> impl Strategy<Value = Vec<(bool, u64)>> {
    proptest::collection::vec((proptest::bool::weighted(0.8), 0u64..500), 400..600)
}

fn change(fixture: &Fixture, history: &[(bool, u64)]) -> BTreeSet<i64> {
    let mut there = BTreeSet::new();
    for (step, &(puts, number)) in history.iter().enumerate() {
        if puts {
            fixture.put(number, &near_a_direction(number + 20 * step as u64));
            there.insert(number.cast_signed());
        } else {
            fixture.remove(number);
            there.remove(&number.cast_signed());
        }
    }
    there
}

#[test]
fn vectors_inserted_in_bulk_give_the_same_tree_as_one_by_one() {
    let [together, one_by_one] = [(); 2].map(|()| Fixture::new(READ_WHOLLY));
    let mut inserter = TreeInserter::new(&together.conn, together.limits);
    for step in 0..800 {
        // Some vectors are put again in another place.
        let (number, vector) = (step * 7 % 600, near_a_direction(step));
        together.put_with(&mut inserter, number, &vector);
        one_by_one.put(number, &vector);
    }
    inserter.finish().expect("grown");
    assert!(together.nodes() == one_by_one.nodes());
}

#[test]
fn a_kind_with_many_vectors_gets_its_tree_over_several_commits() {
    let fixture = Fixture::new(TreeLimits { exact_vectors: 2000, grown_by: 256, ..READ_WHOLLY });
    fixture.put_all(0..2000);
    assert_eq!(fixture.root(), None, "few vectors have no tree");
    let mut commits = 0;
    while fixture.root().is_none() {
        assert_eq!(fixture.contradictions(), Vec::<String>::new());
        fixture.put_all(2000 + commits..2001 + commits);
        commits += 1;
        // These vectors may or may not be in the tree yet.
        fixture.put(commits * 17, &near_a_direction(9000 + commits));
        fixture.remove(commits * 31);
    }
    assert!((3..2000).contains(&commits), "the tree is built over {commits} commits");
    assert_eq!(fixture.contradictions(), Vec::<String>::new());
    let stored: i64 =
        fixture.conn.query_row("SELECT count(*) FROM vectors", [], |row| row.get(0)).expect("a count");
    assert_eq!(fixture.slots().len() as i64, stored);
}

#[test]
fn a_growing_tree_is_complete_before_the_vectors_multiply_by_five() {
    let fixture = Fixture::new(TreeLimits { exact_vectors: 600, ..READ_WHOLLY });
    (0..15).for_each(|commit| fixture.put_all(200 * commit..200 * (commit + 1)));
    assert_eq!(fixture.slots().len(), 3000);
    assert_eq!(fixture.contradictions(), Vec::<String>::new());
}

#[test]
fn a_kind_that_shrinks_before_its_tree_is_complete_has_none() {
    let fixture = Fixture::new(TreeLimits { exact_vectors: 1000, ..READ_WHOLLY });
    fixture.put_all(0..1000);
    fixture.put_all(1000..1001);
    (0..600).for_each(|number| fixture.remove(number));
    assert_eq!(fixture.nodes(), []);
    assert_eq!(fixture.contradictions(), Vec::<String>::new());
    fixture.put_all(0..600);
    fixture.put_all(2000..2010);
    assert_eq!(fixture.contradictions(), Vec::<String>::new());
}

#[test]
fn after_any_history_a_search_of_few_leaves_finds_nearly_all_nearest_vectors() {
    let limits = TreeLimits {
        exact_vectors: 0,
        node_rows: 16,
        search_width: 6,
        insert_width: 3,
        settle_width: 3,
        settle_leaves: 2,
        leaves: 12,
        ..TreeLimits::default()
    };
    let config = Config { cases: 3, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let (found, asked) = (Cell::new(0usize), Cell::new(0usize));
    runner
        .run(&history(), |history| {
            let fixture = Fixture::new(limits);
            let there = change(&fixture, &history);
            prop_assert_eq!(fixture.slots(), there);
            let query = Fixture::query(10, None);
            for question in 0..20 {
                let question = near_a_direction(50_000 + question);
                let nearest = fixture.nearest(&query, &question);
                asked.set(asked.get() + nearest.len());
                let hits = fixture.found(&query, &question);
                found.set(found.get() + nearest.iter().filter(|id| hits.contains(id)).count());
            }
            Ok(())
        })
        .expect("every history holds");
    let (found, asked) = (found.get(), asked.get());
    assert!(found * 100 >= asked * 95, "{found} of {asked}");
}

/// Returns how many chunks of the `allowed` documents are found, out of 60 documents with one chunk each. Every third
/// is staged, and the last twenty are unrelated to the question.
fn found_within(limits: TreeLimits, allowed: Range<usize>, limit: usize) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open_with(folder.path(), WorkspaceId::default(), Patience::Endless, limits)
        .expect("the store opens");
    let mut batch = Batch::default();
    let mut documents = Vec::new();
    for number in 0..60 {
        let one = sample::indexed(&number.to_string(), &format!("text {number}"), "ADA", "BOB");
        let staged = |new| if number % 3 == 2 { sample::staged(new) } else { new };
        documents.push(one.put_documents[0].document.id.clone());
        batch = Batch { embedding: one.embedding.clone(), ..batch };
        batch.put_documents.extend(one.put_documents.into_iter().map(staged));
        batch.put_chunks.extend(one.put_chunks);
        batch.put_extractions.extend(one.put_extractions);
        let mut vectors = one.put_vectors;
        vectors.retain(|row| row.kind() == ItemKind::Chunk);
        if number >= 40 {
            vectors.iter_mut().for_each(|row| row.vector = vec![0.0, 1.0, 0.0]);
        }
        batch.put_vectors.extend(vectors);
    }
    block_on(store.commit(batch)).expect("accepted");
    let hits: Result<_, StoreError> = block_on(async {
        let snapshot = store.snapshot().await?;
        let allowed = documents[allowed].iter().cloned().collect();
        let allowed = FilteredIds::of(snapshot.as_ref(), allowed, false).await?;
        let request = SearchRequest::by_vector(ItemKind::Chunk, vec![0.9, -0.3, 0.1], limit, -1.0);
        snapshot.search(&[request.filtered(Some(Arc::new(allowed)))]).await
    });
    hits.expect("an answer")[0].len()
}

/// Few leaves are read, so a search in the tree finds few entries.
const ONE_LEAF: TreeLimits = TreeLimits { leaves: 1, search_width: 1, hits_a_leaf: 100, ..READ_WHOLLY };

#[test]
fn a_filter_with_few_matches_is_searched_exactly() {
    assert_eq!(found_within(TreeLimits { exact_allowed: 30, ..ONE_LEAF }, 0..1, 50), 1);
    assert_eq!(found_within(TreeLimits { exact_allowed: 30, ..ONE_LEAF }, 0..30, 50), 20);
}

#[test]
fn a_filter_is_searched_exactly_if_that_costs_less_than_the_leaves() {
    let leaves = TreeLimits { leaves: 15, ..ONE_LEAF };
    assert!(found_within(leaves, 0..60, 50) < 40);
    assert_eq!(found_within(TreeLimits { rows_a_look_up: 1, ..leaves }, 0..60, 50), 40);
}

#[test]
fn allowed_vectors_are_found_even_far_from_the_question() {
    let leaves = TreeLimits { leaves: 15, search_width: usize::MAX, ..ONE_LEAF };
    assert_eq!(found_within(leaves, 40..60, 5), 5);
}

#[test]
fn staged_vectors_take_no_place_among_the_hits_of_a_filter() {
    assert_eq!(found_within(TreeLimits { exact_allowed: 60, ..ONE_LEAF }, 0..60, 15), 15);
}

#[test]
fn a_tree_exists_only_while_there_are_many_vectors() {
    let fixture = Fixture::new(TreeLimits { exact_vectors: 20, grown_by: 20, ..READ_WHOLLY });
    for number in 0..21 {
        assert_eq!(fixture.root(), None, "at {number}");
        fixture.put(number, &near_a_direction(number));
    }
    assert_eq!(fixture.slots().len(), 21);
    (0..12).for_each(|number| fixture.remove(number));
    assert_eq!(fixture.root(), None);
    let left: i64 = fixture
        .conn
        .query_row(
            "SELECT (SELECT count(*) FROM vector_nodes) + (SELECT count(*) FROM vector_places)",
            [],
            |row| row.get(0),
        )
        .expect("a count");
    assert_eq!(left, 0);
}

#[test]
fn equal_vectors_fill_any_number_of_leaves() {
    let fixture = Fixture::new(READ_WHOLLY);
    (0..50).for_each(|number| fixture.put(number, &[1.0, 0.0, 0.5]));
    let query = Fixture::query(50, None);
    assert_eq!(fixture.found(&query, &[1.0, 0.0, 0.0]).len(), 50);
    (0..50).for_each(|number| fixture.put(number, &[0.0, 0.0, 0.0]));
    assert_eq!(fixture.slots().len(), 50);
}

#[test]
fn vectors_of_an_older_file_are_counted_and_get_their_tree() {
    let fixture = Fixture::new(TreeLimits::default());
    (0..30).for_each(|number| fixture.put(number, &near_a_direction(number)));
    fixture.conn.execute("DELETE FROM vector_trees", []).expect("as an older file has it");
    build_trees(&fixture.conn, TreeLimits { exact_vectors: 10, ..READ_WHOLLY }).expect("planted");
    assert_eq!(fixture.slots().len(), 30);
    assert_eq!(Tree::read(&fixture.conn, ItemKind::Entity).expect("a look").vectors, 30);
}

#[test]
fn every_leaf_gets_its_turn_even_if_turns_are_skipped() {
    let fixture = Fixture::new(TreeLimits { node_rows: 16, ..READ_WHOLLY });
    (0..1500).for_each(|number| fixture.put(number, &near_a_direction(number)));
    let leaves = fixture.leaves().len();
    let mut known = NodeReads::default();
    let mut descent = descent::Descent::new(&fixture.conn, fixture.root().expect("a tree"), &mut known);
    for step in 1..=4u64 {
        let turns = (0..4 * leaves as u64).map(|turn| settle::place_of(turn * step));
        let ways = turns.map(|place| descent.path_to(place).expect("a way"));
        let reached: BTreeSet<i64> = ways.filter_map(|way| way.last().copied()).collect();
        assert_eq!(reached.len(), leaves, "every turn of {step}");
    }
}

/// Returns the percentage of rows that are in the leaf with the nearest direction, if the vectors were added subject by subject.
fn share_in_nearest_leaf(settle_width: usize, settle_leaves: u64) -> usize {
    let limits = TreeLimits {
        exact_vectors: 0,
        node_rows: 16,
        search_width: 8,
        insert_width: 4,
        settle_width,
        settle_leaves,
        ..TreeLimits::default()
    };
    let fixture = Fixture::new(limits);
    let subjects = (0..20).flat_map(|subject| (0..75).map(move |number| subject + 20 * number));
    subjects.for_each(|number| fixture.put(number, &near_a_direction(number)));
    assert_eq!(fixture.slots().len(), 1500);
    let leaves = fixture.leaves();
    let directions: Vec<Vec<f32>> = leaves.iter().map(Node::direction).collect();
    let is_at_the_nearest = |leaf: &Node, own: &[f32], place: usize| {
        let row = node::direction(leaf.row_bytes(place));
        let own = vector::cosine(&row, own);
        directions.iter().all(|other| vector::cosine(&row, other) <= own)
    };
    let there: usize = (leaves.iter().zip(&directions))
        .map(|(leaf, own)| {
            (0..leaf.rows().count()).filter(|&place| is_at_the_nearest(leaf, own, place)).count()
        })
        .sum();
    there * 100 / 1500
}

#[test]
fn after_splits_rows_are_in_the_nearest_leaf() {
    let unsettled = share_in_nearest_leaf(1, 0);
    let (around, in_turn) = (share_in_nearest_leaf(8, 0), share_in_nearest_leaf(1, 8));
    assert!(around.min(in_turn) >= unsettled + 5, "{around} and {in_turn} of a hundred, {unsettled} without");
    assert!(in_turn >= 95, "{in_turn}");
}

/// Returns the vector with this number. Twelve of its thousand numbers are not zero.
fn sparse(number: u64) -> Vec<f32> {
    let mut vector = vec![0.0; 1000];
    for seed in 0..12u64 {
        let hash =
            blake3::hash(&[number.wrapping_mul(1 + seed / 8).to_le_bytes(), seed.to_le_bytes()].concat());
        let [low, high, size, ..] = *hash.as_bytes();
        vector[usize::from(u16::from_le_bytes([low, high])) % 1000] = f32::from(size) - 100.5;
    }
    vector
}

fn check_tree_of_sparse_vectors(fixture: &Fixture, numbers: &BTreeSet<i64>) {
    assert_eq!(&fixture.slots(), numbers);
    let query = Fixture::query(10, None);
    for question in [3, 500, 7000] {
        assert_eq!(fixture.found(&query, &sparse(question)), fixture.nearest(&query, &sparse(question)));
    }
    assert_eq!(contradictions(&fixture.conn).expect("compared"), Vec::<String>::new());
    let leaves: BTreeSet<i64> = (numbers.iter())
        .map(|slot| {
            let leaf = "SELECT leaf FROM vector_places WHERE slot = ?1";
            fixture.conn.query_row(leaf, [slot], |row| row.get(0)).expect("a place")
        })
        .collect();
    for (id, body) in fixture.nodes() {
        assert!(!leaves.contains(&id) || body.len() < 1000 * 4, "a leaf of four takes {}", body.len());
    }
}

#[test]
fn leaves_of_sparse_vectors_are_packed_without_loss() {
    let fixture = Fixture::new(READ_WHOLLY);
    let mut there = BTreeSet::new();
    for step in 0..400 {
        let number = step * 7 % 150;
        match step % 5 {
            4 => {
                fixture.remove(number);
                there.remove(&number.cast_signed());
            }
            _ => {
                fixture.put(number, &sparse(number + 1000 * step));
                there.insert(number.cast_signed());
            }
        }
    }
    check_tree_of_sparse_vectors(&fixture, &there);
}

#[test]
fn leaves_of_an_older_file_are_packed() {
    let fixture = Fixture::new(READ_WHOLLY);
    (0..100).for_each(|number| fixture.put(number, &sparse(number)));
    let numbers: BTreeSet<i64> = (0..100).collect();
    let mut node = Node::default();
    for (id, _) in fixture.nodes() {
        Nodes::new(&fixture.conn).read(id, &mut node).expect("a node");
        let row_bytes = node.form().row_bytes;
        let head = [node.rows().count() as u32, node.level, row_bytes as u32].map(u32::to_le_bytes).concat();
        let mut body = [head, node.bytes().to_vec()].concat();
        body.resize(12 + 4 * row_bytes, 0);
        fixture
            .conn
            .execute("UPDATE vector_nodes SET body = ?2 WHERE id = ?1", params![id, body])
            .expect("as before");
    }
    assert_eq!(fixture.slots(), numbers, "they are read unchanged");
    pack_leaves(&fixture.conn).expect("packed");
    check_tree_of_sparse_vectors(&fixture, &numbers);
    (100..150).for_each(|number| fixture.put(number, &sparse(number)));
    check_tree_of_sparse_vectors(&fixture, &(0..150).collect());
}
