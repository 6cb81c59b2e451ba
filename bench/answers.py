#!/usr/bin/env python3
"""Answers without an LLM on question sets by other authors: how many are right, wrong or refused?

    bench/answers.py --graphloom BINARY --questions FOLDER [--sets NAME,NAME] [--keep FOLDER] [--out FILE]

Each passage of a set is a document, indexed by rules; squad.py makes sets from files in SQuAD's format. An answer is right if it contains
60% of the words of one of the expected answers, and partly right if it contains a third; function words do not count. If Graphloom shows
the closest passages or says that it found nothing, that is a refusal. Questions without a passage that answers them are unanswerable and
must be refused. Questions with a yes-or-no answer or a date written as one number are left out: words cannot show whether they are
answered.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

RIGHT, PARTLY = 0.6, 0.34
# A word with at least this many letters also matches longer words that begin with it.
PREFIX = 4
WORKERS = 2
VERDICTS = ("right", "partly", "wrong", "refused")
FUNCTION_WORDS = set(
    "a an the is are was were be to of in on at for and or that this it he she they his her their them i you we my your our with as by "
    "from has have had will would can could do does did not no so if about more some".split())


def words(text: str) -> list[str]:
    """Returns the words of a text. Names are joined as in chats: `Ada Byron` and `AdaByron` are the same."""
    joined = re.sub(r"\b([A-Z]\w+) (?=[A-Z])", r"\1", text)
    return [word for word in re.findall(r"[\w'-]+", joined.lower()) if word not in FUNCTION_WORDS]


def share(expected: str, text: str) -> float:
    """Returns the share of an expected answer that a text contains, with its names joined or not."""
    def is_held(word: str, held: set[str]) -> bool:
        return word in held or word.rstrip("s") in held or len(word) >= PREFIX and any(other.startswith(word) for other in held)

    # Chinese and Japanese put no spaces between words.
    if re.search("[\u3040-\u30ff\u4e00-\u9fff]", expected):
        return float(expected in text)
    readings = ((words(expected), set(words(text))), (words(expected.lower()), set(words(text.lower()))))
    return max(sum(is_held(word, held) for word in wanted) / max(1, len(wanted)) for wanted, held in readings)


def verdict(question: dict, answer: dict) -> str:
    if answer["kind"] != "answer":
        return "refused"
    held = max(share(expected, answer["answer"]) for expected in question["answers"])
    return "right" if held >= RIGHT else "partly" if held >= PARTLY else "wrong"


def can_be_judged(question: dict) -> bool:
    first = question["answers"][0].lower()
    return first not in ("yes", "no") and not re.search(r"\d{8}", first)


def index(graphloom: str, folder: pathlib.Path, work: pathlib.Path) -> None:
    """Indexes the passages of a set in `work`, which exists only once indexing is complete."""
    part = work.with_name(f"{work.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    documents = part / "documents"
    documents.mkdir(parents=True)
    with open(folder / "corpus.jsonl", encoding="utf-8") as corpus:
        for passage in map(json.loads, corpus):
            text = f"{passage['title']}\n{passage['text']}".lstrip()
            (documents / f"{passage['id']}.txt").write_text(text, encoding="utf-8")
    command = [graphloom, "-q", "--data-dir", str(part / "data"), "add", str(documents)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    part.rename(work)


def reply(graphloom: list[str], question: str) -> dict:
    """Returns what Graphloom answers. Exit code 4 means that the documents contain no answer."""
    done = subprocess.run([*graphloom, "ask", "--json", question], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        raise SystemExit(f"{question}: {done.stderr}")
    return json.loads(done.stdout)


def ask(graphloom: list[str], question: dict) -> dict:
    """Returns the row of one question."""
    answer = reply(graphloom, question["question"])
    return {**question, "kind": answer["kind"], "answer": answer["answer"], "verdict": verdict(question, answer)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphloom", required=True)
    parser.add_argument("--questions", required=True, type=pathlib.Path, help="folder of question sets")
    parser.add_argument("--sets", help="only these sets, separated by commas")
    parser.add_argument("--keep", type=pathlib.Path, help="where indexed sets are kept and found again")
    parser.add_argument("--out", type=pathlib.Path, help="file for the rows, as JSON lines")
    given = parser.parse_args()
    names = given.sets.split(",") if given.sets else sorted(path.parent.name for path in given.questions.glob("*/questions.jsonl"))
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in names:
            folder, work = given.questions / name, (given.keep or pathlib.Path(temporary)) / name
            if not work.exists():
                index(given.graphloom, folder, work)
            graphloom = [given.graphloom, "-q", "--data-dir", str(work / "data")]
            with open(folder / "questions.jsonl", encoding="utf-8") as file:
                questions = [question for question in map(json.loads, file) if not question["gold"] or can_be_judged(question)]
            with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
                rows += [{**row, "set": name} for row in pool.map(lambda question: ask(graphloom, question), questions)]
            print(f"{name}: {len(questions)} questions", flush=True)
    if given.out:
        given.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    print("\n| set | answerable | " + " | ".join(VERDICTS) + " | unanswerable | answered |\n|---|" + "---:|" * (len(VERDICTS) + 3))
    for name in names:
        counts = collections.Counter(row["verdict"] for row in rows if row["set"] == name and row["gold"])
        none = [row for row in rows if row["set"] == name and not row["gold"]]
        cells = [sum(counts.values()), *(counts[verdict] for verdict in VERDICTS), len(none), sum(row["kind"] == "answer" for row in none)]
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    main()
