#!/usr/bin/env python3
"""Indexes passages with the `graphloom` command, with records requested as lines and as JSON with a schema, and compares the graphs.

    bench/forms.py --harness FOLDER --graphloom BINARY [--corpus NAME] [--limit N]

The harness's replay server fills whatever schema it is given with the graph it knows, so both forms must give one graph.
"""
from __future__ import annotations

import argparse
import json
import sys

from faults import Workspace

KINDS = ("entity", "relation", "mention", "fact")


def graph(workspace: Workspace) -> set[str]:
    """The graph's rows, normalized: lines split keywords at commas and JSON does not, so all are split; lines replace any white
    space by a space, so all white space is."""
    rows = set()
    for row in map(json.loads, workspace.run("dump").splitlines()):
        if row["kind"] in KINDS:
            row.pop("inputs_hash", None)
            if "keywords" in row:
                row["keywords"] = sorted(word.strip() for keyword in row["keywords"] for word in keyword.split(","))
            rows.add(" ".join(json.dumps(row, sort_keys=True, ensure_ascii=False).split()))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness", required=True)
    parser.add_argument("--graphloom", required=True)
    parser.add_argument("--corpus", default="musique_train100")
    parser.add_argument("--limit", type=int, default=120)
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.harness)
    import corpora  # noqa: PLC0415
    from harness import Replay  # noqa: PLC0415

    passages = corpora.load(arguments.corpus).passages[: arguments.limit]
    graphs = {}
    print("| structured_output | answers | prompt tokens | completion tokens | entities, relations |")
    print("|---|---|---|---|---|")
    with Replay("--embed", "hash") as replay:
        for form in ("off", "on"):
            replay.reset()
            workspace = Workspace(arguments.graphloom, replay.url, passages)
            workspace.env["GRAPHLOOM_STRUCTURED_OUTPUT"] = form
            workspace.run("add", "docs")
            counts = json.loads(workspace.run("--json", "status"))["counts"]
            graphs[form] = graph(workspace)
            stats = replay.stats()
            print(
                f"| {form} | {stats['llm_calls']} | {stats['prompt_tokens']:,} | {stats['completion_tokens']:,} | "
                f"{counts['entities']:,}, {counts['relations']:,} |"
            )
            workspace.close()
    only = {form: len(graphs[form] - graphs[other]) for form, other in (("off", "on"), ("on", "off"))}
    print(f"\n{len(graphs['off'] & graphs['on']):,} rows are the same; only as lines {only['off']}, only as JSON {only['on']}")
    if any(only.values()):
        sys.exit("the two forms give different graphs")


if __name__ == "__main__":
    main()
