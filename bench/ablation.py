#!/usr/bin/env python3
"""Measures each design choice of mode auto by asking question sets with the arms of arms.txt.

Runs `graphloom eval retrieval` over each set with the vectors of the harness's MiniLM. Prints recall@5 and recall@10 of every arm, and the
difference between its mean over the sets and that of the first arm. Sets with real or replayed extractions (`*_train*`) are indexed with
the harness's language model, the others by rules. Sets already indexed in --work are not indexed again.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RANKS = (5, 10)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphloom", type=pathlib.Path, required=True, help="the program")
    parser.add_argument("--harness", type=pathlib.Path, required=True, help="folder with replay_server.py")
    parser.add_argument("--questions", type=pathlib.Path, required=True, help="folder of question sets")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="data folder, kept")
    parser.add_argument("--sets", default="musique_train100,hotpotqa_train100,musique_dev200,hotpotqa_dev200,2wiki_dev164")
    parser.add_argument("--arms", type=pathlib.Path, default=HERE / "arms.txt", help="lines NAME=JSON")
    arguments = parser.parse_args()
    arms = [line for line in arguments.arms.read_text().splitlines() if line]
    arguments.work.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(arguments.harness))
    from harness import Replay  # noqa: PLC0415

    with Replay("--embed", "minilm") as replay:
        reports = {name: evaluate(arguments, name, arms, replay.url) for name in arguments.sets.split(",")}
    print_table(reports)


def evaluate(arguments, name, arms, url):
    """Returns the metrics of each arm on one set, by name."""
    out = arguments.work / f"{name}.json"
    command = [arguments.graphloom, "--data-dir", arguments.work, "--embedder", "openai:minilm"]
    command += ["--set", f"base_url={url}/v1", "--llm", "openai:replayed" if "train" in name else "none"]
    command += ["eval", "retrieval", "--data", arguments.questions / name, "--out", out, "--resume"]
    for arm in arms:
        command += ["--arm", arm]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OPENAI_API_KEY": "replay"})
    report = json.loads(out.read_text())
    wholes = (group for group in report["groups"] if group.get("type") is None)
    return {group["arm"]: figures(group["metrics"]) for group in wholes}


def figures(metrics):
    """Returns recall at RANKS."""
    return [metrics[f"recall@{rank}"]["mean"] for rank in RANKS]


def print_table(reports):
    names = list(next(iter(reports.values())))
    print("| arm | " + " | ".join(f"{name} @5 / @10" for name in reports) + " | mean @5 / @10 | against the first |")
    print("|---" * (len(reports) + 3) + "|")
    first = None
    for name in names:
        rows = [report[name] for report in reports.values()]
        mean = [sum(row[i] for row in rows) / len(rows) for i in range(len(RANKS))]
        first = first or mean
        cells = [f"{row[0]:.3f} / {row[1]:.3f}" for row in rows] + [f"{mean[0]:.3f} / {mean[1]:.3f}"]
        cells.append(" / ".join(f"{value - base:+.3f}" for value, base in zip(mean, first)))
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
