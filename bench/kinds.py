#!/usr/bin/env python3
"""Offline retrieval on all kinds of text: is `auto` as good as the better of its parts, full text and vectors?

    bench/kinds.py --graphloom BINARY [--embedder NAME] [--keep FOLDER] [--questions FOLDER] [--sets NAME,NAME] [--arm NAME=JSON ...]

The sets are the files of kinds/, the languages of languages.json and the question sets in --questions. A file of kinds/ contains news,
manuals, code documentation, tables, answers to common questions, minutes or letters, in English, German, Chinese or Japanese: a line
`= TITLE` starts a document; a line `? QUESTION` below it is a question about that document. Files named heldout_ are only for
validation and were not used for tuning. Prints the recall of each mode and of full text alone (`words`), and for each set the
difference between `auto` and the better of `words` and `naive`, with its 95% interval over the questions. Sets of fewer than 50
passages are compared at rank 1, others at rank 5. With --keep, indexed sets are not indexed again.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile

import languages

HERE = pathlib.Path(__file__).resolve().parent
MODES = ("naive", "contextual", "mix", "auto")
# PageRank without steps that starts at the full-text hits.
WORDS = {"mode": "auto", "pagerank": {
    "damping": 0, "facts": 0, "names": 0, "direct": 0, "passage_words": 100, "passage_temperature": 100, "decompose": "off"}}
RANKS = (1, 5, 10)
SMALL_SET = 50
RESAMPLES = 2000


def read(path: pathlib.Path) -> tuple[list[dict], list[dict]]:
    """Returns the passages and questions of a file of kinds/."""
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


def write(folder: pathlib.Path, corpus: list[dict], questions: list[dict]) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    for file, rows in (("corpus", corpus), ("questions", questions)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{file}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def sets(folder: pathlib.Path, given: pathlib.Path | None) -> dict[str, pathlib.Path]:
    """Returns the folder of each set, by name."""
    found = {}
    for path in sorted(given.glob("*/questions.jsonl")) if given else ():
        found[path.parent.name] = path.parent
    for path in sorted((HERE / "kinds").glob("*.txt")):
        found[path.stem] = write(folder / path.stem, *read(path))
    for language, words in json.loads((HERE / "languages.json").read_text(encoding="utf-8")).items():
        found[f"facts_{language}"] = write(folder / f"facts_{language}", *languages.written(words))
    return found


def evaluate(graphloom: list, folder: pathlib.Path, name: str, data: pathlib.Path, arms: list[str]) -> dict:
    """Returns the report on one set."""
    out = folder / f"{name}.json"
    workspace = name.replace("_", "-").lower()
    command = [*graphloom, "--data-dir", folder / "data", "--workspace", workspace, "eval", "retrieval", "--data", data, "--out", out]
    command += ["--arm", f"words={json.dumps(WORDS)}", "--modes", ",".join(MODES), "--k", ",".join(map(str, RANKS))]
    for arm in arms:
        command += ["--arm", arm]
    subprocess.run(command, check=True, capture_output=True)
    return json.loads(out.read_text(encoding="utf-8"))


def recalls(report: dict, rank: int) -> dict[str, dict[str, float]]:
    """Returns by arm and question the share of the needed passages among the first `rank`."""
    found: dict[str, dict[str, float]] = {}
    for row in report["rows"]:
        hits = set(row["gold"]) & set(row["ranked"][:rank])
        found.setdefault(row["arm"], {})[row["id"]] = len(hits) / len(set(row["gold"]))
    return found


def mean(values) -> float:
    values = list(values)
    return sum(values) / len(values)


def interval(differences: list[float]) -> tuple[float, float]:
    """Returns the 95% interval of the mean, by resampling the questions."""
    chance = random.Random(1)
    means = sorted(mean(chance.choices(differences, k=len(differences))) for _ in range(RESAMPLES))
    return means[RESAMPLES * 25 // 1000], means[RESAMPLES * 975 // 1000 - 1]


def compared(report: dict, rank: int) -> tuple[str, bool]:
    """Describes the difference between `auto` and the better arm; returns also whether `auto` is worse."""
    found = recalls(report, rank)
    better = max(("words", "naive"), key=lambda arm: mean(found[arm].values()))
    differences = [value - found[better][question] for question, value in found["auto"].items()]
    difference, (low, high) = mean(differences), interval(differences)
    verdict = "below" if high < 0 else "below, within chance" if difference < 0 else ""
    return f"{difference:+.3f} ({low:+.3f} to {high:+.3f}) against {better}@{rank} | {verdict}", difference < 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphloom", type=pathlib.Path, required=True, help="the program")
    parser.add_argument("--embedder", help="such as static:all-minilm-l6-v2 (default: that of the workspace, or the built-in one)")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for workspaces and reports (default: removed at the end)")
    parser.add_argument("--questions", type=pathlib.Path, help="folder of further question sets, each a folder")
    parser.add_argument("--sets", help="names of sets (default: all)")
    parser.add_argument("--arm", action="append", default=[], help="another way of asking, NAME=JSON; repeatable")
    arguments = parser.parse_args()
    below, graphloom = [], [arguments.graphloom.resolve()]
    if arguments.embedder:
        graphloom += ["--embedder", arguments.embedder]
    with tempfile.TemporaryDirectory() as scratch:
        folder = (arguments.keep or pathlib.Path(scratch)).resolve()
        found = sets(folder / "sets", arguments.questions)
        for count, name in enumerate(arguments.sets.split(",") if arguments.sets else found):
            report = evaluate(graphloom, folder, name, found[name], arguments.arm)
            by_rank = {rank: recalls(report, rank) for rank in RANKS}
            arms = list(by_rank[1])
            if not count:
                print(f"| recall@{'/'.join(map(str, RANKS))} | " + " | ".join(arms) + " | auto less the better of words and naive | |")
                print("|---" * (len(arms) + 3) + "|")
            passages, asked = report["run"]["passages"], report["run"]["questions"]
            cells = [" / ".join(f"{mean(by_rank[rank][arm].values()):.3f}" for rank in RANKS) for arm in arms]
            told, is_below = compared(report, 1 if passages < SMALL_SET else 5)
            below += [name] if is_below else []
            print(f"| {name}, {asked} of {passages} | " + " | ".join(cells) + f" | {told} |", flush=True)
    print(f"auto is below the better arm on: {', '.join(below) or 'no set'}")


if __name__ == "__main__":
    main()
