#!/usr/bin/env python3
"""Computes RAGChecker's metrics from the labels of its own example, and compares them with the stored metrics, digit by digit.

    bench/ragchecker.py --graphloom PROGRAM --labels checking_outputs.json
"""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphloom", required=True, type=Path)
    parser.add_argument("--labels", required=True, type=Path)
    args = parser.parse_args()
    stored = json.loads(args.labels.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        # Remove the stored metrics, so that they cannot be copied.
        labels = {"results": [{k: v for k, v in answer.items() if k != "metrics"} for answer in stored["results"]]}
        bare, judged = Path(folder) / "labels.json", Path(folder) / "judged.json"
        bare.write_text(json.dumps(labels), encoding="utf-8")
        command = [args.graphloom.resolve(), "eval", "ragchecker", bare, "--out", judged]
        subprocess.run(command, cwd=folder, check=True)
        computed = json.loads(judged.read_text(encoding="utf-8"))
    pairs = [("all", stored["metrics"], computed["metrics"])]
    pairs += [(a["query_id"], a["metrics"], b["metrics"]) for a, b in zip(stored["results"], computed["results"], strict=True)]
    differing = [f"{name}: stored {theirs}, computed {ours}" for name, theirs, ours in pairs if theirs != ours]
    print(f"\n{len(pairs) - 1} answers: " + ("; ".join(differing) or "every metric equals the stored value exactly"))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
