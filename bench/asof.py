#!/usr/bin/env python3
"""Asks questions as of dates on texts about successions in an office, and checks what ended each claim. Offline, without a model.

    bench/asof.py --graphloom BINARY --successions FILE.json [--limit N] [--show]

The file lists successions: who led a company from when, and who followed when. Each becomes two documents with different
wordings, from templates in this program for which the product's rules were not written. All documents are indexed into one
workspace. Then, for each succession, the program asks for the holder at five dates: the first year and the last whole year of
the first holder, the middle of that time, the year of the change (the second holder) and the year after. An answer is right if
its first line names the right holder and not the other one.

A claim is wrongly retired if no sentence contradicts it: a claim about the second holder, whose end no text states, or about
the first holder before the year of the change.
"""
from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# a: first holder, b: second holder, o: company, s: since, c: change.
FIRST = [
    "{a} was the chief executive officer of {o} from {s} to {c}. In {c}, {b} took over as chief executive officer of {o}.",
    "In {s}, {o} named {a} as its chief executive officer. {b} succeeded {a} as chief executive officer of {o} in {c}.",
    "{a} became CEO of {o} in {s}. In {c} the board of {o} appointed {b} as CEO.",
    "From {s} until {c}, {a} served as chief executive of {o}. {b} has been chief executive of {o} since {c}.",
    "{a} has led {o} as CEO since {s}.\n\nIn {c}, {a} stepped down as CEO of {o} and was replaced by {b}.",
    "{o} is a company. Its chief executive officer was {a} from {s} to {c}. {b} became chief executive officer of {o} in {c}.",
    "{a} took office as CEO of {o} in {s} and was succeeded by {b} in {c}.",
]
SECOND = [
    "The position of chief executive officer at {o} passed from {a} to {b} in {c}. {a} had held the position since {s}.",
    "{b}, who was appointed chief executive of {o} in {c}, replaced {a}. {a} had been chief executive of {o} since {s}.",
    "{o} hired {a} as chief executive officer in {s}. {a} left the post of chief executive officer of {o} in {c}, and {b} was appointed chief executive officer.",
    "{a} joined {o} as CEO in {s}. After {a} resigned as CEO of {o} in {c}, {b} was named CEO.",
    "Since {s}, {a} had been the CEO of {o}. As CEO of {o}, {a} was succeeded in {c} by {b}.",
    "{a} (CEO of {o}, {s}–{c}) handed over the role of CEO of {o} to {b} in {c}.",
    "{a} ran {o} as chief executive officer between {s} and {c}. {b} followed {a} as chief executive officer of {o} in {c}.",
]
QUESTIONS = ["Who was the chief executive officer of {o}?", "Who was CEO of {o}?", "Who led {o} as chief executive?"]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--graphloom", type=Path, required=True)
    arguments.add_argument("--successions", type=Path, required=True)
    arguments.add_argument("--limit", type=int, help="the first so many successions alone")
    arguments.add_argument("--show", action="store_true", help="list wrong answers and wrongly retired claims")
    given = arguments.parse_args()
    if not given.successions.exists():
        sys.exit(f"asof: {given.successions} is missing; GRAPHLOOM_BENCH_SUCCESSIONS names the file")
    rows = read(given.successions)[: given.limit]
    binary = given.graphloom.resolve()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        write(rows, work / "docs")
        started = time.monotonic()
        run(binary, work, "add", "docs", "--quiet")
        indexed = time.monotonic() - started
        claims = json.loads(run(binary, work, "claims", "--json", "--limit", "10000"))
        questions = list(asked(rows))
        started = time.monotonic()
        answers = ask(binary, work, questions)
        took = time.monotonic() - started
    wrong = [(question, answer) for question, answer in zip(questions, answers) if not is_right(question, answer)]
    retired, unmatched = wrongly_retired(rows, claims["claims"])
    kinds = Counter(question["at"] for question, _ in wrong)
    print(f"successions                 {len(rows)}, in two wordings each: {2 * len(rows)} documents, indexed in {indexed:.0f} s")
    print(f"claims                      {claims['total']}, retired {sum('retired' in claim for claim in claims['claims'])}")
    print(f"questions as of a date      {len(questions)}, {1000 * took / max(len(questions), 1):.0f} ms each")
    print(f"as-of accuracy              {1 - len(wrong) / len(questions):.4f} ({len(wrong)} wrong: {dict(kinds)})")
    print(f"claims wrongly retired      {len(retired)}")
    print(f"retired, company misread    {len(unmatched)}, of them without a sentence of their succession: {sum(map(is_unfounded(rows), unmatched))}")
    if given.show:
        for question, answer in wrong:
            print(f"\n{question['as_of']} {question['query']} expected {question['right']!r}, other {question['other']!r}\n  {answer!r}")
        for claim in retired + unmatched:
            print(f"\nretired: {claim['line']} by {[quote['text'] for quote in claim.get('retired_by', [])]}")


def read(path: Path) -> list[dict]:
    data = json.loads(path.read_text(encoding="utf-8"))
    names = {entity["qid"]: entity["canonical"] for entity in data["entities"]}
    return [
        {"a": names[row["a_qid"]], "b": names[row["b_qid"]], "o": names[row["anchor_qid"]], "s": row["start_a"], "c": row["tc"]}
        for row in data["temporal_facts"]
    ]


def write(rows: list[dict], folder: Path) -> None:
    folder.mkdir()
    for number, row in enumerate(rows):
        for wording, templates in (("1", FIRST), ("2", SECOND)):
            text = templates[number % len(templates)].format(**row)
            (folder / f"{number:04}-{wording}.txt").write_text(text + "\n", encoding="utf-8")


def asked(rows: list[dict]):
    for number, row in enumerate(rows):
        query = QUESTIONS[number % len(QUESTIONS)].format(**row)
        first, change = row["s"], row["c"]
        dates = {
            "first year": (first, "a"), "middle": ((first + change - 1) // 2, "a"), "last year": (change - 1, "a"),
            "change": (change, "b"), "after": (change + 1, "b"),
        }
        for at, (year, holder) in dates.items():
            other = "b" if holder == "a" else "a"
            yield {"query": query, "as_of": str(year), "right": row[holder], "other": row[other], "company": row["o"], "at": at}


def is_right(question: dict, answer: str) -> bool:
    # A company may have the name of its head.
    first = answer.split("\n", 1)[0].replace(" of " + question["company"], "")
    right, other = question["right"], question["other"]
    return right in first and (other == right or other not in first.replace(right, ""))


def wrongly_retired(rows: list[dict], claims: list[dict]) -> tuple[list[dict], list[dict]]:
    """Returns claims that are retired although no text contradicts them, and retired claims whose company is not in the file."""
    bare = lambda name: name.removeprefix("The ")
    by_company = {bare(row["o"]): row for row in rows}
    wrong, unmatched = [], []
    for claim in claims:
        if "retired" not in claim:
            continue
        row = by_company.get(bare(claim.get("object_name") or ""))
        if row is None:
            unmatched.append(claim)
            continue
        is_first = claim["subject_name"] == row["a"] and str(claim["retired"].get("at", ""))[:4] == str(row["c"])
        if not is_first or not claim.get("retired_by"):
            wrong.append(claim)
    return wrong, unmatched


def is_unfounded(rows: list[dict]):
    """Returns a test that is true if a claim's retirement does not follow from its succession: of the first holder, at the change, by words that say so."""
    by_number = {f"{number:04}": row for number, row in enumerate(rows)}

    def check(claim: dict) -> bool:
        sources = {Path(quote["source"]).name[:4] for quote in claim.get("retired_by", [])}
        row = by_number.get(next(iter(sources), ""))
        if len(sources) != 1 or row is None:
            return True
        is_holder = claim["subject_name"] in row["a"] or row["a"] in claim["subject_name"]
        return not is_holder or str(claim["retired"].get("at", ""))[:4] != str(row["c"])

    return check


def ask(binary: Path, work: Path, questions: list[dict]) -> list[str]:
    port = free_port()
    command = [str(binary), "serve", "--port", str(port), "--set", "query_cache=false"]
    server = subprocess.Popen(command, cwd=work, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait(port)
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda question: answer(port, question), questions))
    finally:
        server.terminate()
        server.wait(30)


def answer(port: int, question: dict) -> str:
    body = {"query": question["query"], "as_of": question["as_of"], "mode": "auto", "include_references": False}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/query", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["response"]


def wait(port: int) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    sys.exit("asof: the server does not answer")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHLOOM_")}
    return kept | {"HOME": os.environ.get("HOME", "/"), "NO_COLOR": "1"}


def run(binary: Path, work: Path, *arguments: str) -> str:
    done = subprocess.run([str(binary), *arguments], cwd=work, env=environment(), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"asof: graphloom {' '.join(arguments)}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
