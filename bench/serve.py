#!/usr/bin/env python3
"""Measures a server: throughput compared with LightRAG, latency at a fixed rate, overload, and kill -9.

    bench/serve.py --graphloom BINARY --tools FOLDER --work FOLDER [--harness FOLDER] [--parts NAME,...] [--chunks N]

FOLDER of --tools has graphloom-bench-load and graphloom-bench-scale. Built stores are kept in the folder of --work and
reused. Parts:

    compared   retrieval of 1,890 passages over HTTP with 8 connections, compared with LightRAG's library call; needs the harness
    steady     a synthetic store with N chunks, queried at a fixed rate: latency counts from when a request was due
    overload   the same at ten times the rate, or at ten times the sustainable rate if that is less, and back
    killed     kill -9 while it answers and indexes, and how soon it is ready again
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

CORPUS = "musique_train100"
CONNECTIONS = 8
RATE = 200
# Duration of each part in seconds, and number of repetitions.
COMPARED_S, COMPARED_TIMES = 5, 3
CARRIED_S, STEADY_S = 5, 30
BEFORE_S, OVERLOAD_S, AFTER_S = 5, 10, 10
KILLS, READY_LIMIT_S = 5, 60
# Options.
TIMES_AS_MANY, MAX_PEAK_MB, MAX_P99_MS, MAX_RECOVERY_S, MAX_READY_S = 10, 200, 80, 5, 2
EMBEDDER = "openai:clustered"


def http(url: str, body: dict | None = None, method: str | None = None) -> dict:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


class Serving:
    """A server with its log; it keeps its port when restarted."""

    def __init__(self, binary: str, folder: Path, models: list[str]):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url, self.folder = f"http://127.0.0.1:{self.port}", folder
        self.command = [binary, "--data-dir", str(folder), *models, "serve", "--port", str(self.port)]
        self.start()
        self.wait_ready()

    def start(self) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GRAPHLOOM_API_KEY": "replay"}
        with open(self.folder / "serve.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        self.started = time.perf_counter()

    def wait_ready(self) -> float:
        """Waits until the server is ready; returns the seconds since it was started."""
        while time.perf_counter() - self.started < READY_LIMIT_S:
            try:
                urllib.request.urlopen(self.url + "/readyz", timeout=1).close()
                return time.perf_counter() - self.started
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.002)
        sys.exit(f"the server is not ready, see {self.folder / 'serve.log'}")

    def peak_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
        return int(kilobytes) * 1024 / 1e6

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()


class Vectors:
    """Serves the vectors of a synthetic store over OpenAI's protocol, and provides its questions."""

    def __init__(self, tools: Path, chunks: int):
        command = [tools / "graphloom-bench-scale", "--chunks", str(chunks), "--serve", "--questions", "200"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said = json.loads(self.process.stdout.readline())
        self.questions = said["questions"]
        self.models = ["--embedder", EMBEDDER, "--set", f"base_url={said['url']}"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(30)


class Load:
    """Posts questions of a mode to a server."""

    def __init__(self, tools: Path, work: Path, serving: Serving, questions: list[str], mode: str):
        bodies = work / f"questions-{mode}.jsonl"
        body = {"mode": mode, "chunk_top_k": 20, "enable_rerank": False}
        bodies.write_text("".join(json.dumps({**body, "query": one}) + "\n" for one in questions), encoding="utf-8")
        url = serving.url + "/query/data"
        self.command = [str(tools / "graphloom-bench-load"), "--url", url, "--bodies", str(bodies)]

    def start(self, *pace: str) -> subprocess.Popen:
        return subprocess.Popen([*self.command, *pace], stdout=subprocess.PIPE, text=True)

    def run(self, *pace: str) -> dict:
        running = self.start(*pace)
        said, _ = running.communicate()
        if running.returncode:
            sys.exit("the load generator failed")
        return json.loads(said)

    def closed(self, seconds: float, connections: int = CONNECTIONS) -> dict:
        report = self.run("--connections", f"{connections}:{seconds}")
        if bad := not_well(report["phases"][0]):
            sys.exit(f"answers other than 200: {bad}")
        return report

    def open(self, *phases: tuple[float, float]) -> dict:
        return self.run("--rates", ",".join(f"{rate}:{seconds}" for rate, seconds in phases))


def not_well(phase: dict) -> dict:
    """Returns responses other than 200, and requests without a response."""
    return {**{status: n for status, n in phase["statuses"].items() if status != "200"}, **phase["errors"]}


def p99(phase: dict) -> float:
    """Returns the p99 latency of successful requests in ms; infinite if there are none."""
    return phase["latency_ms"].get("200", {}).get("p99", float("inf"))


def formatted(phase: dict) -> str:
    if "200" not in phase["latency_ms"]:
        return "none answered"
    of = phase["latency_ms"]["200"]
    return f"p50 {of['p50']:.1f}, p99 {of['p99']:.1f}, max {of['max']:.1f} ms"


class Rows:
    """Prints each row immediately, and keeps it."""

    def __init__(self):
        self.rows = []
        print("| what | measured | asked for | |")
        print("|---|---|---|---|")

    def add(self, what: str, measured: str, asked: str = "", held: bool | None = None) -> None:
        self.rows.append({"what": what, "measured": measured, "asked": asked, "held": held})
        verdict = {True: "yes", False: "**no**", None: ""}[held]
        print(f"| {what} | {measured} | {asked} | {verdict} |", flush=True)


def indexed(graphloom: str, folder: Path, passages, server: str) -> list[str]:
    """Indexes the passages once with `graphloom add`; returns the options for serving them."""
    models = ["--llm", "openai:gpt-4o-mini", "--embedder", "openai:text-embedding-3-small", "--set", f"base_url={server}/v1"]
    if (folder / "indexed").exists():
        return models
    shutil.rmtree(folder, ignore_errors=True)
    documents = folder / "documents"
    documents.mkdir(parents=True)
    for passage in passages:
        (documents / f"{passage.id}.txt").write_text(passage.doc, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GRAPHLOOM_API_KEY": "replay"}
    command = [graphloom, "-q", "--data-dir", str(folder), *models, "add", "documents"]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    shutil.rmtree(documents)
    (folder / "indexed").touch()
    return models


def compared(graphloom: str, tools: Path, work: Path, harness: str, rows: Rows) -> dict:
    sys.path.insert(0, harness)
    import corpora  # noqa: PLC0415
    from harness import Replay, System  # noqa: PLC0415

    corpus = corpora.load(CORPUS)
    questions = [question.question for question in corpus.questions]
    items = [{"id": question.id, "question": question.question, "mode": "mix"} for question in corpus.questions]
    with Replay("--embed", "minilm") as replay:
        models = indexed(graphloom, work / "graphloom", corpus.passages, replay.url)
        their_folder = work / "lightrag"
        built = (work / "lightrag-indexed").exists()
        if not built:
            shutil.rmtree(their_folder, ignore_errors=True)
        theirs = System("lightrag_py", their_folder, replay.url, {"bench_defer_flush": True})
        if not built:
            said = theirs.call("index", passages=[{"id": one.id, "text": one.doc} for one in corpus.passages])
            if said.get("statuses") != {"processed": len(corpus.passages)}:
                sys.exit(f"LightRAG did not index everything: {said}")
            (work / "lightrag-indexed").touch()
        figures = {"graphloom": [], "lightrag": []}
        with Serving(graphloom, work / "graphloom", models) as serving:
            load = Load(tools, work, serving, questions, "mix")
            for turn in range(COMPARED_TIMES + 1):
                said = theirs.call("query", items=items, concurrency=CONNECTIONS, top_k=20)
                if any("error" in result for result in said["results"]):
                    sys.exit("LightRAG failed to answer")
                ours = load.closed(COMPARED_S)
                # After the first round, both systems have cached the questions.
                if turn > 0:
                    figures["lightrag"].append(len(items) / said["wall_s"])
                    figures["graphloom"].append(ours["per_second"])
            peak = serving.peak_mb()
        theirs.close()
    ours, others = (statistics.median(figures[name]) for name in ("graphloom", "lightrag"))
    ratio = ours / others
    rows.add(
        f"1,890 passages, mix, {CONNECTIONS} at once: `POST /query/data` beside LightRAG's library call",
        f"{ours:.0f} / {others:.1f} a second = {ratio:.1f} x",
        f">= {TIMES_AS_MANY} x",
        ratio >= TIMES_AS_MANY,
    )
    rows.add("the same: the most memory that the server took", f"{peak:.0f} MB", f"<= {MAX_PEAK_MB} MB", peak <= MAX_PEAK_MB)
    return {"per_second": figures, "peak_mb": peak}


def steady(load: Load, chunks: int, mode: str, rows: Rows) -> dict:
    """Measures the maximum throughput, and the latency at a sustainable rate: the requested rate if possible."""
    load.closed(CARRIED_S)
    carried = load.closed(CARRIED_S)
    rate = RATE if carried["per_second"] > RATE else carried["per_second"] // 2
    report = load.open((rate, STEADY_S))
    phase = report["phases"][0]
    bad = not_well(phase)
    is_whole = rate == RATE
    rows.add(
        f"{chunks:,} chunks, {mode}: {rate:.0f} a second for {STEADY_S} s ({CONNECTIONS} connections carry {carried['per_second']:.0f})",
        f"{formatted(phase)}, {sum(bad.values())} errors",
        f"p99 <= {MAX_P99_MS} ms, 0 errors" if is_whole else "",
        p99(phase) <= MAX_P99_MS and not bad if is_whole else None,
    )
    return {"carried": carried, "rate": rate, "steady": report}


def recovery_s(report: dict, normal_ms: float) -> float:
    """Returns the seconds from the end of the overload until all later seconds are as before it."""
    after = report["windows"][BEFORE_S + OVERLOAD_S :]
    as_before = [not not_well(window) and p99(window) <= normal_ms for window in after]
    return len(as_before) - next((n for n, well in enumerate(reversed(as_before)) if not well), len(as_before))


def overload(load: Load, serving: Serving, chunks: int, mode: str, measured: dict, rows: Rows) -> dict:
    rate = measured["rate"]
    too_much = 10 * min(RATE, measured["carried"]["per_second"])
    report = load.open((rate, BEFORE_S), (too_much, OVERLOAD_S), (rate, AFTER_S))
    before, during, _ = report["phases"]
    share = {status: n / during["requests"] for status, n in {**during["statuses"], **during["errors"]}.items()}
    others = {status for status in share if status not in ("200", "429")}
    rows.add(
        f"{chunks:,} chunks, {mode}: {too_much:.0f} a second for {OVERLOAD_S} s",
        ", ".join(f"{status} {100 * share[status]:.1f}%" for status in sorted(share))
        + f"; {during['statuses'].get('200', 0) / OVERLOAD_S:.0f} a second answered, {formatted(during)};"
        + f" {during['without_retry_after']} of 429 without Retry-After; {serving.peak_mb():.0f} MB",
        "200 and 429 alone, with Retry-After",
        not others and not during["without_retry_after"],
    )
    normal_ms = max(MAX_P99_MS, 2 * p99(before))
    seconds = recovery_s(report, normal_ms)
    rows.add(
        f"the same: seconds until every second at {rate:.0f} is free of errors and below {normal_ms:.0f} ms again",
        f"{seconds}",
        f"< {MAX_RECOVERY_S}",
        seconds < MAX_RECOVERY_S,
    )
    return report


def killed(load: Load, serving: Serving, chunks: int, questions: list[str], rows: Rows) -> dict:
    """Kills the server repeatedly; every document whose acceptance was confirmed must be indexed in the end."""
    times, first, accepted = [], [], []
    running = load.start("--connections", f"{CONNECTIONS}:{KILLS * 4}")
    for turn in range(KILLS):
        time.sleep(1)
        texts = [f"Kill {turn}, {n}: {question}" for n, question in enumerate(questions[:50])]
        sources = [f"kill-{turn}-{n}.md" for n in range(len(texts))]
        accepted.append(http(serving.url + "/documents/texts", {"texts": texts, "file_sources": sources})["track_id"])
        # By now the worker has started, but has not finished.
        time.sleep(0.1)
        serving.kill()
        serving.start()
        times.append(serving.wait_ready())
        http(serving.url + "/query/data", {"query": questions[turn], "mode": "auto"})
        first.append(time.perf_counter() - serving.started)
    said, _ = running.communicate()
    report = json.loads(said)
    documents = []
    deadline = time.perf_counter() + READY_LIMIT_S
    for track in accepted:
        while True:
            documents_of = http(f"{serving.url}/documents/track_status/{track}")["documents"]
            if all(document["status"] == "processed" for document in documents_of):
                break
            if time.perf_counter() > deadline:
                sys.exit("what was accepted before a kill is not indexed a minute after it")
            time.sleep(0.1)
        documents += [document["id"] for document in documents_of]
    http(serving.url + "/documents/delete_document", {"doc_ids": documents}, "DELETE")
    phase = report["phases"][0]
    rows.add(
        f"{chunks:,} chunks: kill -9 while asked by {CONNECTIONS} connections and indexing, started again, {KILLS} times: ready after",
        f"{min(times):.2f} to {max(times):.2f} s; the first question in mode auto answered after {max(first):.2f} s at most",
        f"<= {MAX_READY_S} s",
        max(times) <= MAX_READY_S,
    )
    bad = {status: n for status, n in not_well(phase).items() if status not in ("refused", "broken")}
    rows.add(
        "the same: documents accepted before a kill that are indexed in the end, and other answers than 200",
        f"{len(documents)} of {KILLS * 50}, {sum(bad.values())} of {phase['requests']}",
        "all, none",
        len(documents) == KILLS * 50 and not bad,
    )
    return {"ready_s": times, "first_question_s": first, "load": report}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphloom", required=True)
    parser.add_argument("--tools", required=True, type=Path)
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--harness")
    parser.add_argument("--parts", default="compared,steady,overload,killed")
    parser.add_argument("--chunks", type=int, default=100_000)
    arguments = parser.parse_args()
    parts, work, tools = arguments.parts.split(","), arguments.work.resolve(), arguments.tools.resolve()
    graphloom, chunks = os.path.abspath(arguments.graphloom), arguments.chunks
    if unknown := set(parts) - {"compared", "steady", "overload", "killed"}:
        sys.exit(f"no parts {', '.join(sorted(unknown))}")
    work.mkdir(parents=True, exist_ok=True)
    figures, rows = {}, Rows()
    if "compared" in parts and not arguments.harness:
        print("serve: without the harness nothing is compared with LightRAG", file=sys.stderr)
    elif "compared" in parts:
        figures["compared"] = compared(graphloom, tools, work, arguments.harness, rows)
    if set(parts) & {"steady", "overload", "killed"}:
        store = work / f"scale-{chunks}"
        build = [tools / "graphloom-bench-scale", "--chunks", str(chunks), "--folder", store, "--embedder", EMBEDDER, "--build"]
        subprocess.run(build, check=True)
        with Vectors(tools, chunks) as vectors, Serving(graphloom, store, vectors.models) as serving:
            for mode in ("naive", "auto"):
                load = Load(tools, work, serving, vectors.questions, mode)
                if set(parts) & {"steady", "overload"}:
                    figures[mode] = steady(load, chunks, mode, rows)
                if "overload" in parts:
                    figures[mode]["overload"] = overload(load, serving, chunks, mode, figures[mode], rows)
            if "killed" in parts:
                load = Load(tools, work, serving, vectors.questions, "naive")
                figures["killed"] = killed(load, serving, chunks, vectors.questions, rows)
    (work / "serve.json").write_text(json.dumps({"rows": rows.rows, **figures}, indent=1), encoding="utf-8")
    if any(row["held"] is False for row in rows.rows):
        sys.exit("not everything asked for held")


if __name__ == "__main__":
    main()
