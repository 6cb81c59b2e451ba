"""A large synthetic store in a file and in PostgreSQL, both served: retrieval with and without filters, recall of the index, memory, CPU."""
from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

MODES = ["naive", "mix", "auto"]
EMBEDDER = "openai:clustered"
# Filters, and the share of the documents that each allows.
FILTERS = [(None, "100%"), ("part=0", "1%"), ("part<10", "10%")]
# Number of questions before the timed ones, and the time limit for a server to read what searches need into memory.
WARM_UP = 5
MAX_WARM_S = 180
SEARCHED, HITS = 50, 20
# For the recall of an index with a filter: the filter admits one in ADMITTED entries, and a scan reads REACH times as many entries as it
# would need for the wanted hits if the admitted entries were spread evenly, as the product does.
ADMITTED, REACH = 10, 2
MARGIN = 32
TICK = os.sysconf("SC_CLK_TCK")


def status(pid: int, name: str) -> float:
    """Returns the field of this name in the process's status, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(name + ":"))) * 1024 / 1e6


def cpu(pid: int) -> float:
    """Returns the CPU milliseconds of a process and of its children that ended."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15])) / TICK * 1e3


def children(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                    found.append(int(folder.name))
            except (OSError, IndexError):
                pass
    return found


def database_cpu(server: int) -> float:
    total = cpu(server)
    for child in children(server):
        try:
            total += cpu(child)
        except OSError:
            pass
    return total


def database_memory(server: int) -> float:
    """Returns the memory of the database server in MB; memory that its processes share counts once."""
    total = 0.0
    for pid in [server, *children(server)]:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += int(next(line.split()[1] for line in lines if line.startswith("Pss:"))) * 1024 / 1e6
        except OSError:
            pass
    return total


def ask(url: str, question: str, mode: str, condition: str | None) -> float:
    body: dict = {"query": question, "mode": mode}
    if condition:
        body["filter"] = {"meta": [condition]}
    request = urllib.request.Request(f"{url}/query/data", json.dumps(body).encode(), {"content-type": "application/json"})
    began = time.perf_counter()
    with urllib.request.urlopen(request) as answer:
        answer.read()
    return (time.perf_counter() - began) * 1e3


def warm(url: str, pid: int, questions: list[str]) -> None:
    """Asks questions until the memory of the server no longer grows."""
    began, before, steady = time.monotonic(), 0.0, 0
    while steady < 4 and time.monotonic() - began < MAX_WARM_S:
        for mode in MODES:
            for question in questions[:WARM_UP]:
                ask(url, question, mode, None)
        time.sleep(1)
        now = status(pid, "VmRSS")
        steady = steady + 1 if now < before * 1.01 else 0
        before = max(before, now)


def measure(
    binary: Path, tool: Path, work: Path, url: str, server: int, chunks: int, asked: int, store: Path,
    serving: Callable, psql: Callable[[str], str],
) -> None:
    subprocess.run([tool, "--chunks", str(chunks), "--folder", store, "--embedder", EMBEDDER, "--build"], check=True)
    is_new = psql("SELECT to_regclass('workspaces') IS NULL") == "t"
    if is_new or psql("SELECT count(*) FROM workspaces WHERE name = 'default' AND revision > 0") == "0":
        began, before = time.monotonic(), database_cpu(server)
        subprocess.run([binary, "copy", store, url], check=True, cwd=work, stdin=subprocess.DEVNULL)
        print(
            f"copy: {time.monotonic() - began:.0f} s with the indexes of vectors, {(database_cpu(server) - before) / 1e3:.0f} s of CPU of the"
            " database", flush=True,
        )
    psql("VACUUM ANALYZE")
    size = int(psql("SELECT pg_database_size(current_database())")) / 1e9
    print(f"database: {size:.2f} GB, file: {(store / 'default.graphloom').stat().st_size / 1e9:.2f} GB")
    vectors = subprocess.Popen(
        [tool, "--chunks", str(chunks), "--serve", "--questions", str(asked)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    said = json.loads(vectors.stdout.readline())
    questions = said["questions"]
    models = {"GRAPHLOOM_EMBEDDER": EMBEDDER, "GRAPHLOOM_BASE_URL": said["url"], "GRAPHLOOM_API_KEY": "none"}
    in_file, in_database = {**models, "GRAPHLOOM_DATA_DIR": str(store)}, {**models, "GRAPHLOOM_STORE": url}
    try:
        with serving(binary, work / "scale-file", in_file) as (sqlite, sqlite_pid):
            with serving(binary, work / "scale-database", in_database) as (database, database_pid):
                for place, pid in ((sqlite, sqlite_pid), (database, database_pid)):
                    warm(place, pid, questions)
                compare(questions, (sqlite, sqlite_pid), (database, database_pid), server)
    finally:
        vectors.stdin.close()
        vectors.wait()
    recall(psql)


def compare(questions: list[str], sqlite: tuple[str, int], database: tuple[str, int], server: int) -> None:
    print("allowed  mode   SQLite p50 / p99 ms  PostgreSQL p50 / p99 ms  ratio of p50   CPU ms a question: SQLite, client, database")
    for condition, share in FILTERS:
        for mode in MODES:
            times: dict[str, list[float]] = {sqlite[0]: [], database[0]: []}
            for url, _ in (sqlite, database):
                ask(url, questions[0], mode, condition)
            clocks = (lambda: cpu(sqlite[1]), lambda: cpu(database[1]), lambda: database_cpu(server))
            before = [clock() for clock in clocks]
            for question in questions:
                for url, _ in (sqlite, database):
                    times[url].append(ask(url, question, mode, condition))
            used = [(clock() - start) / len(questions) for clock, start in zip(clocks, before)]
            here, there = (sorted(times[url]) for url, _ in (sqlite, database))
            p99 = lambda values: values[int((len(values) - 1) * 0.99)]
            print(
                f"{share:>7}  {mode:5}  {statistics.median(here):10.1f} / {p99(here):5.1f}  {statistics.median(there):14.1f} / {p99(there):5.1f}"
                f"  {statistics.median(there) / statistics.median(here):10.2f}   {used[0]:.1f}, {used[1]:.1f}, {used[2]:.1f}", flush=True,
            )
    print(
        f"memory MB, now / most: server on SQLite {status(sqlite[1], 'VmRSS'):.0f} / {status(sqlite[1], 'VmHWM'):.0f}, server on PostgreSQL"
        f" {status(database[1], 'VmRSS'):.0f} / {status(database[1], 'VmHWM'):.0f}, database {database_memory(server):.0f}"
    )


def recall(psql: Callable[[str], str]) -> None:
    """Prints for each kind with an index the share of the nearest entries that it finds, for vectors of the same kind, among all entries and among a tenth."""
    for line in psql(
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname LIKE 'vectors\\_near\\_%' AND i.indisvalid"
    ).splitlines():
        workspace, kind, dimensions = line.rsplit("_", 3)[1:]
        of_kind = f"workspace_id = {workspace} AND kind = {kind} AND vector_dims(codes) = {dimensions}"
        ids = psql(f"SELECT id FROM vectors WHERE {of_kind} ORDER BY md5(id) LIMIT {SEARCHED}").splitlines()
        found, filtered, wanted = 0, 0, 0
        for id in ids:
            quoted = "'" + id.replace("'", "''") + "'"
            nearest = (
                f"SELECT id FROM vectors WHERE {of_kind} ORDER BY codes::halfvec({dimensions}) <=>"
                f" (SELECT codes::halfvec({dimensions}) FROM vectors WHERE {of_kind} AND id = {quoted}) LIMIT {HITS}"
            )
            exact = psql("SET enable_indexscan = off; " + nearest).splitlines()
            scan = "SET hnsw.iterative_scan = relaxed_order; SET enable_sort = off; SET hnsw.ef_search = {}; "
            indexed = psql(scan.format(200) + nearest).splitlines()
            found += len(set(exact) & set(indexed))
            admits = f"hashtext(id) % {ADMITTED} = 0"
            reach = (HITS + MARGIN) * ADMITTED * REACH
            among = nearest.replace("WHERE " + of_kind + " ORDER", f"WHERE {of_kind} AND {admits} ORDER")
            exact = psql("SET enable_indexscan = off; " + among).splitlines()
            ids_of = nearest.replace(f"LIMIT {HITS}", f"LIMIT {reach}")
            indexed = psql(scan.format(min(reach, 1000)) + f"SELECT id FROM ({ids_of}) AS near WHERE {admits} LIMIT {HITS}").splitlines()
            filtered, wanted = filtered + len(set(exact) & set(indexed)), wanted + len(exact)
        print(
            f"index {line}: recall@{HITS} {found / (len(ids) * HITS):.3f} of {len(ids)} searches, {filtered / wanted:.3f} where a filter admits"
            f" one of {ADMITTED}", flush=True,
        )
