"""Compares RAPTOR's clustering as its paper describes it, with umap-learn and scikit-learn, with Graphloom's on the same vectors.

    trees.py --program graphloom-bench-trees --questions DIR --harness DIR [--set NAME]

Vectors come from the harness's embedder. A layer of clusters is judged by retrieval: clusters are ranked by the cosine of their mean
with the question, and their passages are taken, nearest first, until there are ten and twenty.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

# Each clustering runs on one processor, because waiting threads would count as processor time.
for library in ("OMP", "OPENBLAS", "NUMBA"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402


def read(path):
    return [json.loads(line) for line in path.open()]


def raptor(vectors, threshold=0.1, dimensions=10):
    """Returns the first layer: clusters of all vectors, then clusters within each of them."""
    from umap import UMAP
    from sklearn.mixture import GaussianMixture

    def divide(members, neighbors):
        if len(members) <= dimensions + 1:
            return [members]
        reduced = UMAP(
            n_neighbors=neighbors, n_components=min(dimensions, len(members) - 2), metric="cosine", random_state=224
        ).fit_transform(vectors[members])
        counts = range(1, min(50, len(members)))
        mixtures = [GaussianMixture(n_components=count, random_state=224).fit(reduced) for count in counts]
        best = min(mixtures, key=lambda mixture: mixture.bic(reduced))
        shares = best.predict_proba(reduced)
        parts = [members[shares[:, part] > threshold] for part in range(best.n_components)]
        return [part for part in parts if len(part)]

    everything = np.arange(len(vectors))
    clusters = []
    for part in divide(everything, int((len(vectors) - 1) ** 0.5)):
        clusters += divide(part, 10)
    return clusters


def recall(clusters, vectors, questions, queries, numbers):
    """Returns the recall of gold passages among the first 10 and 20 passages of the nearest clusters."""
    means = np.stack([vectors[cluster].mean(axis=0) for cluster in clusters])
    means /= np.linalg.norm(means, axis=1, keepdims=True).clip(1e-9)
    sums = np.zeros(2)
    for question, query in zip(questions, queries):
        found = []
        for cluster in np.argsort(-(means @ query), kind="stable"):
            near = clusters[cluster][np.argsort(-(vectors[clusters[cluster]] @ query), kind="stable")]
            found += [passage for passage in near if passage not in found]
            if len(found) >= 20:
                break
        gold = {numbers[name] for name in question["gold"] if name in numbers}
        sums += [len(gold & set(found[:count])) / max(len(gold), 1) for count in (10, 20)]
    return sums / len(questions)


def cohesion(clusters, vectors):
    """Returns the mean cosine of two vectors of the same cluster, over all such pairs."""
    total = pairs = 0.0
    for cluster in clusters:
        if len(cluster) > 1:
            inside = vectors[cluster] @ vectors[cluster].T
            total += (inside.sum() - np.trace(inside)) / 2
            pairs += len(cluster) * (len(cluster) - 1) / 2
    return total / max(pairs, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--questions", required=True, type=pathlib.Path)
    parser.add_argument("--harness", required=True)
    parser.add_argument("--set", action="append")
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.harness)
    import embedder

    embed = embedder.make("minilm")
    print("| set | clustering | clusters | mean size | clusters of a passage | cohesion | recall@10 | recall@20 | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    notes = []
    for name in arguments.set or ["hotpotqa_train100", "musique_train100"]:
        corpus = read(arguments.questions / name / "corpus.jsonl")
        questions = [one for one in read(arguments.questions / name / "questions.jsonl") if one["gold"]]
        vectors = embed.embed([one["title"] + "\n" + one["text"] for one in corpus])
        queries = embed.embed([one["question"] for one in questions])
        numbers = {one["id"]: number for number, one in enumerate(corpus)}

        def row(what, clusters, seconds):
            tens, twenties = recall(clusters, vectors, questions, queries, numbers)
            sizes = sum(map(len, clusters))
            print(
                f"| {name} | {what} | {len(clusters)} | {sizes / len(clusters):.1f} | {sizes / len(vectors):.2f} | "
                f"{cohesion(clusters, vectors):.3f} | {tens:.3f} | {twenties:.3f} | {seconds:.2f} |",
                flush=True,
            )

        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "names").write_text("".join(one["id"] + "\n" for one in corpus))
            (folder / "vectors").write_bytes(vectors.astype("<f4").tobytes())
            for what in ("soft", "tree"):
                command = [arguments.program, what, str(folder / "names"), str(folder / "vectors")]
                # Soft clusters take seconds each time.
                command += ["--without", "0.01", "--one", "100" if what == "tree" else "8"]
                result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                groups = [group for group in result["groups"] if group["layer"] == 1]
                clusters = [np.array([numbers[member] for member in group["members"]]) for group in groups]
                alone = set(range(len(vectors))) - {passage for cluster in clusters for passage in cluster}
                clusters += [np.array([passage]) for passage in sorted(alone)]
                row(f"Graphloom, {what}", clusters, result["seconds"])
                if "new" in result:
                    new = 100 * result["new"]
                    one = result["one"]
                    notes.append(
                        f"{name}, {what}: {new:.1f}% of {one['nodes']} nodes are new with 1% more passages; one passage: {one['new']:.1f} "
                        f"new, at most {one['most']}, of which {one['above']:.1f} are above it (mean of {one['vectors']})"
                    )
        begin = time.process_time()
        clusters = raptor(vectors)
        row("RAPTOR's: UMAP, GMM", clusters, time.process_time() - begin)
        each = [np.array([passage]) for passage in range(len(vectors))]
        row("none: passages", each, 0.0)
    print("\n" + "\n".join(notes))


if __name__ == "__main__":
    main()
