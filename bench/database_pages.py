"""Pages through a long list of documents, in a file and in PostgreSQL, both served."""
from __future__ import annotations

import json
import statistics
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

# Page size of the web UI.
PAGE = 200
TEXTS = 250
REPEATS = 9
LAST = "last"
LISTS = [
    ("newest first", {}),
    ("newest first, last page", {"page": LAST}),
    ("by name", {"sort_field": "file_path", "sort_direction": "asc"}),
    ("by name, last page", {"sort_field": "file_path", "sort_direction": "asc", "page": LAST}),
    ("by size", {"sort_field": "content_length"}),
    ("by size, last page", {"sort_field": "content_length", "page": LAST}),
    ("by status", {"sort_field": "status"}),
    ("with a status", {"status_filter": "pending"}),
    ("with a part of the name", {"search": "report-77"}),
]


def post(url: str, path: str, body: dict) -> dict:
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def accept(url: str, documents: int) -> None:
    for first in range(0, documents, TEXTS):
        numbers = range(first, min(first + TEXTS, documents))
        texts = [f"Report {number} of the weather station. " + "It rained. " * (number % 97) for number in numbers]
        names = [f"reports/{number % 50}/report-{number * 7919 % documents}.md" for number in numbers]
        post(url, "/documents/texts", {"texts": texts, "file_sources": names})


def page_ms(url: str, documents: int, selection: dict) -> float:
    page = documents // PAGE if selection.get("page") == LAST else 1
    body = {"page_size": PAGE, **selection, "page": page}
    began = time.perf_counter()
    found = post(url, "/documents/paginated", body)
    assert found["documents"], selection
    return (time.perf_counter() - began) * 1e3


def measure(binary: Path, work: Path, url: str, documents: int, serving: Callable, analyze: Callable[[], object]) -> None:
    queued = {"GRAPHLOOM_WORKERS": "0"}
    with serving(binary, work / "pages-file", queued) as (sqlite, _), serving(
        binary, work / "pages-database", {**queued, "GRAPHLOOM_STORE": url}
    ) as (database, _):
        for place in (sqlite, database):
            accept(place, documents)
        analyze()
        print(f"{documents:,} documents, pages of {PAGE}, median of {REPEATS}\nlist                       SQLite ms  PostgreSQL ms")
        for name, selection in LISTS:
            times: dict[str, list[float]] = {sqlite: [], database: []}
            for _ in range(REPEATS):
                for place in (sqlite, database):
                    times[place].append(page_ms(place, documents, selection))
            here, there = (statistics.median(times[place]) for place in (sqlite, database))
            print(f"{name:25}  {here:9.1f}  {there:13.1f}", flush=True)
