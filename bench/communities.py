"""Communities by Graphloom, igraph's Leiden, leidenalg and graspologic-native on the same graphs: time and modularity.

    communities.py --program graphloom-bench-communities [--data DIR] [--questions DIR]

DIR of `--data` has GraphRAG's tables (relationships.parquet), and DIR of `--questions` the set musique_train100 with its openie.jsonl.
Without them, only generated graphs are measured. Each program runs in its own process; seconds are its processor time, without reading
the graph. igraph computes the modularity for all.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import igraph
import numpy as np

PEERS = ["igraph", "leidenalg", "graspologic"]


def planted(nodes, edges, outside, path, seed=7):
    """Writes a graph with communities of 20 to 1,000 nodes and degrees by power laws; the share `outside` of the edges joins any two nodes."""
    random = np.random.default_rng(seed)

    def power(low, high, exponent, count):
        e = 1 - exponent
        return ((high**e - low**e) * random.random(count) + low**e) ** (1 / e)

    sizes = power(20.0, 1000.0, 1.5, nodes).astype(int)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), nodes) + 1]
    labels = np.repeat(np.arange(len(sizes)), sizes)[:nodes]
    first = np.searchsorted(labels, np.arange(len(sizes) + 1))
    sums = np.concatenate([[0], np.cumsum(power(4.0, 300.0, 2.5, nodes))])
    draw = lambda low, high: (np.searchsorted(sums, low + random.random(len(low)) * (high - low)) - 1).clip(0, nodes - 1)
    every = np.zeros(int(edges * 1.1))
    a = draw(every, every + sums[-1])
    inside = random.random(len(a)) >= outside
    own = labels[a]
    b = np.where(inside, draw(sums[first[own]], sums[first[own + 1]]), draw(every, every + sums[-1]))
    pairs = np.unique(np.sort(np.stack([a, b])[:, a != b], axis=0), axis=1)
    pairs = pairs[:, random.permutation(pairs.shape[1])[:edges]]
    names = random.permutation(nodes)
    with path.open("w") as file:
        file.writelines(f"n{names[x]}\tn{names[y]}\t1\n" for x, y in pairs.T)


def graphrag(data, path):
    """Writes the largest component of GraphRAG's example, with the last weight of each pair, as GraphRAG uses it."""
    import pandas

    table = pandas.read_parquet(data / "relationships.parquet")
    weights = {tuple(sorted((a, b))): w for a, b, w in zip(table.source, table.target, table.weight)}
    graph = igraph.Graph.TupleList([(a, b, w) for (a, b), w in weights.items()], weights=True)
    kept = set(graph.connected_components().giant().vs["name"])
    with path.open("w") as file:
        file.writelines(f"{a}\t{b}\t{w}\n" for (a, b), w in weights.items() if a in kept)


def openie(questions, path):
    """Writes subject and object of every triple, with its passage."""
    with path.open("w") as file:
        for line in (questions / "musique_train100" / "openie.jsonl").open():
            passage = json.loads(line)
            for triple in passage["triples"]:
                names = [" ".join(part.upper().split()) for part in triple]
                if len(names) == 3 and names[0] and names[2] and names[0] != names[2]:
                    file.write(f"{names[0]}\t{names[2]}\t1\t{passage['id']}\n")


def read(path):
    weights = {}
    for line in pathlib.Path(path).open():
        a, b, weight = line.rstrip("\n").split("\t")[:3]
        pair = (a, b) if a < b else (b, a)
        weights[pair] = weights.get(pair, 0.0) + float(weight)
    return sorted((a, b, weight) for (a, b), weight in weights.items())


def peer(name, path):
    """Runs one peer, and prints its seconds and communities."""
    edges = read(path)
    graph = igraph.Graph.TupleList(edges, weights=True)
    begin = time.process_time()
    if name == "igraph":
        found = graph.community_leiden(objective_function="modularity", weights="weight", n_iterations=2).membership
    elif name == "leidenalg":
        import leidenalg

        kind = leidenalg.ModularityVertexPartition
        found = leidenalg.find_partition(graph, kind, weights="weight", n_iterations=2, seed=0).membership
    else:
        import graspologic_native

        begin = time.process_time()
        _, labels = graspologic_native.leiden(
            edges=edges, starting_communities=None, resolution=1.0, randomness=0.001, iterations=1,
            use_modularity=True, seed=0xDEADBEEF, trials=1,
        )
        found = [labels[vertex] for vertex in graph.vs["name"]]
    seconds = time.process_time() - begin
    modularity = graph.modularity(found, weights="weight")
    print(json.dumps({"seconds": seconds, "modularity": modularity, "communities": len(set(found))}))


def row(graph, program, seconds, modularity, communities, own):
    print(f"| {graph} | {program} | {seconds:.4f} | {seconds / own:.1f} | {modularity:.4f} | {communities} |", flush=True)


def measure(program, label, path, *options):
    labels = path.with_suffix(".labels")
    command = [program, str(path), "--labels", str(labels), *options]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    communities = dict(line.rstrip("\n").rsplit("\t", 1) for line in labels.open())
    graph = igraph.Graph.TupleList(read(path), weights=True)
    checked = graph.modularity([int(communities[name]) for name in graph.vs["name"]], weights="weight")
    own = result["leiden_seconds"]
    row(label, "Graphloom", own, checked, result["communities"], own)
    for name in PEERS:
        output = subprocess.run([sys.executable, __file__, "--peer", name, str(path)], check=True, capture_output=True, text=True)
        other = json.loads(output.stdout)
        row(label, name, other["seconds"], other["modularity"], other["communities"], own)
    return result


def main():
    if sys.argv[1:2] == ["--peer"]:
        return peer(*sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--questions", type=pathlib.Path)
    arguments = parser.parse_args()
    notes = []
    print("| graph | program | CPU s | ratio | modularity | communities |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if arguments.data:
            graphrag(arguments.data, folder / "graphrag.tsv")
            seeds = measure(arguments.program, "GraphRAG's example", folder / "graphrag.tsv", "--seeds", "50")["seeds"]
            notes.append("GraphRAG's example, 50 seeds: modularity {min:.4f} to {max:.4f}, mean {mean:.4f}".format(**seeds))
        if arguments.questions:
            openie(arguments.questions, folder / "openie.tsv")
            result = measure(arguments.program, "musique_train100", folder / "openie.tsv", "--changed", "0.01", "--rounds", "20")
            rounds = result["changed"]["rounds"]
            mean = lambda key: sum(one[key] for one in rounds) / len(rounds)
            notes.append(
                f"musique_train100, 1% of the documents changed, mean of {len(rounds)} rounds: {100 * mean('new'):.1f}% of the "
                f"communities are new, {100 * mean('touched'):.1f}% have a node of a changed edge, modularity {mean('modularity'):.4f}"
            )
        planted(100_000, 550_000, 0.33, folder / "planted.tsv")
        result = measure(arguments.program, "100,000 nodes, planted", folder / "planted.tsv")
        notes.append(f"100,000 nodes, all levels: {result['hierarchy_seconds']:.2f} s, communities by level {result['levels']}")
    print("\n" + "\n".join(notes))


if __name__ == "__main__":
    main()
