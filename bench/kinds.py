#!/usr/bin/env python3
"""Retrieval of other kinds of text than encyclopaedias, by the offline default: is `auto` as good as its arms alone?

    bench/kinds.py --graphloom BINARY [--keep FOLDER] [--sets NAME,NAME] [--arm NAME=JSON ...]

Each file of kinds/ is a set: news, manuals, documentation of code, tables, answers to common questions, minutes and letters, in English,
German, Chinese and Japanese. A line `= TITLE` begins a document, a line `? QUESTION` below asks for that document. Sets named
heldout_ are for checking alone: no choice was made by them. Prints recall of each mode, and of the words alone (`words`).
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

KINDS = pathlib.Path(__file__).resolve().parent / "kinds"
MODES = ("auto", "ppr", "contextual", "naive")
# A walk of no steps that begins at what the words find.
WORDS = {"mode": "auto", "walk": {"damping": 0, "facts": 0, "names": 0, "passage_words": 100, "decompose": "off"}}
RANKS = (1, 2, 5)


def read(path: pathlib.Path) -> tuple[list[dict], list[dict]]:
    """The passages and questions of a set."""
    corpus, questions = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            corpus.append({"id": f"p{len(corpus)}", "title": line[2:], "text": ""})
        elif line.startswith("? "):
            asked = {"id": f"q{len(questions)}", "question": line[2:], "answers": [], "gold": [corpus[-1]["id"]]}
            questions.append(asked)
        else:
            corpus[-1]["text"] = f"{corpus[-1]['text']}\n{line}".strip()
    return corpus, questions


def evaluate(graphloom: pathlib.Path, folder: pathlib.Path, name: str, arms: list[str]) -> tuple[dict, int, int]:
    """Recall at RANKS of each arm, how many questions there are and how many passages."""
    corpus, questions = read(KINDS / f"{name}.txt")
    data = folder / "sets" / name
    data.mkdir(parents=True, exist_ok=True)
    for file, rows in (("corpus", corpus), ("questions", questions)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (data / f"{file}.jsonl").write_text(lines, encoding="utf-8")
    out = folder / f"{name}.json"
    command = [graphloom, "--data-dir", folder / "data", "--workspace", name, "eval", "retrieval", "--data", data, "--out", out]
    command += ["--modes", ",".join(MODES), "--arm", f"words={json.dumps(WORDS)}", "--k", ",".join(map(str, RANKS))]
    for arm in arms:
        command += ["--arm", arm]
    subprocess.run(command, check=True, capture_output=True)
    groups = json.loads(out.read_text(encoding="utf-8"))["groups"]
    wholes = {group["arm"]: group["metrics"] for group in groups if group.get("type") is None}
    recall = {arm: [metrics[f"recall@{k}"]["mean"] for k in RANKS] for arm, metrics in wholes.items()}
    return recall, len(questions), len(corpus)


def print_row(name: str, recall: dict) -> None:
    print(f"| {name} | " + " | ".join(" / ".join(f"{value:.3f}" for value in values) for values in recall.values()) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphloom", type=pathlib.Path, required=True, help="the program")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for workspaces and reports (default: removed at the end)")
    parser.add_argument("--sets", help="names of files in kinds/ (default: all)")
    parser.add_argument("--arm", action="append", default=[], help="another way of asking, NAME=JSON; repeatable")
    arguments = parser.parse_args()
    names = arguments.sets.split(",") if arguments.sets else sorted(path.stem for path in KINDS.glob("*.txt"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or pathlib.Path(scratch)
        total, asked = {}, 0
        for name in names:
            recall, questions, passages = evaluate(arguments.graphloom.resolve(), folder.resolve(), name, arguments.arm)
            if not total:
                print(f"| recall@{'/'.join(map(str, RANKS))} | " + " | ".join(recall) + " |")
                print("|---" * (len(recall) + 1) + "|")
            print_row(f"{name}, {questions} of {passages}", recall)
            for arm, values in recall.items():
                total[arm] = [sum + questions * value for sum, value in zip(total.get(arm, [0] * len(RANKS)), values)]
            asked += questions
        print_row(f"all {asked}", {arm: [value / asked for value in values] for arm, values in total.items()})


if __name__ == "__main__":
    main()
