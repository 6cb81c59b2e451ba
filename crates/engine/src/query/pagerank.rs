//! Personalized PageRank over the links of the graph, computed outwards from the seeds.
//!
//! Source: Andersen, Chung, Lang, "Local Graph Partitioning using PageRank Vectors", FOCS 2006 (the push), and Gutiérrez et
//! al., "From RAG to Memory", ICML 2025 (HippoRAG 2: the use for retrieval).

use std::collections::BTreeMap;

use graphloom_core::{LinkGraph, Node, NodeNumber};

/// Maximum number of rounds. With a damping of 0.9, less than 1e-10 of the weight is still on its way after these.
const MAX_ROUNDS: usize = 220;

/// Entities with up to this many links get the same weight as other nodes.
const FEW_LINKS: usize = 8;

/// Lower limit of an entity's ease.
const LEAST_EASE: f64 = 1e-6;

/// How far and how exactly to compute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PageRank {
    /// The share that goes on to the neighbours at every step; the rest stays at the node.
    pub(super) damping: f64,
    /// A node passes on its remaining weight only if that is more than this for each of its links. The work is bounded by
    /// 1/`precision`, whatever the size of the graph.
    pub(super) precision: f64,
    /// This many links beyond [`FEW_LINKS`] divide by `e` the weight that an entity gets from its neighbours, because an
    /// entity that occurs everywhere is not specific.
    pub(super) hub_links: f64,
}

/// The nodes that PageRank reached, with scores and paths.
pub(super) struct Reach {
    /// By node number: the index in `reached` plus one; zero if the node was not reached.
    places: Vec<u32>,
    reached: Vec<ReachedNode>,
}

/// A node that PageRank reached.
struct ReachedNode {
    node: NodeNumber,
    score: f64,
    /// Weight that it has not passed on yet.
    waiting: f64,
    /// True if it is in the list of the round.
    is_active: bool,
    /// Index of the node from which this one was first reached; its own index for a seed.
    from: usize,
    /// The largest share received in the round in which it was first reached; zero after this round.
    best_share: f64,
    /// Relative weight that it gets from its neighbours, 1 for nodes with few links.
    ease: f64,
}

impl Reach {
    /// Returns every node with a score, each once, in no particular order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeNumber> {
        self.reached.iter().map(|reached| reached.node)
    }

    /// Returns the node's PageRank; zero if it was not reached. The scores of all nodes add up to 1, except for remainders
    /// too small to be passed on.
    pub(super) fn score(&self, node: NodeNumber) -> f64 {
        self.place(node).map_or(0.0, |place| self.reached[place].score)
    }

    /// Returns the nodes from a seed to this one, both included. Each step goes back to the node from which it was first
    /// reached, or of several in that round the one that passed on most. One node for a seed, none for a node not reached.
    pub(super) fn path(&self, node: NodeNumber) -> Vec<NodeNumber> {
        let mut path = Vec::new();
        let mut at = self.place(node);
        while let Some(place) = at {
            let ReachedNode { node, from, .. } = self.reached[place];
            path.push(node);
            at = (from != place).then_some(from);
        }
        path.reverse();
        path
    }

    fn place(&self, node: NodeNumber) -> Option<usize> {
        self.places.get(node as usize)?.checked_sub(1).map(|place| place as usize)
    }

    /// Returns the index of a node and whether it is new. A new node is added, reached from `from` or as a seed. `ease` is
    /// called only for a new node.
    fn touch(&mut self, node: NodeNumber, from: Option<usize>, ease: impl FnOnce() -> f64) -> (usize, bool) {
        if let Some(place) = self.place(node) {
            return (place, false);
        }
        let place = self.reached.len();
        let from = from.unwrap_or(place);
        self.reached.push(ReachedNode {
            node,
            score: 0.0,
            waiting: 0.0,
            is_active: false,
            from,
            best_share: 0.0,
            ease: ease(),
        });
        self.places[node as usize] = self.reached.len() as u32;
        (place, true)
    }
}

/// The graph that PageRank walks.
#[derive(Clone, Copy)]
pub(super) struct GraphView<'a> {
    pub(super) graph: &'a LinkGraph,
    /// Links in addition to those of the graph, listed at both ends.
    pub(super) also: Option<&'a BTreeMap<NodeNumber, Vec<NodeNumber>>>,
    /// Says which chunks exist; `None` admits all. Entities and relations without a link to an admitted chunk do not exist
    /// either.
    pub(super) admits: Option<&'a dyn Fn(NodeNumber) -> bool>,
}

impl<'a> GraphView<'a> {
    /// Returns a view of the whole graph.
    #[cfg(test)]
    fn all(graph: &'a LinkGraph) -> Self {
        Self { graph, also: None, admits: None }
    }
}

/// Computes PageRank from the seeds, whose weights are scaled to add up to 1.
///
/// - A seed without links keeps all its weight.
/// - The order of additions does not depend on how the graph was built, so equal graphs give equal bits.
pub(super) fn pagerank(view: GraphView<'_>, seeds: &[(NodeNumber, f64)], config: PageRank) -> Reach {
    let graph = view.graph;
    let numbers = graph.numbers();
    let mut reach = Reach { places: vec![0; numbers], reached: Vec::new() };
    let looked_at = view.admits.map_or(0, |_| numbers);
    let mut seen = NodeFilter { view, known: vec![UNKNOWN; looked_at] };
    let canonical = |node: NodeNumber| (graph.order(node), node);

    let mut seeds: Vec<(NodeNumber, f64)> =
        seeds.iter().copied().filter(|&(node, weight)| weight > 0.0 && seen.admit(node)).collect();
    // A node may be a seed more than once; its weights are added up in a fixed order.
    seeds.sort_by(|one, other| canonical(one.0).cmp(&canonical(other.0)).then(one.1.total_cmp(&other.1)));
    let total: f64 = seeds.iter().map(|(_, weight)| weight).sum();
    for (node, weight) in seeds {
        let (at, _) = reach.touch(node, None, || seen.ease(node, config.hub_links));
        reach.reached[at].waiting += weight / total;
    }

    let mut active: Vec<usize> = (0..reach.reached.len()).collect();
    let mut admitted = Vec::new();
    let mut entered = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let mut handing_on = Vec::new();
        for place in active.drain(..) {
            let at = &mut reach.reached[place];
            at.is_active = false;
            let links = seen.neighbours(at.node, &mut admitted).len() as f64;
            let part = at.waiting;
            if links == 0.0 {
                at.score += part;
                at.waiting = 0.0;
            } else if part > config.precision * links {
                at.score += (1.0 - config.damping) * part;
                at.waiting = 0.0;
                handing_on.push((place, at.node, config.damping * part));
            }
        }
        if handing_on.is_empty() {
            break;
        }
        handing_on.sort_unstable_by_key(|&(_, node, _)| canonical(node));
        let reached_before = reach.reached.len();
        for (place, node, part) in handing_on {
            entered.clear();
            for &next in seen.neighbours(node, &mut admitted) {
                entered.push(reach.touch(next, Some(place), || seen.ease(next, config.hub_links)));
            }
            let part = part / total_ease(entered.iter().map(|&(next, _)| reach.reached[next].ease));
            for &(next, is_new) in &entered {
                let share = part * reach.reached[next].ease;
                let next_at = &mut reach.reached[next];
                // `best_share` is non-zero only in the round in which the node is first reached.
                if is_new || (next_at.best_share > 0.0 && share > next_at.best_share) {
                    (next_at.from, next_at.best_share) = (place, share);
                }
                if !next_at.is_active {
                    next_at.is_active = true;
                    active.push(next);
                }
                next_at.waiting += share;
            }
        }
        reach.reached[reached_before..].iter_mut().for_each(|reached| reached.best_share = 0.0);
    }
    for reached in &mut reach.reached {
        // The remainder that was too small to pass on would have left this much here.
        reached.score += (1.0 - config.damping) * reached.waiting;
    }
    reach
}

/// Returns the sum, with the same bits in any order of the items.
fn total_ease(all: impl Iterator<Item = f64>) -> f64 {
    let mut whole = 0usize;
    let mut parts: Vec<f64> = all
        .filter(|&ease| {
            ease < 1.0 || {
                whole += 1;
                false
            }
        })
        .collect();
    parts.sort_unstable_by(f64::total_cmp);
    whole as f64 + parts.into_iter().sum::<f64>()
}

/// It is not known yet whether the node exists.
const UNKNOWN: u8 = 0;
const ABSENT: u8 = 1;
const PRESENT: u8 = 2;

/// Remembers which nodes the view admits; `known` is empty if it admits all.
struct NodeFilter<'a> {
    view: GraphView<'a>,
    known: Vec<u8>,
}

impl<'a> NodeFilter<'a> {
    fn admit(&mut self, node: NodeNumber) -> bool {
        let GraphView { graph, admits: Some(admits), .. } = self.view else { return true };
        if self.known[node as usize] == UNKNOWN {
            let is_chunk = |node: NodeNumber| matches!(graph.node(node), Some(Node::Chunk(_)));
            let is_present = match is_chunk(node) {
                true => admits(node),
                false => graph.neighbours(node).iter().any(|&next| is_chunk(next) && admits(next)),
            };
            self.known[node as usize] = if is_present { PRESENT } else { ABSENT };
        }
        self.known[node as usize] == PRESENT
    }

    /// Returns the relative weight that the node gets from its neighbours.
    fn ease(&mut self, node: NodeNumber, hub_links: f64) -> f64 {
        let Some(Node::Entity(_)) = self.view.graph.node(node) else { return 1.0 };
        let links = self.neighbours(node, &mut Vec::new()).len();
        match links.checked_sub(FEW_LINKS) {
            None | Some(0) => 1.0,
            Some(beyond) => (-(beyond as f64) / hub_links).exp().max(LEAST_EASE),
        }
    }

    /// Returns the neighbours of a node that the view admits. `out` is used if they differ from the node's row in the graph.
    fn neighbours<'b>(&mut self, node: NodeNumber, out: &'b mut Vec<NodeNumber>) -> &'b [NodeNumber]
    where
        'a: 'b,
    {
        let GraphView { graph, also, admits } = self.view;
        let row = graph.neighbours(node);
        let also = also.and_then(|also| also.get(&node)).map_or(&[][..], Vec::as_slice);
        if admits.is_none() && also.is_empty() {
            return row;
        }
        out.clear();
        out.extend(row.iter().chain(also).copied().filter(|&next| self.admit(next)));
        out
    }
}

#[cfg(test)]
mod tests {
    use graphloom_core::{ChunkId, EntityKey, GraphKey, RelationKey};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const EXACT: PageRank = PageRank { damping: 0.8, precision: 1e-14, hub_links: 5.0 };

    fn entity(number: u8) -> EntityKey {
        EntityKey::from_stored(format!("E{number}"))
    }

    fn chunk(number: usize) -> ChunkId {
        ChunkId::from_stored(format!("chunk-{number}"))
    }

    /// The facts of each chunk: pairs of related entities.
    type ChunkFacts = Vec<Vec<(u8, u8)>>;

    fn keys(pairs: &[(u8, u8)]) -> Vec<GraphKey> {
        let mut keys: Vec<GraphKey> = Vec::new();
        for &(one, other) in pairs {
            keys.extend([one, other].map(|end| GraphKey::Entity(entity(end))));
            keys.extend(RelationKey::new(entity(one), entity(other)).map(GraphKey::Relation));
        }
        keys.sort();
        keys.dedup();
        keys
    }

    fn graph_of(said: &ChunkFacts) -> LinkGraph {
        LinkGraph::of(said.iter().enumerate().map(|(number, pairs)| (chunk(number), keys(pairs))))
    }

    fn present(graph: &LinkGraph) -> Vec<NodeNumber> {
        (0..graph.numbers() as NodeNumber).filter(|&node| graph.node(node).is_some()).collect()
    }

    /// Computes PageRank by solving its equations with Gaussian elimination.
    fn solved(graph: &LinkGraph, seeds: &[(NodeNumber, f64)], damping: f64) -> BTreeMap<NodeNumber, f64> {
        let nodes = present(graph);
        let place: BTreeMap<NodeNumber, usize> = nodes.iter().enumerate().map(|(at, &n)| (n, at)).collect();
        let total: f64 = seeds.iter().map(|(_, weight)| weight).sum();
        let n = nodes.len();
        let mut rows = vec![vec![0.0; n + 1]; n];
        for (at, &node) in nodes.iter().enumerate() {
            rows[at][at] += 1.0;
            let links = graph.neighbours(node);
            let ease = |next: &NodeNumber| match graph.node(*next) {
                Some(Node::Entity(_)) => (-(graph.neighbours(*next).len() as f64 - 8.0).max(0.0) / 5.0).exp(),
                _ => 1.0,
            };
            let total: f64 = links.iter().map(ease).sum();
            for next in links {
                rows[place[next]][at] -= damping * ease(next) / total;
            }
        }
        for (node, weight) in seeds {
            rows[place[node]][n] += (1.0 - damping) * weight / total;
        }
        for pivot in 0..n {
            let best = (pivot..n).max_by(|&a, &b| rows[a][pivot].abs().total_cmp(&rows[b][pivot].abs()));
            rows.swap(pivot, best.expect("a row"));
            let head = rows[pivot].clone();
            for row in rows.iter_mut().skip(pivot + 1) {
                let factor = row[pivot] / head[pivot];
                row.iter_mut().zip(&head).skip(pivot).for_each(|(x, y)| *x -= factor * y);
            }
        }
        let mut solution = vec![0.0; n];
        for at in (0..n).rev() {
            let known: f64 = (at + 1..n).map(|to| rows[at][to] * solution[to]).sum();
            solution[at] = (rows[at][n] - known) / rows[at][at];
        }
        nodes.into_iter().zip(solution).collect()
    }

    /// Returns the score of each reached item, whatever its number.
    fn bits(graph: &LinkGraph, reach: &Reach) -> BTreeMap<u64, u64> {
        reach.nodes().map(|node| (graph.order(node), reach.score(node).to_bits())).collect()
    }

    fn said() -> impl Strategy<Value = ChunkFacts> {
        vec(vec((0u8..9, 0u8..9), 1..5), 1..7)
    }

    proptest! {
        #[test]
        fn the_result_solves_the_pagerank_equations(said in said(), picks in vec((0usize..99, 0.1f64..5.0), 1..5)) {
            let graph = graph_of(&said);
            let nodes = present(&graph);
            let seeds: Vec<(NodeNumber, f64)> =
                picks.into_iter().map(|(pick, weight)| (nodes[pick % nodes.len()], weight)).collect();
            let reach = pagerank(GraphView::all(&graph), &seeds, EXACT);
            let expected = solved(&graph, &seeds, EXACT.damping);
            for (node, expected) in expected {
                prop_assert!((reach.score(node) - expected).abs() < 1e-8, "{node}");
            }
            let missing: f64 = 1.0 - reach.nodes().map(|node| reach.score(node)).sum::<f64>();
            prop_assert!(missing.abs() < 1e-8);
        }

        #[test]
        fn the_history_of_a_graph_does_not_change_the_scores(said in said(), turn in 0usize..7) {
            let built = graph_of(&said);
            let mut grown = LinkGraph::default();
            grown.set_chunk(&chunk(77), &keys(&[(0, 1), (3, 8)]));
            let turn = turn % said.len();
            for number in (turn..said.len()).chain(0..turn) {
                grown.set_chunk(&chunk(number), &keys(&said[number]));
            }
            grown.set_chunk(&chunk(77), &[]);
            let scores = |graph: &LinkGraph| {
                let seeds = [graph.chunk(&chunk(0)), graph.entity(&entity(said[0][0].0))].map(|n| (n.expect("said"), 1.0));
                let reach = pagerank(GraphView::all(graph), &seeds, PageRank { precision: 1e-5, ..EXACT });
                bits(graph, &reach)
            };
            prop_assert_eq!(scores(&built), scores(&grown));
        }

        #[test]
        fn a_node_that_is_not_allowed_has_no_influence(said in said(), left_out in 0usize..7) {
            let graph = graph_of(&said);
            let left_out = left_out % said.len();
            let smaller = LinkGraph::of(
                said.iter().enumerate().filter(|(n, _)| *n != left_out).map(|(n, pairs)| (chunk(n), keys(pairs))),
            );
            let gone = graph.chunk(&chunk(left_out));
            let admits = |node: NodeNumber| Some(node) != gone;
            let scores = |graph: &LinkGraph, admits: Option<&dyn Fn(NodeNumber) -> bool>| {
                let seeds: Vec<(NodeNumber, f64)> =
                    (0..9).filter_map(|n| graph.entity(&entity(n))).map(|node| (node, 1.0)).collect();
                let reach = pagerank(GraphView { admits, ..GraphView::all(graph) }, &seeds, EXACT);
                bits(graph, &reach)
            };
            prop_assert_eq!(scores(&graph, Some(&admits)), scores(&smaller, None));
        }
    }

    #[test]
    fn a_path_leads_from_a_seed_through_the_nodes_that_passed_on_most() {
        let graph = graph_of(&vec![vec![(1, 2)], vec![(2, 3)]]);
        let (seed, goal) = (graph.entity(&entity(1)), graph.chunk(&chunk(1)));
        let (seed, goal) = (seed.expect("said"), goal.expect("said"));
        let reach = pagerank(GraphView::all(&graph), &[(seed, 1.0)], EXACT);
        let path = reach.path(goal);
        assert_eq!((path.first(), path.last(), path.len()), (Some(&seed), Some(&goal), 4));
        assert!(path.contains(&graph.entity(&entity(2)).expect("said")));
        assert_eq!(reach.path(seed), [seed]);
    }

    #[test]
    fn a_node_in_every_chunk_receives_little_score() {
        // Entity 0 is in every chunk, entity 2 in the first two. Both lead from the second chunk to the first.
        let mut said: ChunkFacts = vec![vec![(0, 1), (1, 2)], vec![(0, 2), (2, 3)]];
        said.extend((4..40u8).map(|n| vec![(0, n)]));
        let graph = graph_of(&said);
        let [hub, rare, start] = [0, 1, 3].map(|n| graph.entity(&entity(n)).expect("said"));
        let scores = |hub_links| {
            let reach = pagerank(GraphView::all(&graph), &[(start, 1.0)], PageRank { hub_links, ..EXACT });
            (reach.score(hub), reach.score(rare), reach.score(graph.chunk(&chunk(20)).expect("said")))
        };
        let (evenly, unevenly) = (scores(f64::INFINITY), scores(4.0));
        assert!(unevenly.0 < evenly.0 / 20.0 && unevenly.2 < evenly.2 / 20.0, "{evenly:?} {unevenly:?}");
        assert!(unevenly.1 > evenly.1, "{evenly:?} {unevenly:?}");
    }

    #[test]
    fn an_additional_link_works_like_a_link_of_the_graph() {
        let graph = graph_of(&vec![vec![(1, 2)], vec![(3, 4)]]);
        let [one, other] = [1, 3].map(|n| graph.entity(&entity(n)).expect("said"));
        let goal = graph.chunk(&chunk(1)).expect("said");
        let also = BTreeMap::from([(one, vec![other]), (other, vec![one])]);
        let alone = pagerank(GraphView::all(&graph), &[(one, 1.0)], EXACT);
        let linked =
            pagerank(GraphView { also: Some(&also), ..GraphView::all(&graph) }, &[(one, 1.0)], EXACT);
        assert_eq!(alone.score(goal), 0.0);
        assert!(linked.score(goal) > 0.0);
        assert!(linked.path(goal).starts_with(&[one, other]));
    }

    #[test]
    fn a_coarse_pagerank_visits_fewer_nodes_and_keeps_the_order_of_the_best() {
        let said: ChunkFacts = (0..60u8).map(|n| vec![(n, n + 1)]).collect();
        let graph = graph_of(&said);
        let seeds = [(graph.entity(&entity(0)).expect("said"), 1.0)];
        let head = |precision| {
            let reach = pagerank(GraphView::all(&graph), &seeds, PageRank { precision, ..EXACT });
            let mut nodes: Vec<NodeNumber> = reach.nodes().collect();
            let reached = nodes.len();
            nodes.sort_by(|&one, &other| reach.score(other).total_cmp(&reach.score(one)));
            nodes.truncate(4);
            (reached, nodes)
        };
        let ((coarse, coarse_head), (exact, exact_head)) = (head(1e-3), head(1e-14));
        assert!(coarse < exact, "{coarse} of {exact}");
        assert_eq!(coarse_head, exact_head);
    }
}
