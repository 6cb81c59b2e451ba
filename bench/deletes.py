#!/usr/bin/env python3
"""Measures the cost of `graphloom rm` for one document and for many, in one workspace.

    bench/deletes.py --graphloom BINARY --corpus CORPUS.jsonl [--many 100] [--repeats 7]
    bench/deletes.py --graphloom BINARY --data-dir DIR [--workspace NAME] [--many 100] [--repeats 7]

The workspace is built from the corpus with the offline default, one document per passage, or is the named one. It is copied before each
command, so that all commands start from the same state. Each repeat removes other documents, chosen with a fixed seed. Wall time and CPU
time (all threads, user and system) are those of the whole command, including the start of the process.
"""
from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--graphloom", type=Path, required=True)
    arguments.add_argument("--corpus", type=Path)
    arguments.add_argument("--data-dir", type=Path)
    arguments.add_argument("--workspace", default="default")
    arguments.add_argument("--many", type=int, default=100)
    arguments.add_argument("--repeats", type=int, default=7)
    given = arguments.parse_args()
    if (given.corpus is None) == (given.data_dir is None):
        arguments.error("exactly one of --corpus and --data-dir")
    binary = given.graphloom.resolve()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        whole = work / "whole"
        if given.corpus:
            build(binary, given.corpus, work, whole)
        else:
            shutil.copytree(given.data_dir, whole)
        status = json.loads(graphloom(binary, whole, given.workspace, "status").stdout)
        documents = sorted(document["source"] for document in status["documents"])
        if len(documents) < given.many:
            sys.exit(f"deletes: only {len(documents)} documents")
        chance = random.Random(7)
        measured: dict[int, list[tuple[float, float, int]]] = {1: [], given.many: []}
        for _ in range(given.repeats):
            for number, rows in measured.items():
                copy = work / "copy"
                shutil.copytree(whole, copy)
                rows.append(remove(binary, copy, given.workspace, chance.sample(documents, number)))
                shutil.rmtree(copy)
        report(status["counts"], measured, given.repeats)


def build(binary: Path, corpus: Path, work: Path, whole: Path) -> None:
    docs = work / "docs"
    docs.mkdir()
    for number, line in enumerate(corpus.read_text().splitlines()):
        passage = json.loads(line)
        (docs / f"{number:05}.txt").write_text(f"{passage['title']}\n\n{passage['text']}\n")
    graphloom(binary, whole, "default", "add", str(docs))


def graphloom(binary: Path, data_dir: Path, workspace: str, *command: str) -> subprocess.CompletedProcess[str]:
    options = ["--json", "--quiet", "--data-dir", str(data_dir), "--workspace", workspace]
    ran = subprocess.run([binary, *options, *command], capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"deletes: graphloom {command[0]}: {ran.stderr}")
    return ran


def remove(binary: Path, data_dir: Path, workspace: str, documents: list[str]) -> tuple[float, float, int]:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ran = graphloom(binary, data_dir, workspace, "rm", *documents)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    removal = json.loads(ran.stdout)["removal"]
    assert removal["documents"] == len(documents), removal
    return wall, cpu, removal["entities"] + removal["relations"] + removal["changed"]


def report(counts: dict, measured: dict[int, list[tuple[float, float, int]]], repeats: int) -> None:
    print(f"{counts['documents']} documents, {counts['entities']} entities, {counts['relations']} relations; "
          f"medians of {repeats}\n")
    print("| `graphloom rm` of | wall ms | CPU ms | entities and relations touched |")
    print("|---|---|---|---|")
    medians = {}
    for number, rows in measured.items():
        wall, cpu, touched = (statistics.median(column) for column in zip(*rows, strict=True))
        medians[number] = (wall, cpu)
        print(f"| {number} | {wall * 1000:.0f} | {cpu * 1000:.0f} | {touched:.0f} |")
    one, many = medians.values()
    print(f"\nratio: wall {many[0] / one[0]:.2f}, CPU {many[1] / one[1]:.2f}")


if __name__ == "__main__":
    main()
