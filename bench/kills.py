#!/usr/bin/env python3
"""Kills workers and restarts the database while documents are indexed, and counts what is lost or paid for twice.

    bench/kills.py --graphloom BINARY [--documents 500] [--workers 4] [--kills 20] [--restarts 5] [--seed 1]

Workers on one PostgreSQL server index documents of one chunk in four workspaces, with a model on this machine that takes 50 ms per call.
Meanwhile random workers are killed (SIGKILL) and restarted, and the database is shut down immediately (SIGQUIT, as in a crash) and
restarted. In the end, all documents must be in the graph, each workspace must have the hash of the same documents in a file, and only
calls that were in flight when a worker was killed may be made twice. Otherwise ends with an error.

A second run measures fairness: one worker process that indexes one workspace at a time, a workspace with 200 documents, and another one
that gets 5 documents later.

Uses the PostgreSQL that scripts/install-postgres.sh unpacked, with its default settings.
"""
from __future__ import annotations

import argparse
import collections
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

import database

WORKSPACES = 4
CALLS = 2
AT_ONCE = 2


class Counting(database.Model):
    asked: collections.Counter = collections.Counter()
    lock = threading.Lock()

    def note(self, body: dict) -> None:
        with self.lock:
            self.asked[json.dumps(body["messages"])] += 1


class Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Ignores errors, because a killed worker does not read its answer."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--graphloom", type=Path, required=True)
    arguments.add_argument("--documents", type=int, default=500)
    arguments.add_argument("--workers", type=int, default=4)
    arguments.add_argument("--kills", type=int, default=20)
    arguments.add_argument("--restarts", type=int, default=5)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    if not (database.PROGRAMS / "postgres").is_file():
        sys.exit("kills: no PostgreSQL; run scripts/install-postgres.sh")
    database.MODEL_SECONDS = 0.05
    model = Server(("127.0.0.1", 0), Counting)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    settings = {
        "GRAPHLOOM_LLM": "openai:scripted",
        "GRAPHLOOM_BASE_URL": f"http://127.0.0.1:{model.server_port}/v1",
        "GRAPHLOOM_GLEANING": "0",
        "GRAPHLOOM_MAX_CONCURRENT_CALLS": str(CALLS),
    }
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        server = database.Server(work)
        try:
            ok = kill(given, work, server, settings) and fair(given, work, server, settings)
        finally:
            server.stop()
    model.shutdown()
    sys.exit(0 if ok else 1)


class Host:
    """A worker on its own simulated host, which can restart it."""

    def __init__(self, binary: Path, folder: Path, settings: dict[str, str], *options: str) -> None:
        folder.mkdir()
        self.command, self.folder, self.settings = [binary, "--json", "worker", *options], folder, settings
        self.start()

    def start(self) -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(self.command, cwd=self.folder, env=database.environment(**self.settings), **quiet)

    def kill_and_restart(self) -> None:
        self.process.kill()
        self.process.wait()
        self.start()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()


def accept(binary: Path, work: Path, settings: dict[str, str], name: str, numbers: range) -> list[str]:
    sources = work / "sources"
    sources.mkdir(exist_ok=True)
    files = []
    for number in numbers:
        path = sources / f"{name}-{number}.md"
        path.write_text(f"Thing{name}{number} stands beside Thing{name}{number + 1} near Thing{name}Z{number % 20}.\n")
        files.append(str(path))
    database.run(binary, work / "accept", {**settings, "GRAPHLOOM_WORKSPACE": name}, "add", *files, "--no-wait")
    return files


def done(url: str, names: list[str]) -> int:
    listed = ", ".join(f"'{name}'" for name in names)
    query = f"SELECT count(*) FROM jobs j JOIN workspaces w ON w.id = j.workspace_id WHERE NOT j.is_open AND w.name IN ({listed})"
    return database.number_of(url, query)


def kill(given: argparse.Namespace, work: Path, server: database.Server, settings: dict[str, str]) -> bool:
    binary, chance = given.graphloom.resolve(), random.Random(given.seed)
    stored = {**settings, "GRAPHLOOM_STORE": server.url}
    names = [f"kills{number}" for number in range(WORKSPACES)]
    share = given.documents // WORKSPACES
    files = {name: accept(binary, work, stored, name, range(share)) for name in names}
    documents = share * WORKSPACES
    Counting.asked.clear()
    began = time.monotonic()
    hosts = [Host(binary, work / f"host-{number}", stored, "--workers", str(AT_ONCE)) for number in range(given.workers)]
    # Spread evenly over the calls, from the first to nearly the last, with restarts between kills.
    steps = [("kill", (at + 1) / (given.kills + 1)) for at in range(given.kills)]
    steps += [("restart", (at + 0.7) / (given.restarts + 0.5)) for at in range(given.restarts)]
    for what, share_of_calls in sorted(steps, key=lambda step: step[1]):
        while sum(Counting.asked.values()) < documents * share_of_calls * 0.95:
            time.sleep(0.01)
        if what == "kill":
            chance.choice(hosts).kill_and_restart()
        else:
            server.stop(signal.SIGQUIT)
            time.sleep(chance.uniform(0, 1))
            server.start()
    patience = time.monotonic() + 600
    while (ready := done(server.url, names)) < documents and time.monotonic() < patience:
        time.sleep(0.2)
    took = time.monotonic() - began
    ends = [host.stop() for host in hosts]
    again = sum(times - 1 for times in Counting.asked.values())
    allowed = given.kills * CALLS * AT_ONCE
    hashes = []
    for name in names:
        there = database.run(binary, work / "accept", {**stored, "GRAPHLOOM_WORKSPACE": name}, "dump", "--hash").strip()
        here = {**settings, "GRAPHLOOM_WORKSPACE": name}
        database.run(binary, work / "accept", {**here, "GRAPHLOOM_DATA_DIR": "files"}, "add", *files[name])
        own = database.run(binary, work / "accept", {**here, "GRAPHLOOM_DATA_DIR": "files"}, "dump", "--hash").strip()
        hashes.append(there == own)
    print(
        f"{documents} documents, {given.workers} workers, {given.kills} kills, {given.restarts} restarts of the database, {took:.0f} s\n"
        f"  in the graph {ready}, stuck {documents - ready}, hash equal to the file's {sum(hashes)} of {len(hashes)} workspaces\n"
        f"  calls {sum(Counting.asked.values())}, paid for twice {again}, in flight at kills at most {allowed}\n"
        f"  workers that ended well {ends.count(0)} of {len(ends)}",
        flush=True,
    )
    return ready == documents and all(hashes) and again <= allowed and ends.count(0) == len(ends)


def fair(given: argparse.Namespace, work: Path, server: database.Server, settings: dict[str, str]) -> bool:
    binary = given.graphloom.resolve()
    database.MODEL_SECONDS = 0.4
    stored = {**settings, "GRAPHLOOM_STORE": server.url}
    accept(binary, work, stored, "large", range(200))
    host = Host(binary, work / "host-fair", stored, "--workers", "1")
    while done(server.url, ["large"]) < 20:
        time.sleep(0.05)
    accept(binary, work, stored, "small", range(5))
    began = time.monotonic()
    while done(server.url, ["small"]) < 5:
        time.sleep(0.05)
    waited, of_large = time.monotonic() - began, done(server.url, ["large"])
    while done(server.url, ["large"]) < 200:
        time.sleep(0.2)
    took = time.monotonic() - began
    host.stop()
    print(
        f"one worker, one workspace at a time: 5 documents added while 200 of another workspace are indexed are done after {waited:.0f} s,\n"
        f"  when {of_large} of the 200 are; the 200 after {took:.0f} s",
        flush=True,
    )
    return of_large < 150


if __name__ == "__main__":
    main()
