#!/usr/bin/env python3
"""Builds the program from scratch and prints the time, the share of each crate, and the size of the program.

    bench/build.py [--profile release] [--top N]

The build goes into an empty folder, which is removed. Crates are downloaded before the clock starts. CPU time is that of all compilers
and build scripts. The seconds of a crate are the time from start to end of its compilations, which is more than their CPU time if more
compilations run than there are processors.
"""
from __future__ import annotations

import argparse
import collections
import json
import os
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "graphloom-cli"
PROGRAM = "graphloom"


def units(target: Path) -> list[dict]:
    """Returns the compilations that Cargo reports: name, version and seconds of each."""
    report = next((target / "cargo-timings").glob("cargo-timing-*.html")).read_text(encoding="utf-8")
    found = re.search(r"const UNIT_DATA = (\[.*?\]);\n", report, re.S)
    if found is None:
        raise SystemExit("the report of `cargo build --timings` has no list of units: is this another version of Cargo?")
    return json.loads(found.group(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", default="release", help="the profile to build with (default: release)")
    parser.add_argument("--top", type=int, default=20, help="crates listed, at most (default: 20)")
    given = parser.parse_args()
    subprocess.run(["cargo", "fetch", "--locked"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory(prefix="graphloom-build-") as folder:
        command = ["cargo", "build", "--locked", "--timings", "--profile", given.profile, "-p", PACKAGE]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "CARGO_TARGET_DIR": folder})
        seconds = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        built = Path(folder) / given.profile / PROGRAM
        size = built.stat().st_size / 1e6
        crates: collections.Counter[str] = collections.Counter()
        compiled = units(Path(folder))
        for unit in compiled:
            crates[unit["name"]] += unit["duration"]
    print(f"\n| {given.profile} build on {os.cpu_count()} processors | |")
    print("|---|---|")
    print(f"| time | {seconds / 60:.1f} minutes |")
    print(f"| CPU time | {cpu:,.0f} s |")
    print(f"| compilations | {len(compiled)} of {len(crates)} crates |")
    print(f"| program | {size:.1f} MB |")
    listed = [f"{name} {taken:.0f}" for name, taken in crates.most_common(given.top)]
    print(f"\nSeconds of the slowest crates, of {sum(crates.values()):,.0f} in all: {', '.join(listed)}.")


if __name__ == "__main__":
    main()
