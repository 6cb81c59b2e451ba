#!/usr/bin/env python3
"""Which lines answer? Trains the trees of crates/offline/src/answer and says how right they are on sets they have not seen.

    bench/lines.py --graphloom BINARY --features BINARY [--scorer FOLDER] [--folds 5] [--set NAME...] [--manuals FOLDER] [--trees FILE]

--features is graphloom-bench-line-features. The sets are the folders of bench/lines and of bench/honesty/development, and those of
bench/manuals, whose texts are kept in the folder that --manuals names, or in a temporary one. A folder of bench/lines has documents/
and questions.tsv, without a header: id, question, and a check, which is `-` if the documents do not hold the answer, and otherwise
regular expressions joined by ` && `, one for each part of the answer. The documents of each set are indexed by rules into a separate
data folder, and each question is asked with the defaults. A line of the passages that `ask` reads is right if it holds at least half of
the answer's parts, together with the lines that are quoted with it. The trees also learn from the same questions with other passages:
short texts, for each question except those about manuals, with the paragraph of its answer, or the one with most of its words, and up
to four others; the passages among those of other sets with most of the question, as in a larger collection; such passages alone, which
do not answer; and the passages without those that hold a part of the answer.

Prints, for the best line of each question, how many are right, and how many unanswerable questions get an answer, if at most 5, 8 and
10 percent of the answerable questions may get a wrong line: by the log odds of the rules alone, and by the trees, of which each scores
only sets that it was not trained on. With --trees, also writes the trees of all sets: trees.txt or, with --scorer, the folder of a
model that scores lines, trees_with_scores.txt. Needs numpy and scikit-learn. With a model it takes far longer, because
the model reads the passages of all questions.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import itertools
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy
from sklearn.ensemble import HistGradientBoostingClassifier

import honesty
import manuals

FOLDERS = (honesty.ROOT / "bench" / "lines", honesty.ROOT / "bench" / "honesty" / "development")
# Smallest part of the answer that a right line holds.
HALF = 0.5
WRONG = (0.05, 0.08, 0.10)
# Number of passages from which short texts are made.
SHORT_FROM = 12
# Share of the questions that are also asked of the passages of other sets, number of these passages, and of all with the own ones.
OTHERS_SHARE = 0.6
OTHERS = 16
AMONG_OTHERS = 20
# Weights of lines of the other sets alone, and of passages without the answer: there are many, and few such questions are asked.
OF_OTHERS_WEIGHT = 0.5
WITHOUT_ANSWER_WEIGHT = 0.15


@dataclasses.dataclass
class Question:
    """A question, with the regular expressions of the parts of its answer: none if it is unanswerable."""

    set: str
    text: str
    parts: list[str]
    passages: list[dict] = dataclasses.field(default_factory=list)
    # Of the lines that are compared, in the same order.
    values: numpy.ndarray | None = None
    right: numpy.ndarray | None = None
    # How much each of its lines counts in training.
    weight: float = 1.0

    def held(self, text: str) -> list[bool]:
        """Returns for each part of the answer whether a text holds it."""
        flat = collapsed(text)
        return [re.search(part, flat, re.I | re.S) is not None for part in self.parts]


def collapsed(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def questions(folder: pathlib.Path) -> list[Question]:
    """Returns the questions of a set that have an answer in a line, or none at all."""
    asked = []
    table = folder / "questions.tsv"
    if table.exists():
        for row in table.read_text(encoding="utf-8").splitlines():
            _, question, check = row.split("\t")
            asked.append(Question(folder.name, question, [] if check == "-" else check.split(" && ")))
        return asked
    for row in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(row)
        if row.get("expect", "refusal") == "refusal":
            parts = ["|".join(re.escape(collapsed(one)) for one in part) for part in row.get("parts", [])]
            asked.append(Question(folder.name, row["question"], parts))
    return asked


def of_manual(name: str, kept: pathlib.Path) -> tuple[list[Question], list[pathlib.Path]]:
    """Returns the questions about a manual, and its pages."""
    pages, rows = manuals.texts_and_questions(name, kept)
    return [Question(name, question, [] if check == manuals.UNANSWERABLE else [check]) for question, check in rows], pages


def with_passages(graphloom: str, asked: list[Question], documents: list[pathlib.Path]) -> list[Question]:
    """Returns the questions of a set, each with the passages that `ask` reads for it, best first."""
    environment = os.environ | {"GRAPHLOOM_SENTENCE_SCORER": "none"}
    with tempfile.TemporaryDirectory() as work:
        command = [graphloom, "-q", "--data-dir", f"{work}/data", "--workspace", "lines"]

        def printed(*arguments: str) -> bytes:
            done = subprocess.run([*command, *arguments], cwd=work, env=environment, stdout=subprocess.PIPE)
            # Exit code 4: nothing was found.
            if done.returncode not in (0, 4):
                raise SystemExit(f"{asked[0].set}: {' '.join(arguments)[:200]}: exit code {done.returncode}")
            return done.stdout

        printed("add", *map(str, documents))
        for one in asked:
            found = json.loads(printed("ask", "--json", "--full", "--no-cache", "--", one.text))["retrieval"]
            titles = {reference["number"]: reference["title"] for reference in found["references"]}
            one.passages = [
                {"text": hit["chunk"]["text"], "title": titles[hit["reference"]], "headings": hit["chunk"]["breadcrumb"]}
                for hit in found["chunks"]]
    print(f"{asked[0].set}: {len(asked)} questions", file=sys.stderr)
    return asked


def shortened(one: Question, chance: random.Random) -> Question | None:
    """Returns a question with a few paragraphs instead of its passages; `None` if no paragraph holds the whole answer."""
    paragraphs = [{**found, "text": text.strip("\n")} for found in one.passages[:SHORT_FROM]
                  for text in re.split(r"\n\s*\n", found["text"]) if text.strip()]
    words = set(re.findall(r"\w{4,}|[\u4e00-\u9fff]", one.text.lower()))
    holds = [at for at, found in enumerate(paragraphs) if all(one.held(found["text"]))]
    if not holds:
        return None
    best = holds[0] if one.parts else max(holds, key=lambda at: sum(word in paragraphs[at]["text"].lower() for word in words))
    others = [found for at, found in enumerate(paragraphs) if at != best]
    passages = [paragraphs[best], *chance.sample(others, min(len(others), chance.choice([0, 1, 2, 4])))]
    if chance.random() < 0.3:
        chance.shuffle(passages)
    if chance.random() < 0.35:
        passages = [{"text": "\n\n".join(found["text"] for found in passages), "title": passages[0]["title"], "headings": []}]
    return dataclasses.replace(one, passages=passages)


def without_answer(one: Question) -> Question | None:
    """Returns a question with its passages except those that hold a part of the answer; `None` if nearly none is left."""
    left = [found for found in one.passages if not any(one.held(found["text"]))]
    if not one.parts or len(left) < 2:
        return None
    return dataclasses.replace(one, passages=left, parts=[], weight=WITHOUT_ANSWER_WEIGHT)


def stems(text: str) -> list[str]:
    """Returns the first letters of the words of a text, and pairs of Chinese characters."""
    lower = text.lower()
    pairs = [run[at:at + 2] for run in re.findall("[\u4e00-\u9fff]+", lower) for at in range(len(run) - 1)]
    return pairs + [word[:6] for word in re.findall("[^\\W\u4e00-\u9fff]{3,}", lower)]


class Collection:
    """The passages of all sets, to find those with most of a question by BM25."""

    def __init__(self, asked: list[Question]) -> None:
        known = {found["text"]: (one.set, found) for one in reversed(asked) for found in reversed(one.passages)}
        self.passages = list(known.values())
        self.number = {text: at for at, text in enumerate(known)}
        counts = [collections.Counter(stems(text)) for text in known]
        self.lengths = [counted.total() for counted in counts]
        self.mean = sum(self.lengths) / len(self.lengths)
        self.places = collections.defaultdict(list)
        for at, counted in enumerate(counts):
            for stem, count in counted.items():
                self.places[stem].append((at, count))

    def scores(self, question: str) -> collections.Counter:
        """Returns the scores of the passages that share a stem with a question, by their numbers."""
        scores = collections.Counter()
        for stem in sorted(set(stems(question))):
            found = self.places.get(stem, ())
            rarity = math.log(1 + (len(self.passages) - len(found) + 0.5) / (len(found) + 0.5))
            for at, count in found:
                scores[at] += rarity * 2.2 * count / (count + 1.2 * (0.25 + 0.75 * self.lengths[at] / self.mean))
        return scores

    def of_other_sets(self, one: Question, scores: collections.Counter) -> list[dict]:
        """Returns the passages of other sets with most of a question, best first: none that answers it, and none of another manual for
        a question about a manual, which may answer it in other words."""
        def may_be_asked(of: str, found: dict) -> bool:
            are_manuals = one.set in manuals.TEXTS and of in manuals.TEXTS
            return of != one.set and not are_manuals and not (one.parts and all(one.held(found["text"])))

        best_first = (self.passages[at] for at, _ in scores.most_common())
        return list(itertools.islice((found for of, found in best_first if may_be_asked(of, found)), OTHERS))


def with_others(asked: list[Question], chance: random.Random) -> list[Question]:
    """Returns a part of the questions with the passages of other sets alone, and a part with their own passages among those."""
    collection = Collection(asked)
    further = []
    for one in asked:
        scores = collection.scores(one.text)
        others = collection.of_other_sets(one, scores)
        if chance.random() < OTHERS_SHARE:
            further.append(dataclasses.replace(one, passages=others, parts=[], weight=OF_OTHERS_WEIGHT))
        if chance.random() < OTHERS_SHARE:
            mixed = [*one.passages[:AMONG_OTHERS], *others]
            mixed.sort(key=lambda found: -scores[collection.number[found["text"]]])
            further.append(dataclasses.replace(one, passages=mixed[:AMONG_OTHERS]))
    return further


def with_other_passages(asked: list[Question]) -> list[Question]:
    """Returns the further questions from which the trees learn."""
    chance = random.Random(0)
    short = [shortened(one, chance) for one in asked if one.set not in manuals.TEXTS]
    return [one for one in [*short, *map(without_answer, asked), *with_others(asked, chance)] if one and one.passages]


def compare_lines(command: list[str], asked: list[Question]) -> list[str]:
    """Sets the features of the compared lines of each question, and which of them are right. Returns the names of the features."""
    given = "".join(json.dumps({"question": one.text, "passages": one.passages}) + "\n" for one in asked)
    printed = subprocess.run(command, input=given.encode(), stdout=subprocess.PIPE, check=True).stdout.splitlines()
    names, *rows = map(json.loads, printed)
    for one, lines in zip(asked, rows, strict=True):
        one.values = numpy.array([line["values"] for line in lines], numpy.float32).reshape(-1, len(names))
        held = [one.held(line["text"]) for line in lines]
        one.right = numpy.array([bool(found) and sum(found) >= HALF * len(found) for found in held], bool)
    return names


def trained(asked: list[Question]) -> HistGradientBoostingClassifier:
    model = HistGradientBoostingClassifier(
        max_depth=4, max_iter=200, learning_rate=0.05, l2_regularization=5, min_samples_leaf=30, early_stopping=False, random_state=0)
    weights = numpy.concatenate([numpy.full(len(one.right), one.weight) for one in asked])
    values, right = (numpy.concatenate([getattr(one, name) for one in asked]) for name in ("values", "right"))
    return model.fit(values, right, sample_weight=weights)


def cross_validated(asked: list[Question], further: list[Question], folds: int) -> list[numpy.ndarray]:
    """Returns the log odds of the lines of each question, by trees of other sets."""
    names = sorted({one.set for one in asked})
    fold = {name: at % folds for at, name in enumerate(names)}
    models = [trained([one for one in [*asked, *further] if fold[one.set] != out]) for out in range(min(folds, len(names)))]
    return [models[fold[one.set]].decision_function(one.values) if len(one.values) else one.values[:, 0] for one in asked]


def summary(asked: list[Question], odds: list[numpy.ndarray]) -> list[str]:
    """Returns for each limit of wrong lines the counts of right and wrong lines and of unanswerable questions with a line."""
    best = [(lines.max(), one.right[lines.argmax()], bool(one.parts)) for one, lines in zip(asked, odds) if len(lines)]
    answerable = sum(bool(one.parts) for one in asked)
    cells = []
    for limit in WRONG:
        counts = (0, 0, 0)
        # The lower the odds that suffice, the more is right and wrong.
        for least in sorted({score for score, _, _ in best}, reverse=True):
            given = [(right, has_answer) for score, right, has_answer in best if score >= least]
            right = sum(bool(right) for right, _ in given)
            unanswerable = sum(not has_answer for _, has_answer in given)
            wrong = len(given) - right - unanswerable
            if wrong > limit * answerable:
                break
            counts = (right, wrong, unanswerable)
        cells.append("{} / {} / {}".format(*counts))
    return cells


def branch(nodes: numpy.ndarray, at: int) -> list[str]:
    """Returns a branch of a tree in the format that crates/offline/src/answer/trees.rs reads."""
    node = nodes[at]
    if node["is_leaf"]:
        return [f"={node['value']:.4f}"]
    split = f"{node['feature_idx']}:{numpy.float32(node['num_threshold']):.9g}"
    return [split, *branch(nodes, node["left"]), *branch(nodes, node["right"])]


def written(model: HistGradientBoostingClassifier) -> str:
    """Returns the trees: the log odds before the first tree, then a tree per line."""
    trees = [" ".join(branch(tree.nodes, 0)) for (tree,) in model._predictors]
    return "\n".join([f"{model._baseline_prediction.item():.4f}", *trees]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphloom", required=True)
    parser.add_argument("--features", required=True, help="graphloom-bench-line-features")
    parser.add_argument("--scorer", type=pathlib.Path, help="folder of a model that scores lines, as `graphloom model pull` makes it")
    parser.add_argument("--folds", type=int, default=5, help="parts of the sets, each scored by trees of the others (default: 5)")
    parser.add_argument("--set", action="append", help="these sets alone")
    parser.add_argument("--manuals", type=pathlib.Path, help="where downloaded packages are kept and found again")
    parser.add_argument("--trees", type=pathlib.Path, help="file for the trees of all sets")
    given = parser.parse_args()
    graphloom, features = (str(pathlib.Path(path).resolve()) for path in (given.graphloom, given.features))
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sets = []
        for folder in (path for parent in FOLDERS for path in sorted(parent.iterdir())):
            if given.set and folder.name not in given.set:
                continue
            if honesty.documents(folder):
                sets.append((questions(folder), honesty.documents(folder)))
            else:
                print(f"{folder.name}: its documents are not there; left out", file=sys.stderr)
        sets += [of_manual(name, given.manuals or pathlib.Path(temporary)) for name in manuals.TEXTS if not given.set or name in given.set]
        if len(sets) < 2 or given.folds < 2:
            parser.error("needs at least two sets and two folds")
        asked = [one for found in pool.map(lambda found: with_passages(graphloom, *found), sets) for one in found]
    further = with_other_passages(asked)
    names = compare_lines([features, *([str(given.scorer)] if given.scorer else [])], [*asked, *further])
    answerable = sum(bool(one.parts) for one in asked)
    print(f"{len(sets)} sets, {answerable} answerable and {len(asked) - answerable} unanswerable questions, "
          f"{sum(len(one.right) for one in asked)} lines\n")
    print("| right / wrong / unanswerable answered | " + " | ".join(f"at most {limit:.0%} wrong" for limit in WRONG) + " |")
    print("|---" * (len(WRONG) + 1) + "|")
    alone = ("rules", "score") if given.scorer else ("rules",)
    rated = [(name, [one.values[:, names.index(name)] for one in asked]) for name in alone]
    for name, odds in (*rated, ("trees", cross_validated(asked, further, given.folds))):
        print(f"| {name} | " + " | ".join(summary(asked, odds)) + " |")
    if given.trees:
        given.trees.write_text(written(trained([*asked, *further])), encoding="utf-8")


if __name__ == "__main__":
    main()
