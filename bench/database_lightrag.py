"""LightRAG with its PostgreSQL storages and Graphloom, each in a database of the same server, with the same model and vectors.

LightRAG keeps key-value data, vectors and document states in PostgreSQL, but its graph in a NetworkX file, because its graph storage
for PostgreSQL needs the extension AGE.
"""
from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

DELAY_MS = 200
CALLS = 4
ASKED = 50
MODES = ["naive", "mix"]


def passages(corpus: Path, documents: int) -> list[dict]:
    lines = [json.loads(line) for line in corpus.open()][:documents]
    return [{"id": str(line.get("id", number)), "text": line["text"]} for number, line in enumerate(lines)]


def statements(psql: Callable[[str], str], database: str) -> int:
    """Returns the number of transactions, as counted by the server."""
    return int(psql(f"SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{database}'"))


def percentiles(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return f"{statistics.median(ordered) * 1e3:.1f} / {ordered[int((len(ordered) - 1) * 0.99)] * 1e3:.1f}"


def measure(
    binary: Path, work: Path, url: str, harness: Path, corpus: Path, questions: list[str], documents: int,
    run: Callable, serving: Callable, ask: Callable, psql: Callable[[str], str],
) -> None:
    sys.path.insert(0, str(harness))
    from harness import Replay, System

    texts = passages(corpus, documents)
    asked = questions[:ASKED]
    for database in ("lightrag", "graphloom"):
        psql(f"CREATE DATABASE {database}")
    address = url.split("@")[1].split("/")[0]
    host, port = address.split(":")
    print(f"{documents} passages, a call takes {DELAY_MS} ms, {CALLS} calls at once, load {os.getloadavg()[0]:.1f}")
    print("The second time that each question is asked, without delay of the model; Graphloom over HTTP and without cache.")
    print("system     passages/s  model calls  CPU s  MB in database  transactions  p50 / p99 ms: " + ", ".join(MODES))
    with Replay("--embed", "hash", "--delay-ms", str(DELAY_MS)) as replay:
        settings = {"kv_storage": "PGKVStorage", "vector_storage": "PGVectorStorage", "doc_status_storage": "PGDocStatusStorage",
                    "graph_storage": "NetworkXStorage", "llm_model_max_async": CALLS}
        address = {"POSTGRES_HOST": host, "POSTGRES_PORT": port, "POSTGRES_USER": "postgres", "POSTGRES_PASSWORD": "none",
                   "POSTGRES_DATABASE": "lightrag"}
        peer = System("lightrag_py", work / "lightrag", replay.url, settings, env=address)
        began = time.monotonic()
        peer.call("index", passages=texts)
        took, used, said = time.monotonic() - began, peer.meter.cpu_s(), replay.stats()
        replay.reset(delay_ms=0)
        times = []
        for mode in MODES:
            items = [{"id": str(number), "question": question, "mode": mode} for number, question in enumerate(asked)]
            peer.call("query", items=items, concurrency=1, top_k=20)
            answers = peer.call("query", items=items, concurrency=1, top_k=20)["results"]
            times.append(percentiles([answer["latency_s"] for answer in answers]))
        report("LightRAG", psql, "lightrag", documents / took, said, used, times)
        peer.call("close")

        replay.reset(delay_ms=DELAY_MS)
        own = {
            "GRAPHLOOM_STORE": url.replace("/postgres?", "/graphloom?"), "GRAPHLOOM_LLM": "openai:gpt-4o-mini",
            "GRAPHLOOM_EMBEDDER": "openai:text-embedding-3-small", "GRAPHLOOM_BASE_URL": f"{replay.url}/v1", "GRAPHLOOM_API_KEY": "none",
            "GRAPHLOOM_GLEANING": "1", "GRAPHLOOM_MAX_CONCURRENT_CALLS": str(CALLS),
        }
        sources = work / "lightrag-passages"
        sources.mkdir()
        for passage in texts:
            (sources / f"{passage['id']}.txt").write_text(passage["text"])
        folder = work / "graphloom"
        began, before = time.monotonic(), os.times()
        run(binary, folder, own, "add", str(sources))
        took = time.monotonic() - began
        used = os.times().children_user + os.times().children_system - before.children_user - before.children_system
        said = replay.stats()
        replay.reset(delay_ms=0)
        with serving(binary, folder, own) as (place, _):
            times = []
            for mode in MODES:
                for question in asked:
                    ask(place, question, mode)
                times.append(percentiles([ask(place, question, mode) / 1e3 for question in asked]))
        report("Graphloom", psql, "graphloom", documents / took, said, used, times)


def report(
    name: str, psql: Callable[[str], str], database: str, rate: float, said: dict, cpu: float, times: list[str]
) -> None:
    size = int(psql(f"SELECT pg_database_size('{database}')")) / 1e6
    print(
        f"{name:9}  {rate:10.2f}  {said['llm_calls']:11}  {cpu:5.0f}  {size:14.1f}  {statements(psql, database):12}  {', '.join(times)}", flush=True
    )
