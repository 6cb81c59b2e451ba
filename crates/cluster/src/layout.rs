//! Positions of a graph's nodes on a plane, by ForceAtlas2.
//!
//! Source: Jacomy, Venturini, Heymann, Bastian, "ForceAtlas2, a Continuous Graph Layout Algorithm", PLOS ONE 2014; distant
//! groups of nodes are summed up as in Barnes, Hut, "A hierarchical O(N log N) force-calculation algorithm", Nature 1986.

use std::collections::VecDeque;
use std::f64::consts::TAU;

/// Strength of the force that pushes nodes apart.
const REPULSION: f64 = 16.0;
/// Strength of the force that pulls all nodes to the middle.
const GRAVITY: f64 = 1.2;
/// A group counts as a single node if its width is less than this part of its distance.
const WIDTH: f64 = 0.9;
/// Largest graph for which every pair of nodes is computed; larger graphs sum up distant groups.
const MAX_EXACT: usize = 250;
/// A group of at most this many nodes is not divided further.
const LEAF: usize = 8;
/// Bits of each coordinate that are used to divide groups.
const BITS: u32 = 16;
/// Minimum distance between two nodes, as far as there is room.
const GAP: f64 = 9.0;
/// Maximum number of rounds in which nodes that are too close are moved apart.
const SEPARATION_ROUNDS: usize = 8;
/// Maximum number of nodes per square that one node is moved away from.
const MAX_NEAR: usize = 32;

/// A link between two nodes, which pulls them together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// One end.
    pub one: u32,
    /// The other end.
    pub other: u32,
    /// Strength of the pull, above 0; 1 is usual.
    pub pull: f64,
}

/// Returns a position for each node, around `[0, 0]`; linked nodes are about ten units apart or more.
///
/// - `seeds`: one number per node that decides where it starts, such as the hash of its name. The other nodes are placed
///   around the first one.
/// - `links`: links from a node to itself or to a node that does not exist are ignored.
/// - Equal input gives equal positions. Unlike elsewhere in this crate, the order of nodes matters.
pub fn layout(seeds: &[u64], links: &[Link]) -> Vec<[f64; 2]> {
    let count = seeds.len();
    let ends = |link: &Link| (link.one as usize, link.other as usize);
    let links: Vec<Link> = links
        .iter()
        .filter(|link| link.one != link.other && ends(link).0 < count && ends(link).1 < count)
        .copied()
        .collect();
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); count];
    for link in &links {
        neighbours[ends(link).0].push(link.other);
        neighbours[ends(link).1].push(link.one);
    }
    let masses: Vec<f64> = neighbours.iter().map(|around| 1.0 + around.len() as f64).collect();
    let mut places = start_places(seeds, &neighbours);
    let rounds = match count {
        0..=MAX_EXACT => 200,
        251..=2000 => 100,
        _ => 50,
    };
    let mut pace = Pace::new(count);
    for _ in 0..rounds {
        let mut forces = vec![[0.0; 2]; count];
        match count <= MAX_EXACT {
            true => push_exactly(&places, &masses, &mut forces),
            false => Groups::of(&places, &masses).push(&places, &masses, &mut forces),
        }
        for ((force, [x, y]), mass) in forces.iter_mut().zip(&places).zip(&masses) {
            let distance = x.hypot(*y).max(f64::MIN_POSITIVE);
            force[0] -= GRAVITY * mass * x / distance;
            force[1] -= GRAVITY * mass * y / distance;
        }
        for link in &links {
            let (one, other) = ends(link);
            for axis in 0..2 {
                let pull = link.pull * (places[other][axis] - places[one][axis]);
                forces[one][axis] += pull;
                forces[other][axis] -= pull;
            }
        }
        pace.step(&mut places, &masses, forces);
    }
    move_apart(&mut places, seeds);
    places
}

/// Places every node beside a neighbor that is closer to the first node, and one node of every other component on a circle.
fn start_places(seeds: &[u64], neighbours: &[Vec<u32>]) -> Vec<[f64; 2]> {
    let mut places: Vec<Option<[f64; 2]>> = vec![None; seeds.len()];
    let circle = 10.0 * (seeds.len() as f64).sqrt();
    let mut queue = VecDeque::new();
    for root in 0..seeds.len() {
        if places[root].is_some() {
            continue;
        }
        places[root] = Some(if root == 0 { [0.0; 2] } else { around([0.0; 2], circle, seeds[root]) });
        queue.push_back(root);
        while let Some(node) = queue.pop_front() {
            let middle = places[node].unwrap_or_default();
            let radius = 10.0 * (neighbours[node].len() as f64).sqrt();
            for next in neighbours[node].iter().map(|next| *next as usize) {
                if places[next].is_none() {
                    places[next] = Some(around(middle, radius, seeds[next]));
                    queue.push_back(next);
                }
            }
        }
    }
    places.into_iter().map(Option::unwrap_or_default).collect()
}

fn around([x, y]: [f64; 2], radius: f64, seed: u64) -> [f64; 2] {
    // Similar names may have similar seeds.
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let part = |bits: u64| (bits & 0xffff_ffff) as f64 / 4_294_967_296.0;
    let (angle, far) = (TAU * part(mixed), radius * (0.3 + part(mixed >> 32)).sqrt());
    [x + far * angle.cos(), y + far * angle.sin()]
}

/// Returns the force between two nodes at a distance of `[x, y]`, as it acts on the first.
fn push([x, y]: [f64; 2], masses: f64) -> [f64; 2] {
    let square = (x * x + y * y).max(1e-9);
    let strength = REPULSION * masses / square;
    [x * strength, y * strength]
}

fn push_exactly(places: &[[f64; 2]], masses: &[f64], forces: &mut [[f64; 2]]) {
    for one in 0..places.len() {
        for other in 0..one {
            let apart = [places[one][0] - places[other][0], places[one][1] - places[other][1]];
            let pushed = push(apart, masses[one] * masses[other]);
            for axis in 0..2 {
                forces[one][axis] += pushed[axis];
                forces[other][axis] -= pushed[axis];
            }
        }
    }
}

/// Nodes in squares, each divided into four until few nodes are left.
struct Groups {
    /// All squares; a square comes before those it is divided into.
    groups: Vec<Group>,
    /// Nodes in the order of the squares.
    nodes: Vec<u32>,
}

struct Group {
    middle: [f64; 2],
    mass: f64,
    width: f64,
    /// The first group after this one that is not part of it.
    next: u32,
    /// Its range in [`Groups::nodes`], if it is not divided.
    leaf: Option<(u32, u32)>,
}

impl Groups {
    fn of(places: &[[f64; 2]], masses: &[f64]) -> Self {
        let bound = |axis: usize, start: f64, pick: fn(f64, f64) -> f64| {
            places.iter().fold(start, |bound, place| pick(bound, place[axis]))
        };
        let low = [bound(0, f64::INFINITY, f64::min), bound(1, f64::INFINITY, f64::min)];
        let high = [bound(0, f64::NEG_INFINITY, f64::max), bound(1, f64::NEG_INFINITY, f64::max)];
        let width = (high[0] - low[0]).max(high[1] - low[1]).max(f64::MIN_POSITIVE);
        let steps = f64::from((1_u32 << BITS) - 1);
        let step = |place: f64, low: f64| ((place - low) / width * steps) as u32;
        let mut coded: Vec<(u32, u32)> = places
            .iter()
            .zip(0..)
            .map(|(place, node)| (interleaved(step(place[0], low[0]), step(place[1], low[1])), node))
            .collect();
        coded.sort_unstable();
        let mut groups = Self { groups: Vec::new(), nodes: coded.iter().map(|(_, node)| *node).collect() };
        groups.divide(&coded, 0, 2 * BITS, width, places, masses);
        groups
    }

    fn divide(
        &mut self,
        coded: &[(u32, u32)],
        start: u32,
        bits: u32,
        width: f64,
        places: &[[f64; 2]],
        masses: &[f64],
    ) {
        let at = self.groups.len();
        let (mut middle, mut mass) = ([0.0; 2], 0.0);
        for (_, node) in coded {
            let (place, weight) = (places[*node as usize], masses[*node as usize]);
            middle = [middle[0] + weight * place[0], middle[1] + weight * place[1]];
            mass += weight;
        }
        middle = middle.map(|sum| sum / mass);
        let is_leaf = coded.len() <= LEAF || bits == 0;
        let leaf = is_leaf.then_some((start, start + coded.len() as u32));
        self.groups.push(Group { middle, mass, width, next: 0, leaf });
        if !is_leaf {
            let (mut rest, mut start) = (coded, start);
            for quarter in 0..4 {
                let end = rest.partition_point(|(code, _)| (code >> (bits - 2)) & 3 <= quarter);
                let (inside, after) = rest.split_at(end);
                if !inside.is_empty() {
                    self.divide(inside, start, bits - 2, width / 2.0, places, masses);
                }
                start += end as u32;
                rest = after;
            }
        }
        self.groups[at].next = self.groups.len() as u32;
    }

    fn push(&self, places: &[[f64; 2]], masses: &[f64], forces: &mut [[f64; 2]]) {
        for (node, (force, place)) in forces.iter_mut().zip(places).enumerate() {
            let mut at = 0;
            while let Some(group) = self.groups.get(at) {
                let apart = [place[0] - group.middle[0], place[1] - group.middle[1]];
                let square = apart[0] * apart[0] + apart[1] * apart[1];
                let is_far = group.width * group.width < WIDTH * WIDTH * square;
                let pushed = match (is_far, group.leaf) {
                    (true, _) => push(apart, masses[node] * group.mass),
                    (false, None) => {
                        at += 1;
                        continue;
                    }
                    (false, Some((start, end))) => {
                        let others =
                            self.nodes[start as usize..end as usize].iter().map(|other| *other as usize);
                        others.filter(|other| *other != node).fold([0.0; 2], |sum, other| {
                            let apart = [place[0] - places[other][0], place[1] - places[other][1]];
                            let pushed = push(apart, masses[node] * masses[other]);
                            [sum[0] + pushed[0], sum[1] + pushed[1]]
                        })
                    }
                };
                force[0] += pushed[0];
                force[1] += pushed[1];
                at = group.next as usize;
            }
        }
    }
}

/// Interleaves the bits of both numbers.
fn interleaved(x: u32, y: u32) -> u32 {
    let spread = |mut bits: u32| {
        bits = (bits | (bits << 8)) & 0x00ff_00ff;
        bits = (bits | (bits << 4)) & 0x0f0f_0f0f;
        bits = (bits | (bits << 2)) & 0x3333_3333;
        (bits | (bits << 1)) & 0x5555_5555
    };
    spread(x) | (spread(y) << 1)
}

/// Speed at which nodes move; it drops when they oscillate.
struct Pace {
    speed: f64,
    efficiency: f64,
    before: Vec<[f64; 2]>,
}

impl Pace {
    fn new(count: usize) -> Self {
        Self { speed: 1.0, efficiency: 1.0, before: vec![[0.0; 2]; count] }
    }

    fn step(&mut self, places: &mut [[f64; 2]], masses: &[f64], forces: Vec<[f64; 2]>) {
        let swing = |force: &[f64; 2], before: &[f64; 2]| (force[0] - before[0]).hypot(force[1] - before[1]);
        let (mut swung, mut moved) = (0.0, 0.0);
        for ((force, before), mass) in forces.iter().zip(&self.before).zip(masses) {
            swung += mass * swing(force, before);
            moved += mass * (force[0] + before[0]).hypot(force[1] + before[1]) / 2.0;
        }
        let (swung, moved) = (swung.max(f64::MIN_POSITIVE), moved.max(f64::MIN_POSITIVE));
        let count = places.len() as f64;
        let usual = 0.05 * count.sqrt();
        let mut tolerance = (usual * moved / (count * count)).min(10.0).max(usual.sqrt());
        if swung / moved > 2.0 {
            self.efficiency = (self.efficiency * 0.5).max(0.05);
            tolerance = tolerance.max(1.0);
        }
        let wanted = tolerance * self.efficiency * moved / swung;
        if swung > tolerance * moved {
            self.efficiency = (self.efficiency * 0.7).max(0.05);
        } else if self.speed < 1000.0 {
            self.efficiency *= 1.3;
        }
        self.speed += (wanted - self.speed).min(self.speed / 2.0);
        for ((place, force), before) in places.iter_mut().zip(&forces).zip(&self.before) {
            let factor = self.speed / (1.0 + (self.speed * swing(force, before)).sqrt());
            place[0] += force[0] * factor;
            place[1] += force[1] * factor;
        }
        self.before = forces;
    }
}

/// Moves apart nodes that are closer than [`GAP`].
fn move_apart(places: &mut [[f64; 2]], seeds: &[u64]) {
    let square = |place: &[f64; 2]| ((place[0] / GAP).floor() as i64, (place[1] / GAP).floor() as i64);
    for _ in 0..SEPARATION_ROUNDS {
        let mut squares: Vec<((i64, i64), u32)> =
            places.iter().zip(0..).map(|(place, node)| (square(place), node)).collect();
        squares.sort_unstable();
        let mut has_moved = false;
        for node in 0..places.len() {
            let (x, y) = square(&places[node]);
            for near in (-1..=1).flat_map(|right| (-1..=1).map(move |up| (x + right, y + up))) {
                let start = squares.partition_point(|(square, _)| *square < near);
                let inside = squares[start..].iter().take_while(|(square, _)| *square == near).take(MAX_NEAR);
                for other in inside.map(|(_, other)| *other as usize).filter(|other| *other > node) {
                    let apart = [places[other][0] - places[node][0], places[other][1] - places[node][1]];
                    let distance = apart[0].hypot(apart[1]);
                    if distance >= GAP {
                        continue;
                    }
                    has_moved = true;
                    let way = match distance > 1e-6 {
                        true => apart.map(|side| side / distance),
                        false => around([0.0; 2], 1.0, seeds[other]),
                    };
                    let by = (GAP - distance) / 2.0;
                    for axis in 0..2 {
                        places[node][axis] -= way[axis] * by;
                        places[other][axis] += way[axis] * by;
                    }
                }
            }
        }
        if !has_moved {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Builds groups of `size` nodes that are all linked to each other; one link connects each group to the next.
    fn groups(groups: u32, size: u32) -> (Vec<u64>, Vec<Link>) {
        let mut links = Vec::new();
        for group in 0..groups {
            let first = group * size;
            for one in first..first + size {
                links.extend((first..one).map(|other| Link { one, other, pull: 1.0 }));
            }
            if group > 0 {
                links.push(Link { one: first, other: first - size, pull: 1.0 });
            }
        }
        ((0..u64::from(groups * size)).collect(), links)
    }

    /// Returns the mean distance of two nodes in the same group, and of two nodes in different groups.
    fn distances(places: &[[f64; 2]], size: usize) -> (f64, f64) {
        let (mut same, mut different) = ((0.0, 0.0), (0.0, 0.0));
        for (one, place) in places.iter().enumerate() {
            for (other, far) in places.iter().enumerate().take(one) {
                let sum = if one / size == other / size { &mut same } else { &mut different };
                *sum = (sum.0 + (place[0] - far[0]).hypot(place[1] - far[1]), sum.1 + 1.0);
            }
        }
        (same.0 / same.1, different.0 / different.1)
    }

    #[test]
    fn linked_nodes_are_close_in_small_and_large_graphs() {
        for count in [4, 60] {
            let (seeds, links) = groups(count, 10);
            let (same, different) = distances(&layout(&seeds, &links), 10);
            assert!(3.0 * same < different, "{count}: {same} {different}");
        }
    }

    #[test]
    fn aggregated_groups_repel_almost_like_their_nodes() {
        let (seeds, links) = groups(40, 10);
        let places = layout(&seeds, &links);
        let masses = vec![10.0; places.len()];
        let (mut exact, mut summed) = (vec![[0.0; 2]; places.len()], vec![[0.0; 2]; places.len()]);
        push_exactly(&places, &masses, &mut exact);
        Groups::of(&places, &masses).push(&places, &masses, &mut summed);
        let size = |forces: &[[f64; 2]]| forces.iter().map(|[x, y]| x.hypot(*y)).sum::<f64>();
        let apart: Vec<[f64; 2]> =
            exact.iter().zip(&summed).map(|(one, other)| [one[0] - other[0], one[1] - other[1]]).collect();
        assert!(size(&apart) < 0.1 * size(&exact), "{} of {}", size(&apart), size(&exact));
    }

    #[test]
    fn no_node_overlaps_another() {
        let (seeds, links) = groups(30, 10);
        let places = layout(&seeds, &links);
        let mut near = 0;
        for (one, place) in places.iter().enumerate() {
            near += places[..one]
                .iter()
                .filter(|far| (place[0] - far[0]).hypot(place[1] - far[1]) < GAP / 2.0)
                .count();
        }
        assert_eq!(near, 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_graph_has_finite_and_reproducible_positions(
            seeds in prop::collection::vec(any::<u64>(), 0..300),
            ends in prop::collection::vec((0_u32..310, 0_u32..310, 0.1..9.0_f64), 0..400),
        ) {
            let links: Vec<Link> =
                ends.into_iter().map(|(one, other, pull)| Link { one, other, pull }).collect();
            let places = layout(&seeds, &links);
            prop_assert_eq!(places.len(), seeds.len());
            prop_assert!(places.iter().flatten().all(|place| place.is_finite()), "{:?}", places);
            prop_assert_eq!(layout(&seeds, &links), places);
        }
    }
}
