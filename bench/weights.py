"""Compares communities by the weights `facts` and `pmi` on the text of GraphRAG's example, extracted by rules: number, size, coverage.

    weights.py --graphloom graphloom --data DIR
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import pandas


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphloom", required=True, type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    program = str(arguments.graphloom.resolve())
    with tempfile.TemporaryDirectory() as folder:
        texts = pandas.read_parquet(arguments.data / "documents.parquet").text
        names = [f"{number}.txt" for number in range(len(texts))]
        for name, text in zip(names, texts):
            (pathlib.Path(folder) / name).write_text(text)

        def run(*options):
            command = [program, "--json", "--data-dir", "data", "--llm", "none", *options]
            return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout

        run("add", *names)
        counts = json.loads(run("status"))["counts"]
        print(f"{counts['entities']} entities, {counts['relations']} relations\n")
        print("| weights | communities on each level | entities of the largest | entities in one |")
        print("|---|---|---|---|")
        for weights in ("facts", "pmi"):
            run("derive", "communities", "--set", f"community_weights={weights}")
            listed = json.loads(run("communities", "--level", "0", "--limit", "10000"))
            sizes = [community["entities"] for community in listed["communities"]]
            levels = ", ".join(map(str, listed["layer"]["levels"]))
            print(f"| {weights} | {levels} | {max(sizes)} | {sum(sizes)} |")


if __name__ == "__main__":
    main()
