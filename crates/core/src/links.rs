//! The link graph for graph walks: chunks, relations and entities as numbered nodes with their links.
//!
//! ```text
//! chunk - entity      the chunk mentions the entity, or states a fact about it
//! chunk - relation    the chunk states a fact of the relation
//! relation - entity   the entity is an end of the relation
//! ```
//!
//! Links are undirected, unweighted and unique. They follow from the content of each chunk, so updates are made chunk by chunk.

mod file;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use hashbrown::HashTable;

use crate::{ChunkId, EntityKey, GraphKey, RelationKey};

pub use file::LinkFileError;

/// The arrays are rewritten once more rows than this, and more than a quarter of all rows, have changed.
const MAX_CHANGED_ROWS: usize = 4096;

/// The number of a node in a [`LinkGraph`] and its successors, until the node is removed.
pub type NodeNumber = u32;

/// The item behind a node number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node<'a> {
    /// A chunk.
    Chunk(&'a ChunkId),
    /// An entity.
    Entity(&'a EntityKey),
    /// A relation, given by its entities, the smaller key first.
    Relation(&'a EntityKey, &'a EntityKey),
}

/// Chunks, relations and entities with their links in compressed sparse rows. Changes are kept beside the
/// arrays until there are many of them.
///
/// Clones share unchanged data. Entities and relations without a linked chunk are not nodes.
#[derive(Debug, Clone, Default)]
pub struct LinkGraph {
    names: Arc<Vec<Option<Name>>>,
    orders: Arc<Vec<u64>>,
    /// Maps the hash of a node's name to its number; the hash is also its order.
    by_name: Arc<HashTable<NodeNumber>>,
    rows: Arc<Rows>,
    /// Rows that differ from the arrays or belong to nodes that the arrays do not have.
    changed: HashMap<NodeNumber, Vec<NodeNumber>>,
    /// Numbers of removed nodes.
    free: Vec<NodeNumber>,
}

/// The links of a workspace, if the store can hold them in memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Links {
    /// All links.
    Whole(Arc<LinkGraph>),
    /// There are more links than the store keeps in memory. [`Graph::links_of`](crate::Graph::links_of) reads parts of them.
    TooMany {
        /// The approximate number of linked chunks, entities and relations.
        nodes: usize,
    },
}

/// Two graphs are equal if they link the same items, whatever the node numbers.
impl PartialEq for LinkGraph {
    fn eq(&self, other: &Self) -> bool {
        let other_number = |number: NodeNumber| match self.node(number)? {
            Node::Chunk(id) => other.chunk(id),
            Node::Entity(key) => other.entity(key),
            Node::Relation(a, b) => other.find(&NodeName::Relation(other.entity(a)?, other.entity(b)?)),
        };
        let equal = |&number: &NodeNumber| {
            let Some(twin) = other_number(number) else { return false };
            let mut mine: Vec<_> = self.neighbours(number).iter().map(|&to| other_number(to)).collect();
            let mut theirs: Vec<_> = other.neighbours(twin).iter().map(|&to| Some(to)).collect();
            mine.sort_unstable();
            theirs.sort_unstable();
            mine == theirs
        };
        self.len() == other.len() && self.by_name.iter().all(equal)
    }
}

/// A node's name; a relation refers to its entities by number.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Chunk(ChunkId),
    Entity(EntityKey),
    Relation(NodeNumber, NodeNumber),
}

/// A name to look up.
#[derive(Clone, Copy)]
enum NodeName<'a> {
    Chunk(&'a ChunkId),
    Entity(&'a EntityKey),
    Relation(NodeNumber, NodeNumber),
}

impl NodeName<'_> {
    fn is(self, name: Option<&Option<Name>>) -> bool {
        match (self, name) {
            (Self::Chunk(wanted), Some(Some(Name::Chunk(known)))) => wanted == known,
            (Self::Entity(wanted), Some(Some(Name::Entity(known)))) => wanted == known,
            (Self::Relation(a, b), Some(Some(Name::Relation(known_a, known_b)))) => {
                (a, b) == (*known_a, *known_b)
            }
            (Self::Chunk(_) | Self::Entity(_) | Self::Relation(..), _) => false,
        }
    }

    fn to_name(self) -> Name {
        match self {
            Self::Chunk(id) => Name::Chunk(id.clone()),
            Self::Entity(key) => Name::Entity(key.clone()),
            Self::Relation(a, b) => Name::Relation(a, b),
        }
    }
}

/// Compressed sparse rows: the neighbours of `n` are `neighbours[starts[n]..starts[n + 1]]`.
#[derive(Debug, Default)]
struct Rows {
    starts: Vec<u64>,
    neighbours: Vec<NodeNumber>,
}

impl Rows {
    fn of(&self, node: NodeNumber) -> &[NodeNumber] {
        match self.starts.get(node as usize..node as usize + 2) {
            Some(&[start, end]) => &self.neighbours[start as usize..end as usize],
            Some(_) | None => &[],
        }
    }
}

impl LinkGraph {
    /// Builds the graph from unique chunks, each with its unique entities and relations.
    pub fn of(chunks: impl IntoIterator<Item = (ChunkId, Vec<GraphKey>)>) -> Self {
        let mut builder = LinkGraphBuilder::default();
        chunks.into_iter().for_each(|(chunk, keys)| builder.add(&chunk, &keys));
        builder.build()
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// True if there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Returns the largest node number plus one.
    pub fn numbers(&self) -> usize {
        self.names.len()
    }

    /// Returns the chunk's number; `None` if it has no links.
    pub fn chunk(&self, id: &ChunkId) -> Option<NodeNumber> {
        self.find(&NodeName::Chunk(id))
    }

    /// Returns the entity's number; `None` if no chunk links to it.
    pub fn entity(&self, key: &EntityKey) -> Option<NodeNumber> {
        self.find(&NodeName::Entity(key))
    }

    /// Returns the relation's number; `None` if no chunk links to it.
    pub fn relation(&self, key: &RelationKey) -> Option<NodeNumber> {
        let (a, b) = (self.entity(key.a())?, self.entity(key.b())?);
        self.find(&NodeName::Relation(a, b))
    }

    /// Returns the item behind a number; `None` if the node was removed.
    pub fn node(&self, number: NodeNumber) -> Option<Node<'_>> {
        match self.names.get(number as usize)?.as_ref()? {
            Name::Chunk(id) => Some(Node::Chunk(id)),
            Name::Entity(key) => Some(Node::Entity(key)),
            Name::Relation(a, b) => match (self.names.get(*a as usize)?, self.names.get(*b as usize)?) {
                (Some(Name::Entity(a)), Some(Name::Entity(b))) => Some(Node::Relation(a, b)),
                _ => None,
            },
        }
    }

    /// Returns the position of a node in an order that is the same in every graph. Two nodes share a position
    /// with a probability of about 1 in 2^64.
    pub fn order(&self, number: NodeNumber) -> u64 {
        self.orders.get(number as usize).copied().unwrap_or(u64::MAX)
    }

    /// Returns the linked nodes, each once, in no particular order; empty for a removed node.
    pub fn neighbours(&self, number: NodeNumber) -> &[NodeNumber] {
        self.changed.get(&number).map_or_else(|| self.rows.of(number), Vec::as_slice)
    }

    /// Sets the entities and relations of a chunk. An empty list removes the chunk.
    pub fn set_chunk(&mut self, chunk: &ChunkId, keys: &[GraphKey]) {
        if keys.is_empty() && self.chunk(chunk).is_none() {
            return;
        }
        let chunk = self.number(NodeName::Chunk(chunk));
        let mut wanted: BTreeSet<NodeNumber> = BTreeSet::new();
        for key in keys {
            let (node, ends) = self.graph_node(key);
            if self.neighbours(node).is_empty() {
                ends.into_iter().flatten().for_each(|end| self.link(node, end));
            }
            wanted.insert(node);
        }
        let had: BTreeSet<NodeNumber> = self.neighbours(chunk).iter().copied().collect();
        wanted.difference(&had).for_each(|&node| self.link(chunk, node));
        for &node in had.difference(&wanted) {
            self.unlink(chunk, node);
            self.drop_if_unused(node);
        }
        if wanted.is_empty() {
            self.drop_node(chunk);
        }
        if self.changed.len() > MAX_CHANGED_ROWS.max(self.names.len() / 4) {
            self.fold();
        }
    }

    fn find(&self, wanted: &NodeName<'_>) -> Option<NodeNumber> {
        self.find_at(self.order_of(*wanted), *wanted)
    }

    fn find_at(&self, order: u64, wanted: NodeName<'_>) -> Option<NodeNumber> {
        self.by_name.find(order, |&number| wanted.is(self.names.get(number as usize))).copied()
    }

    fn number(&mut self, wanted: NodeName<'_>) -> NodeNumber {
        let order = self.order_of(wanted);
        if let Some(number) = self.find_at(order, wanted) {
            return number;
        }
        let (names, orders) = (Arc::make_mut(&mut self.names), Arc::make_mut(&mut self.orders));
        let number = match self.free.pop() {
            Some(free) => {
                (names[free as usize], orders[free as usize]) = (Some(wanted.to_name()), order);
                free
            }
            None => {
                names.push(Some(wanted.to_name()));
                orders.push(order);
                (names.len() - 1) as NodeNumber
            }
        };
        Arc::make_mut(&mut self.by_name).insert_unique(order, number, |&known| orders[known as usize]);
        number
    }

    /// Returns the order of a node: the hash of its name, which does not depend on the node's history.
    fn order_of(&self, wanted: NodeName<'_>) -> u64 {
        let hash = match wanted {
            NodeName::Chunk(id) => blake3::hash(id.as_str().as_bytes()),
            NodeName::Entity(key) => blake3::hash(key.as_str().as_bytes()),
            NodeName::Relation(a, b) => {
                let ends = [self.order(a).to_le_bytes(), self.order(b).to_le_bytes()];
                blake3::hash(ends.as_flattened())
            }
        };
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        u64::from_le_bytes(first)
    }

    /// Returns the number of an entity or relation, and for a relation also the numbers of its entities.
    fn graph_node(&mut self, key: &GraphKey) -> (NodeNumber, Option<[NodeNumber; 2]>) {
        match key {
            GraphKey::Entity(key) => (self.number(NodeName::Entity(key)), None),
            GraphKey::Relation(key) => {
                let ends = key.ends().map(|end| self.number(NodeName::Entity(end)));
                (self.number(NodeName::Relation(ends[0], ends[1])), Some(ends))
            }
        }
    }

    fn row_mut(&mut self, node: NodeNumber) -> &mut Vec<NodeNumber> {
        let rows = &self.rows;
        self.changed.entry(node).or_insert_with(|| rows.of(node).to_vec())
    }

    fn link(&mut self, one: NodeNumber, other: NodeNumber) {
        self.row_mut(one).push(other);
        self.row_mut(other).push(one);
    }

    fn unlink(&mut self, one: NodeNumber, other: NodeNumber) {
        self.row_mut(one).retain(|&node| node != other);
        self.row_mut(other).retain(|&node| node != one);
    }

    /// Removes a relation that no chunk states any more, or an entity without links.
    fn drop_if_unused(&mut self, node: NodeNumber) {
        let ends = match self.names.get(node as usize) {
            Some(Some(Name::Relation(a, b))) => Some([*a, *b]),
            Some(Some(Name::Chunk(_) | Name::Entity(_)) | None) | None => None,
        };
        match ends {
            Some(ends) if self.neighbours(node).len() == ends.len() => {
                for end in ends {
                    self.unlink(node, end);
                    self.drop_if_unused(end);
                }
                self.drop_node(node);
            }
            None if self.neighbours(node).is_empty() => self.drop_node(node),
            Some(_) | None => {}
        }
    }

    fn drop_node(&mut self, node: NodeNumber) {
        let order = self.order(node);
        let slot = Arc::make_mut(&mut self.names).get_mut(node as usize);
        if slot.and_then(Option::take).is_some() {
            if let Ok(entry) = Arc::make_mut(&mut self.by_name).find_entry(order, |&number| number == node) {
                entry.remove();
            }
            self.changed.insert(node, Vec::new());
            self.free.push(node);
        }
    }

    /// Rewrites the arrays with all changes.
    fn fold(&mut self) {
        let mut rows = Rows { starts: Vec::with_capacity(self.names.len() + 1), neighbours: Vec::new() };
        rows.starts.push(0);
        for node in 0..self.names.len() as NodeNumber {
            rows.neighbours.extend_from_slice(self.neighbours(node));
            rows.starts.push(rows.neighbours.len() as u64);
        }
        self.rows = Arc::new(rows);
        self.changed.clear();
    }
}

/// Builds a graph from chunks added one by one.
#[derive(Debug, Default)]
pub struct LinkGraphBuilder {
    graph: LinkGraph,
    links: Vec<(NodeNumber, NodeNumber)>,
}

impl LinkGraphBuilder {
    /// Adds a new chunk with its unique entities and relations. A chunk that has none does not become a node.
    pub fn add(&mut self, chunk: &ChunkId, keys: &[GraphKey]) {
        if keys.is_empty() {
            return;
        }
        let chunk = self.graph.number(NodeName::Chunk(chunk));
        for key in keys {
            let known = self.graph.names.len();
            let (node, ends) = self.graph.graph_node(key);
            self.links.push((chunk, node));
            if node as usize >= known {
                self.links.extend(ends.into_iter().flatten().map(|end| (node, end)));
            }
        }
    }

    /// Returns the graph of the added chunks.
    pub fn build(mut self) -> LinkGraph {
        self.graph.rows = Arc::new(rows_of(self.graph.names.len(), &self.links));
        self.graph
    }
}

/// Returns the rows of `nodes` nodes with these unique links, each entered in both directions.
fn rows_of(nodes: usize, links: &[(NodeNumber, NodeNumber)]) -> Rows {
    let mut starts = vec![0u64; nodes + 1];
    for &(one, other) in links {
        starts[one as usize + 1] += 1;
        starts[other as usize + 1] += 1;
    }
    for node in 0..nodes {
        starts[node + 1] += starts[node];
    }
    let mut ends = starts.clone();
    let mut neighbours = vec![0; links.len() * 2];
    let mut enter = |from: NodeNumber, to: NodeNumber| {
        let place = &mut ends[from as usize];
        neighbours[*place as usize] = to;
        *place += 1;
    };
    for &(one, other) in links {
        enter(one, other);
        enter(other, one);
    }
    Rows { starts, neighbours }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    fn entity(number: u8) -> EntityKey {
        EntityKey::from_stored(format!("E{number}"))
    }

    fn chunk(number: u8) -> ChunkId {
        ChunkId::from_stored(format!("chunk-{number}"))
    }

    fn links(entities: &[u8], relations: &[(u8, u8)]) -> Vec<GraphKey> {
        let relations = relations.iter().filter_map(|&(a, b)| RelationKey::new(entity(a), entity(b)));
        let entities = entities.iter().map(|&number| GraphKey::Entity(entity(number)));
        entities.chain(relations.map(GraphKey::Relation)).collect::<BTreeSet<_>>().into_iter().collect()
    }

    #[test]
    fn a_relation_leads_to_its_ends_and_to_the_chunks_that_state_it() {
        let graph = LinkGraph::of([(chunk(1), links(&[1, 2], &[(1, 2)])), (chunk(2), links(&[], &[(2, 1)]))]);
        let relation = RelationKey::new(entity(1), entity(2)).expect("two entities");
        let node = graph.relation(&relation).expect("stated twice");
        assert_eq!(graph.neighbours(node).len(), 4);
        let first = graph.entity(&entity(1)).expect("mentioned");
        assert_eq!(graph.neighbours(first).len(), 2);
        assert_eq!(graph.len(), 5);
        assert_eq!(graph.node(node), Some(Node::Relation(&entity(1), &entity(2))));
    }

    #[test]
    fn nodes_without_chunks_are_removed() {
        let mut graph = LinkGraph::of([(chunk(1), links(&[1], &[(2, 3)])), (chunk(2), links(&[1], &[]))]);
        graph.set_chunk(&chunk(1), &[]);
        assert_eq!(graph.chunk(&chunk(1)), None);
        assert_eq!(graph.entity(&entity(2)), None);
        assert!(graph.entity(&entity(1)).is_some());
        assert_eq!(graph.len(), 2);
    }

    proptest! {
        #[test]
        fn changes_chunk_by_chunk_give_the_same_graph_as_one_build(
            steps in vec((0u8..6, btree_set(0u8..8, 0..4), btree_set((0u8..8, 0u8..8), 0..4)), 0..30)
        ) {
            let mut changed = LinkGraph::default();
            let mut last = BTreeMap::new();
            for (number, entities, relations) in steps {
                let entities: Vec<u8> = entities.into_iter().collect();
                let relations: Vec<(u8, u8)> = relations.into_iter().collect();
                let links = links(&entities, &relations);
                changed.set_chunk(&chunk(number), &links);
                last.insert(chunk(number), links);
            }
            let mut folded = changed.clone();
            folded.fold();
            let built = LinkGraph::of(last.clone());
            prop_assert_eq!(&changed, &built);
            prop_assert_eq!(&folded, &built);
            let without_the_first = LinkGraph::of(last.iter().skip(1).map(|(id, keys)| (id.clone(), keys.clone())));
            let first_leads_somewhere = last.values().next().is_some_and(|keys| !keys.is_empty());
            prop_assert_eq!(without_the_first == built, !first_leads_somewhere);
        }
    }
}
