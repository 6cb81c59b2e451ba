"""Measures recall of the tree's modes with both clusterings, and of naive and contextual, on question sets, offline.

    tree_modes.py --graphloom graphloom --questions DIR [--set NAME]... [--first N] [--clustering NAME]...
                  [--work DIR]

Passages are indexed once per set with the built-in embedder, and the tree is derived with summaries by rules. Prints in Markdown the
recall of each mode, the number of nodes and the seconds to build the tree. Also prints the recall of `auto` fused with `naive` and with
`tree`, which shows whether passages found through nodes improve on `auto`. `--first` asks only this many questions of each set; all
passages are indexed.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import tempfile
import time

CLUSTERINGS = ("agglomerative", "soft")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphloom", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--questions", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--set", action="append")
    parser.add_argument("--first", type=int)
    parser.add_argument("--clustering", action="append", choices=CLUSTERINGS)
    parser.add_argument("--work", type=pathlib.Path)
    arguments = parser.parse_args()
    names = arguments.set or sorted(
        folder.name
        for folder in arguments.questions.iterdir()
        if (folder / "questions.jsonl").exists()
    )
    work = (arguments.work or pathlib.Path(tempfile.mkdtemp(prefix="tree-modes-"))).resolve()
    work.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"GRAPHLOOM_DATA_DIR": str(work / "data")}

    def run(*command):
        return subprocess.run(
            [arguments.graphloom, *command], check=True, env=environment, cwd=work, stdout=subprocess.PIPE, text=True
        ).stdout

    def questions(name):
        """Returns the folder of a set, with only the first questions if `--first` is set."""
        whole = arguments.questions / name
        if not arguments.first:
            return whole
        part = work / "sets" / name
        part.mkdir(parents=True, exist_ok=True)
        (part / "corpus.jsonl").write_bytes((whole / "corpus.jsonl").read_bytes())
        lines = (whole / "questions.jsonl").read_text().splitlines(keepends=True)
        (part / "questions.jsonl").write_text("".join(lines[: arguments.first]))
        return part

    def recall(name, modes, *more):
        out = work / "run.json"
        run("eval", "retrieval", "--data", str(questions(name)), "--modes", modes, "--k", "5,10", "--out", str(out), *more)
        result = json.loads(out.read_text())
        for row in result["rows"]:
            ranked[row["arm"], row["id"]] = row["ranked"]
            gold[row["id"]] = set(row["gold"])
        whole = [group for group in result["groups"] if group.get("type") is None]
        return {group["arm"]: [group["metrics"][f"recall@{k}"]["mean"] for k in (5, 10)] for group in whole}

    def fused(one, other):
        """Returns the recall of two modes' lists fused by reciprocal ranks."""
        sums = [0.0, 0.0]
        for question, wanted in gold.items():
            scores = collections.Counter()
            for arm in (one, other):
                for rank, passage in enumerate(ranked[arm, question], 1):
                    scores[passage] += 1 / (60 + rank)
            best = [passage for passage, _ in sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))]
            for place, k in enumerate((5, 10)):
                sums[place] += len(wanted & set(best[:k])) / max(len(wanted), 1)
        return [total / max(len(gold), 1) for total in sums]

    print("| set | mode | clustering | recall@5 | recall@10 | nodes | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        ranked, gold = {}, {}
        for mode, (five, ten) in recall(name, "naive,contextual,auto").items():
            print(f"| {name} | {mode} | | {five:.3f} | {ten:.3f} | | |", flush=True)
        for clustering in arguments.clustering or CLUSTERINGS:
            option = ("--set", f"tree_clustering={clustering}")
            begin = time.time()
            summary = json.loads(run("--json", "--workspace", f"eval-{name}", "derive", "tree", *option).splitlines()[-1])
            seconds = time.time() - begin
            for mode, (five, ten) in recall(name, "tree,tree_descent", *option).items():
                print(f"| {name} | {mode} | {clustering} | {five:.3f} | {ten:.3f} | {summary['nodes']} | {seconds:.1f} |", flush=True)
            for other in ("naive", "tree"):
                five, ten = fused("auto", other)
                print(f"| {name} | auto and {other} | {clustering} | {five:.3f} | {ten:.3f} | | |", flush=True)


if __name__ == "__main__":
    main()
