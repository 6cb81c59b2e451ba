#!/usr/bin/env python3
"""Answers without an LLM from manuals as saved web pages: how many are right, wrong, refused?

    bench/manuals.py --graphloom BINARY [--sets NAME,NAME] [--keep FOLDER] [--out FILE]

The texts are the Debian Administrator's Handbook in English, German and Chinese, the Live Systems Manual, the Rust book, the guide for
new maintainers in German and Chinese, the guide of GnuCash, and Debian's installation guide in German, from Debian packages that
`apt-get download` fetches. Each set in bench/manuals has a question per line and, after a tab, a regular expression that a right answer
matches, or `-` if the manual does not answer. An answer that matches is right, any other is wrong. If Graphloom shows the closest
passages or found nothing, it refused; `shown` counts refusals whose passages contain the answer.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import tempfile

from answers import WORKERS, reply

SETS = pathlib.Path(__file__).resolve().parent / "manuals"
UNANSWERABLE = "-"
# Of each set: its Debian package, and the pages in it.
TEXTS = {
    "handbook-en": ("debian-handbook", "usr/share/doc/debian-handbook/html/en-US/*.html"),
    "handbook-de": ("debian-handbook", "usr/share/doc/debian-handbook/html/de-DE/*.html"),
    "handbook-zh": ("debian-handbook", "usr/share/doc/debian-handbook/html/zh-CN/*.html"),
    "live-en": ("live-manual-html", "usr/share/doc/live-manual/html/live-manual/*.en.html"),
    "rust-book": ("rust-doc", "usr/share/doc/rust-doc/html/book/ch*.html"),
    "maint-guide-de": ("maint-guide-de", "usr/share/doc/maint-guide-de/html/*.html"),
    "maint-guide-zh": ("maint-guide-zh-cn", "usr/share/doc/maint-guide-zh-cn/html/*.html"),
    "gnucash-en": ("gnucash-docs", "usr/share/doc/gnucash-docs/gnucash-guide-en/*.html"),
    "install-de": ("installation-guide-amd64", "usr/share/doc/installation-guide-amd64/de/*.html"),
}


def unpacked(package: str, folder: pathlib.Path) -> pathlib.Path:
    """The files of a Debian package, which is downloaded once."""
    target = folder / package
    if not target.exists():
        part = folder / f"{package}.part"
        part.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "-q", package], cwd=part, check=True, stdout=subprocess.DEVNULL)
        archive = next(part.glob(f"{package}_*.deb"))
        subprocess.run(["dpkg-deb", "-x", str(archive), str(part)], check=True)
        part.rename(target)
    return target


def texts_and_questions(name: str, folder: pathlib.Path) -> tuple[list[pathlib.Path], list[list[str]]]:
    """The pages of a set, which are downloaded once, and its questions, each with a check of the answer."""
    package, pages = TEXTS[name]
    lines = (SETS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return sorted(unpacked(package, folder).glob(pages)), [line.split("\t") for line in lines]


def index(graphloom: str, pages: list[pathlib.Path], data: pathlib.Path) -> None:
    """Indexes pages from one folder, so that their names in answers are short."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "manual"
        folder.mkdir()
        for page in pages:
            (folder / page.name).write_bytes(page.read_bytes())
        subprocess.run([graphloom, "-q", "--data-dir", str(data), "add", str(folder)], check=True, stdout=subprocess.DEVNULL)


def ask(graphloom: list[str], question: str, expected: str) -> dict:
    """Returns the row of one question."""
    answer = reply(graphloom, question)
    is_answer = answer["kind"] == "answer"
    if expected == UNANSWERABLE:
        verdict = "answered" if is_answer else "none"
    else:
        matches = re.search(expected, answer["answer"]) is not None
        verdict = ("right" if matches else "wrong") if is_answer else ("shown" if matches else "refused")
    return {"question": question, "expected": expected, "verdict": verdict, "answer": answer["answer"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphloom", required=True)
    parser.add_argument("--sets", default=",".join(TEXTS), help="only these sets, separated by commas")
    parser.add_argument("--keep", type=pathlib.Path, help="where downloaded packages are kept and found again")
    parser.add_argument("--out", type=pathlib.Path, help="file for the rows, as JSON lines")
    given = parser.parse_args()
    table, rows = [], []
    with tempfile.TemporaryDirectory() as temporary:
        for name in given.sets.split(","):
            pages, questions = texts_and_questions(name, given.keep or pathlib.Path(temporary))
            data = pathlib.Path(temporary) / f"data-{name}"
            index(given.graphloom, pages, data)
            graphloom = [given.graphloom, "-q", "--data-dir", str(data)]
            with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
                own = list(pool.map(lambda question: ask(graphloom, *question), questions))
            rows += [{**row, "set": name} for row in own]
            counts = collections.Counter(row["verdict"] for row in own)
            none = counts["answered"] + counts["none"]
            refused = counts["shown"] + counts["refused"]
            cells = [len(pages), len(own) - none, counts["right"], counts["wrong"], refused, counts["shown"], none, counts["answered"]]
            table.append(f"| {name} | " + " | ".join(map(str, cells)) + " |")
            print(f"{name}: {len(own)} questions", flush=True)
    if given.out:
        given.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    print("\n| set | pages | answerable | right | wrong | refused | of these shown | unanswerable | answered |\n|---|" + "---:|" * 8)
    print("\n".join(table))


if __name__ == "__main__":
    main()
