#!/usr/bin/env python3
"""Compares offline embedders: recall of `naive` and `auto`, CPU time per text, and memory.

    bench/embedders.py --graphloom BINARY --program BINARY --questions FOLDER [--keep FOLDER] [--sets NAME,NAME] [--embedders NAME,NAME]

Indexes each question set with rules and each embedder, and asks its questions with `graphloom eval retrieval`. --program is
graphloom-bench-embed, which embeds the questions of all sets; its CPU time does not include loading. The model is downloaded with
`graphloom model pull` if it is not in the store. With --keep, indexed sets are not indexed again.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

MODEL = "all-minilm-l6-v2"
EMBEDDERS = ("builtin", f"static:{MODEL}", f"local:{MODEL}")
MODES = ("naive", "auto")


def run(graphloom, folder, *arguments):
    """Runs the program with its data in the folder; returns the JSON that it prints."""
    command = [graphloom, "--data-dir", folder / "data", "--llm", "none", "--json", *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def recall(graphloom, folder, embedder, data):
    """Returns recall@5 by mode."""
    workspace = f"{embedder.split(':')[0]}-{data.name.replace('_', '-')}"
    out = folder / f"{workspace}.json"
    command = [graphloom, "--data-dir", folder / "data", "--llm", "none", "--embedder", embedder, "--workspace", workspace]
    command += ["eval", "retrieval", "--data", data, "--out", out, "--modes", ",".join(MODES), "--k", "5"]
    subprocess.run(command, check=True, capture_output=True)
    groups = json.loads(out.read_text())["groups"]
    return {group["arm"]: group["metrics"]["recall@5"]["mean"] for group in groups if group.get("type") is None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphloom", type=pathlib.Path, required=True, help="the program")
    parser.add_argument("--program", type=pathlib.Path, required=True, help="graphloom-bench-embed")
    parser.add_argument("--questions", type=pathlib.Path, required=True, help="folder of question sets")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for workspaces and reports (default: removed at the end)")
    parser.add_argument("--sets", help="names of sets (default: all in --questions)")
    parser.add_argument("--embedders", default=",".join(EMBEDDERS), help="embedders to compare")
    arguments = parser.parse_args()
    names = arguments.sets.split(",") if arguments.sets else sorted(path.parent.name for path in arguments.questions.glob("*/questions.jsonl"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = (arguments.keep or pathlib.Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        model = run(arguments.graphloom, folder, "model", "pull", MODEL)["folder"]
        texts = folder / "texts"
        rows = (json.loads(line) for name in names for line in (arguments.questions / name / "questions.jsonl").open())
        texts.write_text("".join(" ".join(row["question"].split()) + "\n" for row in rows))
        heads = [f"{name}, {mode}" for name in names for mode in MODES]
        print(f"| recall@5 | {' | '.join(heads)} | CPU ms of a question | MB |")
        print("|---" * (len(heads) + 3) + "|")
        for embedder in arguments.embedders.split(","):
            source = {"builtin": "builtin", "static": f"static:{model}", "local": model}[embedder.split(":")[0]]
            cost = json.loads(subprocess.run([arguments.program, source, texts], check=True, capture_output=True).stdout)
            cells = []
            for name in names:
                found = recall(arguments.graphloom, folder, embedder, arguments.questions / name)
                cells += [f"{found[mode]:.3f}" for mode in MODES]
            print(f"| `{embedder}` | {' | '.join(cells)} | {cost['cpu_ms_per_text']:.3f} | {cost['peak_mb']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
