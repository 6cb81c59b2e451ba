"""Compares prompt tokens of community reports and of a question about all documents: Graphloom and GraphRAG on the same graph.

    reports.py GRAPHLOOM --data DIR

DIR has GraphRAG's tables (entities, relationships, communities, text_units). GraphRAG's own code (the package graphrag) builds its
contexts, and its prompts are counted without any calls. Graphloom imports the same graph, and a scripted model on loopback answers its
calls and counts their tokens. Both are counted in tokens of o200k_base; tiktoken finds the vocabulary in TIKTOKEN_CACHE_DIR, or else
with litellm. Prints one JSON object.
"""
import argparse
import http.server
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading

import pandas
import tiktoken

# GraphRAG's dependency litellm contains the token table, so nothing is downloaded.
TABLES = importlib.util.find_spec("litellm").submodule_search_locations[0]
os.environ.setdefault("TIKTOKEN_CACHE_DIR", f"{TABLES}/litellm_core_utils/tokenizers")
ENCODING = tiktoken.get_encoding("o200k_base")
QUESTION = "What are the main themes?"
# GraphRAG's default for tokens of data in a prompt about a community.
REPORT_TOKENS = 8_000
# GraphRAG's defaults for the finest level whose reports are read, and for tokens of reports in a map call.
LEVEL, MAP_TOKENS = 2, 12_000


def count(text):
    return len(ENCODING.encode(text, disallowed_special=()))


class Tokenizer:
    """The tokenizer interface that GraphRAG needs."""

    def encode(self, text):
        return ENCODING.encode(text, disallowed_special=())

    def decode(self, tokens):
        return ENCODING.decode(tokens)

    def num_tokens(self, text):
        return count(text)


def graphrag(data):
    """Returns calls and prompt tokens of GraphRAG, and how many internal relations its contexts show."""
    from graphrag.callbacks.noop_workflow_callbacks import NoopWorkflowCallbacks
    from graphrag.data_model import schemas
    from graphrag.index.operations.summarize_communities.explode_communities import explode_communities
    from graphrag.index.operations.summarize_communities.graph_context.context_builder import build_local_context
    from graphrag.prompts.index.community_report import COMMUNITY_REPORT_PROMPT
    from graphrag.prompts.query.global_search_map_system_prompt import MAP_SYSTEM_PROMPT

    nodes = explode_communities(data["communities"], data["entities"])
    details = [schemas.SHORT_ID, schemas.TITLE, schemas.DESCRIPTION, schemas.NODE_DEGREE]
    nodes[schemas.NODE_DETAILS] = nodes[details].to_dict(orient="records")
    edges = data["relationships"].copy()
    details = [schemas.SHORT_ID, schemas.EDGE_SOURCE, schemas.EDGE_TARGET, schemas.DESCRIPTION, schemas.EDGE_DEGREE]
    edges[schemas.EDGE_DETAILS] = edges[details].to_dict(orient="records")
    contexts = build_local_context(nodes, edges, None, Tokenizer(), NoopWorkflowCallbacks(), REPORT_TOKENS)
    shown = internal = 0
    for _, row in contexts.iterrows():
        names = {node["title"] for node in row["all_context"]}
        inside = edges[edges.source.isin(names) & edges.target.isin(names)]
        table = row["context_string"].split("-----Relationships-----\n")[-1]
        ids = set(re.findall(r"^(\d+),", table, re.M))
        internal += len(inside)
        shown += sum(str(number) in ids for number in inside.human_readable_id)
    calls = len(contexts)
    reports = data["community_reports"]
    read = reports[reports.level <= LEVEL].full_content.map(count).sum()
    batches = int(-(-read // MAP_TOKENS))
    return {
        "calls": calls,
        "prompt_tokens": int(contexts["context_size"].sum()) + calls * count(COMMUNITY_REPORT_PROMPT),
        "internal_relations": internal,
        "shown": int(shown),
        # Does not count the call that answers from the points.
        "question": {"calls": batches, "prompt_tokens": int(read) + batches * count(MAP_SYSTEM_PROMPT)},
    }


class Model:
    """A chat model on loopback that writes reports as long as GraphRAG's, points and answers, and counts prompts."""

    def __init__(self, report):
        self.calls, self.tokens = 0, 0
        self.lock = threading.Lock()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                prompt = "\n".join(message["content"] for message in body["messages"])
                text = json.dumps(answer(prompt, report))
                usage = {"prompt_tokens": count(prompt), "completion_tokens": count(text)}
                # Several requests are answered at the same time; without the lock, some would not be counted.
                with model.lock:
                    model.calls += 1
                    model.tokens += usage["prompt_tokens"]
                choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                reply = json.dumps({"id": "1", "object": "chat.completion", "model": "scripted", "choices": [choice],
                                    "usage": usage}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def taken(self):
        """Returns calls and tokens since the last call."""
        calls, tokens, self.calls, self.tokens = self.calls, self.tokens, 0, 0
        return calls, tokens


def answer(prompt, report):
    """Returns a report with the given words, or points that name findings of the prompt."""
    if '"findings"' in prompt:
        summary, findings = report
        ids = re.findall(r"^\[([ER]\d+)\]", prompt, re.M)[:len(findings)] or ["E1"]
        return {"title": "A community", "summary": summary, "rating": 5.0, "rating_reason": "Scripted.",
                "findings": [{"summary": one, "explanation": f"{two} [{ids[at % len(ids)]}]"}
                             for at, (one, two) in enumerate(findings)]}
    ids = re.findall(r"^\[(F\d+)\]", prompt, re.M)[:5]
    return {"points": [{"point": f"Something about {name}.", "score": 80, "sources": [name]} for name in ids]}


def typical(reports):
    """Returns summary and findings of GraphRAG's report of median length, so that the reports of both systems have the same length."""
    lengths = reports.full_content.map(count)
    row = reports.loc[(lengths - lengths.median()).abs().idxmin()]
    return row["summary"], [(finding["summary"], finding["explanation"]) for finding in row["findings"]]


def coverage(program, data_dir):
    """Returns the communities of each level, the relations within communities, and how many of these were in no prompt for a report."""

    def read(*arguments):
        done = subprocess.run([program, "--json", "--data-dir", data_dir, "communities", *arguments], capture_output=True,
                              text=True, check=True)
        return json.loads(done.stdout)

    levels = read()["layer"]["levels"]
    internal = omitted = 0
    for level in range(len(levels)):
        for entry in read("--level", str(level), "--limit", "10000")["communities"]:
            report = read(entry["id"])
            omitted += report["omitted_relations"]
            internal += report["relations"]
    return levels, internal, omitted


def graphloom(program, data):
    """Returns calls and prompt tokens of Graphloom with the same graph."""
    first = lambda ids: str(ids[0]) if len(ids) else "none"
    units, entities, relations = data["text_units"], data["entities"], data["relationships"]
    graph = {
        "chunks": [{"content": row.text, "source_id": row.id} for row in units.itertuples()],
        "entities": [{"entity_name": row.title, "entity_type": row.type, "description": row.description,
                      "source_id": first(row.text_unit_ids)} for row in entities.itertuples()],
        "relationships": [{"src_id": row.source, "tgt_id": row.target, "description": row.description, "keywords": "",
                           "weight": row.weight, "source_id": first(row.text_unit_ids)}
                          for row in relations.itertuples() if row.source != row.target],
    }
    model = Model(typical(data["community_reports"]))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graph.json"
        path.write_text(json.dumps(graph))
        address = f"http://127.0.0.1:{model.server.server_address[1]}/v1"

        def run(*arguments):
            command = [program, "--json", "--data-dir", f"{folder}/data", "--set", f"base_url={address}", *arguments]
            # A relative path, so that the folder's random name is in no prompt.
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
            if done.returncode:
                raise SystemExit(f"{' '.join(arguments)}: {done.stderr[-2000:]}")
            return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("{", "["))]

        run("graph", "import", path.name)
        llm = ["--set", "summarize_llm=openai:scripted"]
        run("derive", "communities", *llm)
        calls, tokens = model.taken()
        levels, internal, omitted = coverage(program, f"{folder}/data")
        asked = {}
        for name, options in (("question", []), ("question_of_finest_reports", ["--level", str(len(levels) - 1)])):
            done = subprocess.run([program, "--json", "--data-dir", f"{folder}/data", "--set", f"base_url={address}", "ask",
                                   QUESTION, "--mode", "community_global", "--llm", "openai:scripted", *options],
                                  capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr[-2000:])
            asked[name] = dict(zip(("calls", "prompt_tokens"), model.taken()))
    return {"calls": calls, "prompt_tokens": tokens, "levels": levels, "internal_relations": internal,
            "omitted_relations": omitted, **asked}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphloom")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    tables = ["entities", "relationships", "communities", "community_reports", "text_units"]
    data = {name: pandas.read_parquet(arguments.data / f"{name}.parquet") for name in tables}
    data["entities"]["description"] = data["entities"]["description"].fillna("No Description")
    data["relationships"]["description"] = data["relationships"]["description"].fillna("No Description")
    program = str(pathlib.Path(arguments.graphloom).resolve())
    ours, theirs = graphloom(program, data), graphrag(data)
    ratio = ours["prompt_tokens"] / theirs["prompt_tokens"]
    print(json.dumps({"graphloom": ours, "graphrag": theirs, "report_tokens_ratio": round(ratio, 3)}))


if __name__ == "__main__":
    main()
