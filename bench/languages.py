#!/usr/bin/env python3
"""Offline retrieval on one small collection in several languages: does it work as well outside English?

    bench/languages.py --graphloom BINARY [--keep FOLDER]

The same facts (films, their directors, birthplaces, companies and their locations) are written in each language of
languages.json: 64 documents, and 32 questions with two or three steps, comparisons, and two-step comparisons. They are
generated from templates, so the documents are more alike than real ones; use the results to compare languages and modes.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile

MODES = ("auto", "ppr", "contextual", "naive", "mix")
RANKS = (5, 10)
COUNT = 16


def written(words: dict) -> tuple[list[dict], list[dict]]:
    """Returns the corpus and the questions of a language; the facts are the same in all languages."""
    chance = random.Random(3)
    director, birthplace = list(range(COUNT)), list(range(COUNT))
    chance.shuffle(director)
    chance.shuffle(birthplace)
    people, cities, films, companies = (words[name] for name in ("people", "cities", "films", "companies"))
    corpus = []
    for n in range(COUNT):
        person = words["person"].format(
            person=people[n], year=1900 + 2 * n, city=cities[birthplace[n]], company=companies[(5 * n + 3) % COUNT])
        film = words["film"].format(film=films[n], year=1950 + 3 * n, person=people[director[n]])
        company = words["company"].format(
            company=companies[n], city=cities[(7 * n + 1) % COUNT], year=1850 + 7 * n, size=1000 + 37 * n)
        city = words["city"].format(city=cities[n], size=20000 + 1311 * n, known=words["known"][n])
        corpus += [
            {"id": f"film{n}", "title": films[n], "text": film},
            {"id": f"person{n}", "title": people[n], "text": person},
            {"id": f"company{n}", "title": companies[n], "text": company},
            {"id": f"city{n}", "title": cities[n], "text": city},
        ]
    chance.shuffle(corpus)
    questions = []

    def ask(form: str, gold: list[str], **names: str) -> None:
        asked = {"id": f"q{len(questions)}", "question": words[form].format(**names), "answers": [], "type": form, "gold": gold}
        questions.append(asked)

    for n in range(0, COUNT, 2):
        ask("bridge", [f"film{n}", f"person{director[n]}"], film=films[n])
        other = (n + 5) % COUNT
        ask("comparison", [f"company{n}", f"company{other}"], company=companies[n], other=companies[other])
        third = director[n + 1]
        ask("three", [f"film{n + 1}", f"person{third}", f"city{birthplace[third]}"], film=films[n + 1])
        other = (n + 7) % COUNT
        gold = [f"film{n}", f"film{other}", f"person{director[n]}", f"person{director[other]}"]
        ask("bridge_comparison", gold, film=films[n], other=films[other])
    return corpus, questions


def evaluated(graphloom: str, folder: pathlib.Path, language: str, words: dict) -> dict[str, list[float]]:
    """Returns recall at RANKS by mode."""
    data, out = folder / language, folder / f"{language}.json"
    data.mkdir(parents=True, exist_ok=True)
    for name, rows in zip(("corpus", "questions"), written(words)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (data / f"{name}.jsonl").write_text(text, encoding="utf-8")
    command = [graphloom, "-q", "--data-dir", folder / "store", "eval", "retrieval", "--data", data, "--modes", ",".join(MODES)]
    subprocess.run([*command, "--out", out], check=True, stdout=subprocess.DEVNULL)
    report = json.loads(out.read_text(encoding="utf-8"))
    wholes = [group for group in report["groups"] if group.get("type") is None]
    return {group["arm"]: [group["metrics"][f"recall@{rank}"]["mean"] for rank in RANKS] for group in wholes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphloom", required=True)
    parser.add_argument("--keep", type=pathlib.Path, help="an empty folder for the sets and reports (default: a temporary one)")
    given = parser.parse_args()
    languages = json.loads((pathlib.Path(__file__).parent / "languages.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or pathlib.Path(temporary)
        print("| recall@5 / @10 | " + " | ".join(MODES) + " |")
        print("|---" * (len(MODES) + 1) + "|")
        for language, words in languages.items():
            found = evaluated(given.graphloom, folder, language, words)
            cells = [" / ".join(f"{value:.3f}" for value in found[mode]) for mode in MODES]
            print(f"| {language} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
