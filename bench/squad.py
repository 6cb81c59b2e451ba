#!/usr/bin/env python3
"""Turns a file of questions in SQuAD's format into a question set for answers.py and kinds.py.

    bench/squad.py FILE FOLDER [--half 0|1] [--whole]

FILE is JSON in the format of SQuAD, XQuAD, CMRC 2018 and DRCD: articles with paragraphs, and questions about each paragraph with their
answers. Every fifth paragraph is left out, so that its questions have no answer. --half uses only articles whose title has an even (0)
or odd (1) SHA-1. With --whole, an article is one document; otherwise each paragraph is one.
"""
import argparse
import hashlib
import json
import pathlib

LEFT_OUT = 5


def hashed(text: str) -> int:
    return int(hashlib.sha1(text.encode("utf-8")).hexdigest()[:8], 16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--whole", action="store_true")
    given = parser.parse_args()
    corpus, questions = [], []
    for article in json.loads(given.file.read_text(encoding="utf-8"))["data"]:
        title = article.get("title", "")
        if given.half is not None and hashed(title or article["paragraphs"][0]["context"]) % 2 != given.half:
            continue
        kept = []
        for paragraph in article["paragraphs"]:
            text = paragraph["context"]
            is_kept = hashed(text) % LEFT_OUT > 0
            document = f"p{len(corpus):05}" if given.whole else f"p{len(corpus) + len(kept):05}"
            kept += [text] if is_kept else []
            questions += [
                {"id": asked["id"], "question": asked["question"], "answers": sorted({answer["text"] for answer in asked["answers"]}),
                 "gold": [document] if is_kept and asked["answers"] else []}
                for asked in paragraph["qas"] if asked["question"].strip()]
        documents = ["\n\n".join(kept)] if given.whole else kept
        name = title.replace("_", " ") if given.whole else ""
        corpus += [{"id": f"p{len(corpus) + at:05}", "title": name, "text": text} for at, text in enumerate(documents)]
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus", corpus), ("questions", questions)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (given.folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    print(f"{given.folder}: {len(corpus)} documents, {len(questions)} questions, {sum(not asked['gold'] for asked in questions)} without an answer")


if __name__ == "__main__":
    main()
