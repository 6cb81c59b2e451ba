#!/usr/bin/env python3
"""Indexes passages with the `graphloom` command while the model service fails, retries, and compares the dumps.

    bench/faults.py --harness FOLDER --graphloom BINARY [--corpus NAME] [--limit N] [--seeds N]

Each case runs `add` against the harness's replay server with faults, records the output of `status`, then runs `retry`
against the same server without faults. The dump must then equal that of a run without faults. The numbers of requests that
reached the server and of successful answers are compared with those of the run without faults.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CASES = (
    ("5% 429, 5% 500, 2.5% cut, 2.5% damaged", "429=0.05,500=0.05,truncate=0.025,malformed=0.025", "length"),
    ("the same, cuts not marked as such", "429=0.05,500=0.05,truncate=0.025,malformed=0.025", "stop"),
    ("10% 429, 10% 500, 5% cut, 5% damaged", "429=0.1,500=0.1,truncate=0.05,malformed=0.05", "length"),
    ("15% 429, 15% 500", "429=0.15,500=0.15", "length"),
    ("30% damaged", "malformed=0.3", "length"),
)


class Workspace:
    """A new folder with the passages, in which the command runs."""

    def __init__(self, binary: str, server: str, passages):
        self.binary, self.folder = binary, Path(tempfile.mkdtemp(prefix="graphloom-faults-"))
        (self.folder / "docs").mkdir()
        for passage in passages:
            (self.folder / "docs" / f"{passage.id}.txt").write_text(passage.doc, encoding="utf-8")
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GRAPHLOOM_BASE_URL": server + "/v1",
            "GRAPHLOOM_API_KEY": "replay",
            "GRAPHLOOM_LLM": "openai:gpt-4o-mini",
            "GRAPHLOOM_EMBEDDER": "openai:text-embedding-3-small",
        }

    def run(self, *arguments: str) -> str:
        done = subprocess.run([self.binary, "-q", *arguments], cwd=self.folder, env=self.env, text=True, capture_output=True)
        if done.returncode not in (0, 3):
            sys.exit(f"graphloom {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def hash(self) -> str:
        return self.run("dump", "--hash").strip()

    def close(self) -> None:
        shutil.rmtree(self.folder)


def counts(stats: dict) -> dict:
    failed = sum(stats["faults_injected"].get(kind, 0) for kind in ("429", "500", "timeout"))
    return {"requests": stats["llm_calls"], "answers": stats["llm_calls"] - failed, "faults": stats["faults_injected"]}


def measure(replay, binary: str, passages, faults: str, seed: int) -> dict:
    replay.reset(fault_rate=faults, seed=seed)
    workspace = Workspace(binary, replay.url, passages)
    started = time.perf_counter()
    workspace.run("add", "docs")
    added = counts(replay.stats()) | {"wall_s": time.perf_counter() - started, "hash": workspace.hash()}
    status = json.loads(workspace.run("--json", "status"))
    replay.reset(fault_rate="", seed=seed)
    workspace.run("retry")
    again = counts(replay.stats())
    found = {
        "faults": added["faults"],
        "by_status": status["by_status"],
        "failed_chunks": sum(len(document["failed_chunks"]) for document in status["documents"]),
        "damaged_chunks": sum(len(document["damaged_chunks"]) for document in status["documents"]),
        "requests": added["requests"],
        "answers": added["answers"],
        "retried": again["requests"],
        "hash_after_add": added["hash"],
        "hash": workspace.hash(),
        "by_status_after_retry": json.loads(workspace.run("--json", "status"))["by_status"],
        "sound": json.loads(workspace.run("--json", "check")) == [],
        "wall_s": round(added["wall_s"], 1),
    }
    workspace.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness", required=True)
    parser.add_argument("--graphloom", required=True)
    parser.add_argument("--corpus", default="musique_train100")
    parser.add_argument("--limit", type=int, default=120)
    parser.add_argument("--seeds", type=int, default=3, help="repeats with other draws of faults")
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.harness)
    import corpora  # noqa: PLC0415
    from harness import HOME, Replay  # noqa: PLC0415

    passages = corpora.load(arguments.corpus).passages[: arguments.limit]
    results, equal = [], True
    print("| faults | documents ready, incomplete | chunks failed, damaged | answers | requests | after `retry` |")
    print("|---|---|---|---|---|---|")
    for finish in ("length", "stop"):
        cases = [(label, faults) for label, faults, its in CASES if its == finish]
        with Replay("--embed", "hash", "--truncate-finish", finish) as replay:
            clean = measure(replay, arguments.graphloom, passages, "", 0)
            for label, faults in cases:
                for seed in range(1, arguments.seeds + 1):
                    found = measure(replay, arguments.graphloom, passages, faults, seed)
                    same = found["hash"] == clean["hash"] and found["sound"]
                    # An unmarked answer that ends with a full stop cannot be distinguished from one truncated there.
                    equal &= same or finish == "stop"
                    results.append({"case": label, "seed": seed, "clean": clean, "same": same, **found})
                    states = found["by_status"]
                    print(
                        f"| {label} | {states.get('ready', 0)}, {states.get('incomplete', 0)} | {found['failed_chunks']}, "
                        f"{found['damaged_chunks']} | {found['answers'] / clean['answers']:.3f} x | "
                        f"{found['requests'] / clean['requests']:.3f} x | {'the same dump' if same else 'another dump'} |",
                        flush=True,
                    )
    target = HOME / "results" / f"faults-graphloom-{arguments.corpus}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps({"passages": len(passages), "cases": results}, indent=1), encoding="utf-8")
    if not equal:
        sys.exit("a dump after retry differs from that of the run without faults")


if __name__ == "__main__":
    main()
