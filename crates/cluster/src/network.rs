//! Adjacency lists for the algorithms. Nodes are numbers, and a loop counts only in the strength of its node.

/// A weighted, undirected graph of numbered nodes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Network {
    /// Where each node's row begins, and the end of the last row.
    offsets: Vec<u32>,
    targets: Vec<u32>,
    weights: Vec<f64>,
    /// For each node: the weight of its edges, with loops counted twice.
    pub(crate) strength: Vec<f64>,
    /// Sum of all strengths: twice the weight of all edges.
    pub(crate) total: f64,
}

impl Network {
    /// Returns the network of these edges; parallel edges become one, and weights are added in ascending order.
    pub(crate) fn from_edges(nodes: usize, edges: Vec<(u32, u32, f64)>) -> Self {
        let mut loops: Vec<(u32, f64)> = Vec::new();
        let mut offsets = vec![0_u32; nodes + 1];
        for &(a, b, weight) in &edges {
            if a == b {
                loops.push((a, weight));
            } else {
                offsets[a as usize + 1] += 1;
                offsets[b as usize + 1] += 1;
            }
        }
        for node in 0..nodes {
            offsets[node + 1] += offsets[node];
        }
        let mut next = offsets.clone();
        let mut row_entries = vec![(0_u32, 0.0_f64); offsets[nodes] as usize];
        for (a, b, weight) in edges {
            if a != b {
                for (from, to) in [(a, b), (b, a)] {
                    row_entries[next[from as usize] as usize] = (to, weight);
                    next[from as usize] += 1;
                }
            }
        }
        let mut network = Self::with_capacity(nodes, row_entries.len());
        for node in 0..nodes {
            let row = &mut row_entries[offsets[node] as usize..offsets[node + 1] as usize];
            row.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            network.push_row(row.iter().copied());
        }
        loops.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for (node, weight) in loops {
            network.strength[node as usize] += 2.0 * weight;
        }
        network.total = network.strength.iter().sum();
        network
    }

    fn with_capacity(nodes: usize, entries: usize) -> Self {
        let mut offsets = Vec::with_capacity(nodes + 1);
        offsets.push(0);
        let (targets, weights) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        Self { offsets, targets, weights, strength: Vec::with_capacity(nodes), total: 0.0 }
    }

    /// Appends the row of the next node; entries ascend by target, and entries with equal targets become one.
    fn push_row(&mut self, entries: impl Iterator<Item = (u32, f64)>) {
        let begin = self.targets.len();
        for (target, weight) in entries {
            if self.targets.len() > begin && self.targets.last() == Some(&target) {
                if let Some(last) = self.weights.last_mut() {
                    *last += weight;
                }
            } else {
                self.targets.push(target);
                self.weights.push(weight);
            }
        }
        self.offsets.push(self.targets.len() as u32);
        self.strength.push(self.weights[begin..].iter().sum());
    }

    pub(crate) fn len(&self) -> usize {
        self.strength.len()
    }

    /// Returns the neighbors of a node in ascending order, without the node itself.
    pub(crate) fn neighbors(&self, node: usize) -> impl Iterator<Item = (u32, f64)> {
        let row = self.offsets[node] as usize..self.offsets[node + 1] as usize;
        self.targets[row.clone()].iter().copied().zip(self.weights[row].iter().copied())
    }

    /// Returns the network whose nodes are the groups of `labels`, numbered without gaps below `groups`.
    pub(crate) fn aggregate(&self, labels: &[u32], groups: usize) -> Self {
        let (starts, members) = members_of(labels, groups);
        let mut network = Self::with_capacity(groups, self.targets.len() / 2);
        let mut sums = vec![0.0_f64; groups];
        let mut touched: Vec<u32> = Vec::new();
        let mut total = 0.0;
        for group in 0..groups {
            let mut strength = 0.0;
            for &node in &members[starts[group] as usize..starts[group + 1] as usize] {
                strength += self.strength[node as usize];
                for (neighbor, weight) in self.neighbors(node as usize) {
                    let other = labels[neighbor as usize];
                    if other as usize != group {
                        if sums[other as usize] == 0.0 {
                            touched.push(other);
                        }
                        sums[other as usize] += weight;
                    }
                }
            }
            touched.sort_unstable();
            network.push_row(touched.iter().map(|other| (*other, sums[*other as usize])));
            for other in touched.drain(..) {
                sums[other as usize] = 0.0;
            }
            // Edges inside a group are a loop of its node: they are in its strength and not in a row.
            network.strength[group] = strength;
            total += strength;
        }
        network.total = total;
        network
    }

    /// Returns the network without loops and without edges between different groups.
    pub(crate) fn within(&self, labels: &[u32]) -> Self {
        let mut network = Self::with_capacity(self.len(), self.targets.len());
        for node in 0..self.len() {
            network
                .push_row(self.neighbors(node).filter(|(other, _)| labels[*other as usize] == labels[node]));
        }
        network.total = network.strength.iter().sum();
        network
    }

    pub(crate) fn modularity(&self, labels: &[u32], resolution: f64) -> f64 {
        if self.total <= 0.0 {
            return 0.0;
        }
        let groups = labels.iter().max().map_or(0, |last| *last as usize + 1);
        let mut outside = vec![0.0_f64; groups];
        let mut strength = vec![0.0_f64; groups];
        for node in 0..self.len() {
            let group = labels[node] as usize;
            strength[group] += self.strength[node];
            outside[group] += self
                .neighbors(node)
                .filter(|(neighbor, _)| labels[*neighbor as usize] as usize != group)
                .map(|(_, weight)| weight)
                .sum::<f64>();
        }
        let shares = strength.iter().zip(&outside).map(|(all, out)| {
            let share = all / self.total;
            (all - out) / self.total - resolution * share * share
        });
        shares.sum()
    }

    /// Divides every group of `labels` into its connected parts, numbered in order of their first nodes. Returns their
    /// number.
    pub(crate) fn connect(&self, labels: &mut [u32]) -> usize {
        let mut parts = vec![u32::MAX; labels.len()];
        let mut count = 0;
        let mut open = Vec::new();
        for first in 0..labels.len() {
            if parts[first] != u32::MAX {
                continue;
            }
            parts[first] = count;
            open.push(first);
            while let Some(node) = open.pop() {
                for (neighbor, _) in self.neighbors(node) {
                    let neighbor = neighbor as usize;
                    if parts[neighbor] == u32::MAX && labels[neighbor] == labels[node] {
                        parts[neighbor] = count;
                        open.push(neighbor);
                    }
                }
            }
            count += 1;
        }
        labels.copy_from_slice(&parts);
        count as usize
    }
}

/// Returns the nodes group by group, ascending in each: where each group begins, and all nodes.
pub(crate) fn members_of(labels: &[u32], groups: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0_u32; groups + 1];
    for label in labels {
        starts[*label as usize + 1] += 1;
    }
    for group in 0..groups {
        starts[group + 1] += starts[group];
    }
    let mut next = starts.clone();
    let mut members = vec![0_u32; labels.len()];
    for (node, label) in labels.iter().enumerate() {
        members[next[*label as usize] as usize] = node as u32;
        next[*label as usize] += 1;
    }
    (starts, members)
}

/// Numbers groups without gaps in order of their first nodes; returns their number.
pub(crate) fn renumber(labels: &mut [u32]) -> usize {
    let groups = labels.iter().max().map_or(0, |last| *last as usize + 1);
    let mut numbers = vec![u32::MAX; groups];
    let mut count = 0;
    for label in labels {
        let number = &mut numbers[*label as usize];
        if *number == u32::MAX {
            *number = count;
            count += 1;
        }
        *label = *number;
    }
    count as usize
}
