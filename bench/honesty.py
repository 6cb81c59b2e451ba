#!/usr/bin/env python3
"""How honest are answers without an LLM: right, partly right, wrong, wrongly refused, wrongly answered?

    bench/honesty.py --graphloom BINARY [--part PART] [--set NAME...] [--details]

Each folder of bench/honesty/PART is a set: documents/ (or documents.txt, which names files or folders from the root of the
repository), and questions.jsonl as described in docs/reference/evaluation.md. The documents of each set are indexed by rules into a
separate workspace, and its questions are asked with the defaults. Sets without documents are left out.

The rules are developed only on the first part; for the other parts, only totals are printed. The validation sets were written
before anyone looked at the answers, and no rule was developed on them. The natural sets are the hardest: in eight of the
twelve, a third of the answers are in a sentence that does not name its subject. The answers of the other four were read before rules
were changed.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = ("development", "held-out", "validation", "natural")
VERDICTS = ("correct", "partly", "wrong", "wrongly_refused", "wrongly_answered")
FACTS = ("who", "when", "where", "how many", "which")
UNANSWERABLE = ("none-known", "none-unknown")


def documents(folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns the documents of a set; empty if the set does not exist."""
    listed = folder / "documents.txt"
    if not listed.exists():
        return [folder / "documents"]
    paths = [ROOT / line.strip() for line in listed.read_text(encoding="utf-8").splitlines() if line.strip()]
    return paths if all(path.exists() for path in paths) else []


def asked(graphloom: str, folder: pathlib.Path, work: pathlib.Path) -> list[dict]:
    """Returns the rows of a set: every question with its answer and verdict."""
    name = folder.name
    out = work / f"{name}.json"
    command = [graphloom, "-q", "--data-dir", str(work / "store"), "--workspace", name]
    paths = [str(path) for path in documents(folder)]
    subprocess.run([*command, "add", *paths], check=True, stdout=subprocess.DEVNULL, cwd=work)
    evaluate = [*command, "eval", "answers", "--data", str(folder), "--out", str(out)]
    subprocess.run(evaluate, check=True, stdout=subprocess.DEVNULL, cwd=work)
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    return [{**row, "set": name} for row in rows]


def table(title: str, rows: list[dict]) -> str:
    """Returns counts of verdicts: in total, for groups, and by type and language."""
    groups: dict[str, collections.Counter] = {"all": collections.Counter()}
    for row in rows:
        kind = row["type"]
        names = ["all", *(["single facts"] if kind in FACTS else []), *(["unanswerable"] if kind in UNANSWERABLE else [])]
        for name in [*names, f"type: {kind}", f"language: {row['language']}", f"set: {row['set']}"]:
            groups.setdefault(name, collections.Counter())[row["verdict"]] += 1
    order = {name: at for at, name in enumerate(["all", "single facts", "unanswerable"])}
    lines = [f"### {title}", "", "| | questions | " + " | ".join(v.replace("_", " ") for v in VERDICTS) + " | correct |",
             "|---|" + "---:|" * (len(VERDICTS) + 2)]
    for name in sorted(groups, key=lambda name: (order.get(name, 9), name)):
        counts = groups[name]
        total = sum(counts.values())
        cells = [str(counts[verdict]) for verdict in VERDICTS]
        lines.append(f"| {name} | {total} | " + " | ".join(cells) + f" | {counts['correct'] / total:.0%} |")
    return "\n".join(lines)


def detail(row: dict) -> str:
    answer = row["answer"].strip().replace("\n", "\n        ")
    return f"{row['set']}/{row['id']} [{row['type']}] {row['verdict']} ({row.get('answer_kind')}): {row['question']}\n        {answer}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphloom", required=True)
    parser.add_argument("--part", choices=PARTS, help="one part alone")
    parser.add_argument("--set", action="append", help="these sets alone")
    parser.add_argument("--details", action="store_true", help="print the answers of the development part that are not right")
    given = parser.parse_args()
    graphloom = str(pathlib.Path(given.graphloom).resolve())
    for part in [given.part] if given.part else PARTS:
        rows: list[dict] = []
        with tempfile.TemporaryDirectory() as work:
            for folder in sorted((ROOT / "bench" / "honesty" / part).iterdir()):
                if given.set and folder.name not in given.set:
                    continue
                if not documents(folder):
                    print(f"{part}/{folder.name}: its documents are not there; left out", file=sys.stderr)
                    continue
                rows += asked(graphloom, folder, pathlib.Path(work))
        if given.details and part == "development":
            print("\n".join(detail(row) for row in rows if row["verdict"] != "correct"))
        print(table(part, rows), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
