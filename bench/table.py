#!/usr/bin/env python3
"""Reads the harness's results and prints a comparison of Graphloom and LightRAG in Markdown.

    bench/table.py RESULTS_FOLDER [--corpus musique_train100]

A ratio is LightRAG's cost divided by Graphloom's (for queries per second the inverse), so Graphloom is better if it is above 1.
Tables without measurements are left out and listed at the end.
"""
from __future__ import annotations

import argparse
import json
import math
import statistics
from pathlib import Path

OURS, THEIRS = "graphloom", "lightrag_py"
MODES = ("auto", "ppr", "naive", "local", "global", "hybrid", "mix")
RECALLS = ("recall@2", "recall@5", "recall@10", "recall@20", "mrr")
# Differences that must be zero after a restart.
DIFFERENCES = (
    "documents_not_processed", "documents_missing", "extra_document_records", "chunks_without_vector",
    "vectors_without_chunk", "entities_missing_vs_clean", "entities_extra_vs_clean", "graph_entities_without_vector",
    "vectors_without_graph_entity", "edges_missing_vs_clean", "edges_extra_vs_clean", "graph_edges_without_vector",
    "vectors_without_graph_edge", "edge_weights_different", "entity_sources_different", "duplicate_entity_vectors",
)  # fmt: skip

# LightRAG records every repeated insertion separately; documents, graph and vectors are not affected.
RECORDS = {"extra_document_records"}


class Results:
    """The result files by name; records which requested files are missing."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.absent: list[str] = []

    def get(self, *names: str) -> dict | None:
        """Returns the first of these files that exists."""
        for name in names:
            path = self.folder / f"{name}.json"
            if path.exists():
                return json.loads(path.read_text(encoding="utf-8"))
        self.absent.append(names[0])
        return None


def heading(text: str) -> None:
    print(f"\n### {text}\n")


def table(head: list, rows: list[list]) -> None:
    print("| " + " | ".join(map(str, head)) + " |")
    print("|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(show(cell) for cell in row) + " |")


def show(value) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        if math.isnan(value):
            return "-"
        if abs(value) >= 1000:
            return f"{value:,.0f}"
        return f"{value:.3g}" if abs(value) < 1 else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def ratio(theirs, ours) -> str:
    if not theirs or not ours:
        return "-"
    value = theirs / ours
    return f"{value:.0f}x" if value >= 10 else f"{value:.2f}x"


def compare(rows: list[tuple], ours: dict | None, theirs: dict | None, no_ratio: tuple = ()) -> None:
    """Prints rows of (label, reader) with both systems and their ratio; a system that was not measured shows as `-`.

    Rows in `no_ratio` depend on more than the two systems, so no ratio is drawn from them.
    """
    out = []
    for label, read in rows:
        mine, other = (read(side) if side else None for side in (ours, theirs))
        out.append([label, other, mine, "-" if label in no_ratio else ratio(other, mine)])
    table(["", "LightRAG", "Graphloom", "ratio"], out)


def recall(passages: list[str], gold: list[str], k: int) -> float:
    return len(set(gold) & set(passages[:k])) / len(set(gold))


def paired(ours: dict, theirs: dict, mode: str, k: int) -> str:
    """Returns the mean difference of recall@k over the same questions, with its 95% interval (normal approximation)."""
    by_id = {r["id"]: r for r in theirs["results"] if r["mode"] == mode}
    diffs = [
        recall(r["passages"], r["gold"], k) - recall(by_id[r["id"]]["passages"], r["gold"], k)
        for r in ours["results"]
        if r["mode"] == mode and r["id"] in by_id
    ]
    if len(diffs) < 2:
        return "-"
    spread = 1.96 * statistics.stdev(diffs) / math.sqrt(len(diffs))
    return f"{statistics.mean(diffs):+.3f} ± {spread:.3f}"


def quality(results: Results, corpus: str, ours: dict | None, theirs: dict | None) -> None:
    sides = [(name, side) for name, side in (("LightRAG", theirs), ("Graphloom", ours)) if side and "quality" in side]
    if not sides:
        return
    heading(f"Retrieval quality, {corpus}, {sides[0][1]['questions']} questions")
    rows = []
    for mode in MODES:
        for name, side in sides:
            if scores := side["quality"].get(mode):
                rows.append([mode, name, *(f"{scores[k]:.3f}" for k in RECALLS), f"{scores['returned']:.1f}"])
    table(["mode", "system", *RECALLS, "returned"], rows)
    raw = [results.get(f"raw-{name}-{corpus}") for name in (OURS, THEIRS)]
    if all(raw):
        print("\nGraphloom minus LightRAG, question by question, with its 95% interval:\n")
        shared = set.intersection(*({row["mode"] for row in side["results"]} for side in raw))
        rows = [[mode, *(paired(raw[0], raw[1], mode, k) for k in (2, 5, 10, 20))] for mode in MODES if mode in shared]
        table(["mode", "recall@2", "recall@5", "recall@10", "recall@20"], rows)


def latency(corpus: str, ours: dict | None, theirs: dict | None, cold: dict | None) -> None:
    ours, theirs, cold = ((side or {}).get("latency", {}) for side in (ours, theirs, cold))
    if not (ours or theirs or cold):
        return
    heading(f"Retrieval latency, {corpus}")
    rows = []
    for mode in MODES:
        other, mine, fresh = (side.get(mode, {}) for side in (theirs, ours, cold))
        for key, label in (("p50_ms", "p50 ms"), ("p95_ms", "p95 ms"), ("p99_ms", "p99 ms")):
            costs = [side.get(key) for side in (other, mine, fresh)]
            rows.append([mode, label, *costs, ratio(costs[0], costs[1]), ratio(costs[0], costs[2])])
        rates = [side.get("qps_8_concurrent") for side in (other, mine, fresh)]
        rows.append([mode, "queries/s, 8 at once", *rates, ratio(rates[1], rates[0]), ratio(rates[2], rates[0])])
    table(["mode", "", "LightRAG", "Graphloom", "Graphloom, nothing remembered", "ratio", "ratio, nothing remembered"], rows)


def indexing(corpus: str, ours: dict | None, theirs: dict | None) -> None:
    ours, theirs = ((side or {}).get("index") for side in (ours, theirs))
    if not (ours or theirs):
        return
    heading(f"Indexing {(ours or theirs)['passages']:,} passages, {corpus}")
    server = lambda key: lambda side: side["server"].get(key)  # noqa: E731
    # The later of two runs reuses cached vectors of the earlier one; wall time includes the cache misses.
    shared = ("wall s", "of it embedding in the replay server, s")
    compare(
        [
            ("CPU s", lambda side: side["cpu_s"]),
            ("wall s", lambda side: side["wall_s"]),
            ("of it embedding in the replay server, s", lambda side: side["embed_compute_s"]),
            ("peak memory MB", lambda side: side["peak_rss_mb"]),
            ("disk MB", lambda side: side["disk_mb"]),
            ("LLM calls", server("llm_calls")),
            ("prompt tokens", server("prompt_tokens")),
            ("completion tokens", server("completion_tokens")),
            ("texts embedded", server("embed_texts")),
        ],
        ours,
        theirs,
        no_ratio=shared,
    )
    for name, side in (("LightRAG", theirs), ("Graphloom", ours)):
        if side:
            load = " to ".join(f"{side[k][0]:.1f}" for k in ("load_before", "load_after"))
            print(f"\n{name}: statuses {side['statuses']}, calls {side['server']['calls_by_kind']}, machine load {load}.")


SMALL = (
    ("process start to ready s", "process_start_to_ready_s"), ("first query s", "first_query_s"),
    ("insert one s", "insert_one_s"), ("insert one CPU s", "insert_one_cpu_s"),
    ("delete one s", "delete_one_s"), ("delete one CPU s", "delete_one_cpu_s"), ("peak memory MB", "loaded_peak_rss_mb"),
)  # fmt: skip


def small(results: Results, corpus: str) -> None:
    ours, theirs = (results.get(f"smallops-{name}-{corpus}") for name in (OURS, THEIRS))
    if ours or theirs:
        heading(f"Small operations on that index ({corpus}), medians of 3")
        compare([(label, lambda side, key=key: side[key]) for label, key in SMALL], ours, theirs)


def growth(results: Results, name: str, title: str) -> None:
    found = results.get(name)
    if not found:
        return
    heading(f"Growth, {title}, {found['corpus']}, embeddings {found['embed']}")
    rows = []
    for size, r in found["sizes"].items():
        if "stopped_after_s" in r:
            rows.append([size, f"stopped after {r['stopped_after_s']:.0f} s at {r['passages_extracted']:,}", r["cpu_s"],
                         None, r["peak_rss_mb"], r["disk_mb"], *[None] * 4])  # fmt: skip
        else:
            after = r.get("after", {})
            rows.append([size, r["wall_s"], r["cpu_s"], r["ms_cpu_per_passage"], r["peak_rss_mb"], r["disk_mb"],
                         *(after.get(k) for _, k in SMALL if k in
                           ("process_start_to_ready_s", "first_query_s", "insert_one_s", "delete_one_s"))])  # fmt: skip
    table(["passages", "wall s", "CPU s", "CPU ms/passage", "peak MB", "disk MB",
           "ready s", "first query s", "insert one s", "delete one s"], rows)  # fmt: skip


def differs(state: dict) -> dict:
    return {key: state[key] for key in DIFFERENCES if state.get(key)}


def kills(results: Results, corpus: str) -> None:
    rows, notes = [], []
    for label, name in (("LightRAG", THEIRS), ("Graphloom", OURS)):
        found = results.get(f"kill-{name}-{corpus}")
        if not found:
            continue
        after = [differs(kill["after_restart"]) for kill in found["kills"]]
        on_disk = [kill["on_disk_after_kill"] for kill in found["kills"]]
        torn = sum(bool(state.get("graph_entities_without_vector") or state.get("graph_edges_without_vector")
                        or state.get("vectors_without_graph_entity") or state.get("vectors_without_graph_edge"))
                   for state in on_disk)  # fmt: skip
        paid = [kill["extractions_paid_twice"] for kill in found["kills"]]
        rows.append([label, found["passages"], len(after), sum(set(x) <= RECORDS for x in after), torn, sum(paid), max(paid, default=0)])
        if control := differs(found["control_vs_clean"]):
            notes.append(f"{label}: two undisturbed runs differ too: {control}.")
        notes += [f"{label}, kill {i + 1}: after restart {x}." for i, x in enumerate(after) if x]
    if rows:
        heading(f"kill -9 while indexing, {corpus}")
        table(["", "documents", "kills", "equal to an undisturbed run after restart", "graph and vectors apart on disk",
               "extractions paid twice, all kills", "at most in one"], rows)  # fmt: skip
        print("".join(f"\n{note}\n" for note in notes), end="")


def faults(results: Results, corpus: str) -> None:
    rows = []
    for label, name in (("LightRAG", THEIRS), ("Graphloom", OURS)):
        found = results.get(f"fault-{name}-{corpus}")
        for case, r in (found or {}).get("cases", {}).items():
            again = r["after_same_corpus_again_without_faults"]
            rows.append([label, case, r["first"]["status"], differs(r["first"]) or "none", differs(again) or "none"])
    if rows:
        heading(f"Provider faults while indexing, {corpus}")
        table(["", "faults", "documents", "differences at first", "after indexing again without faults"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--corpus", default="musique_train100")
    args = parser.parse_args()
    results, corpus = Results(args.results), args.corpus
    ours, theirs = (results.get(f"run-{name}-{corpus}") for name in (OURS, THEIRS))
    for side in (ours, theirs):
        if side:
            m = side["machine"]
            print(f"{side['adapter']} {side['system'].get('version', '')}: {m['time']}, {m['cores']} cores, {m['mem_gb']} GB")
    quality(results, corpus, ours, theirs)
    again = [results.get(f"latency-{name}-{corpus}", f"run-{name}-{corpus}") for name in (OURS, THEIRS)]
    latency(corpus, *again, results.get(f"latency-cold-{OURS}-{corpus}"))
    indexing(corpus, ours, theirs)
    small(results, corpus)
    growth(results, f"scale-{THEIRS}-{corpus}", "LightRAG as shipped")
    growth(results, f"scale-{OURS}-2wiki_corpus6119", "Graphloom")
    kills(results, corpus)
    faults(results, corpus)
    if results.absent:
        print("\nNot measured: " + ", ".join(dict.fromkeys(results.absent)) + ".")


if __name__ == "__main__":
    main()
