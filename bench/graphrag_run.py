"""Runs GraphRAG and Graphloom completely on one text: model calls and prompt tokens of indexing and of a question about all documents.

    graphrag_run.py GRAPHLOOM --data DIR

Runs the programs `graphrag index` and `graphrag query --method global` with the settings of `graphrag init`, and
`graphloom add`, `derive communities` and `ask` with passages cut as GraphRAG cuts them. DIR has tables of GraphRAG; both systems index
their document. A scripted model on loopback answers both: for a passage, the entities and relationships that the tables list for it; for
a description, that of the tables; and reports of equal length. It counts calls and prompt tokens (o200k_base) by kind of prompt, and
ends the run if it does not know a prompt. Prints one JSON object.
"""
import argparse
import collections
import hashlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

import pandas

from reports import QUESTION, TABLES, answer, count, coverage, typical

# Dimensions of the vectors that GraphRAG requests; their search results do not matter here.
DIMENSIONS = 256
# Minimum length of a line that identifies a passage.
MIN_LINE = 30


class Script:
    """Gives the answers of a model that would have written the tables."""

    def __init__(self, data):
        self.report = typical(data["community_reports"])
        self.units = {row.id: {line.strip() for line in row.text.splitlines() if len(line.strip()) >= MIN_LINE}
                      for row in data["text_units"].itertuples()}
        self.described = {row.title: row.description for row in data["entities"].itertuples()}
        self.entities, self.relations = collections.defaultdict(list), collections.defaultdict(list)
        for row in data["entities"].itertuples():
            for unit, text in self.parts(row.description, row.text_unit_ids):
                self.entities[unit].append((row.title, row.type or "other", text))
        for row in data["relationships"].itertuples():
            self.described[row.source, row.target] = row.description
            for unit, text in self.parts(row.description, row.text_unit_ids):
                if row.source != row.target:
                    self.relations[unit].append((row.source, row.target, text, row.weight))

    @staticmethod
    def parts(description, units):
        """Divides a description among the passages that it was made from."""
        sentences = re.split(r"(?<=[.!?])\s+", description.strip())
        for place, unit in enumerate(units):
            yield unit, " ".join(sentences[place::len(units)] or sentences[:1])

    def unit(self, prompt):
        """Returns the passage in a prompt: the one with the most lines there."""
        lines = {line.strip() for line in prompt.splitlines()}
        return max(self.units, key=lambda unit: len(self.units[unit] & lines))

    def known(self, name, listed):
        """Returns the description in the tables, or else what was listed."""
        names = name if isinstance(name, (list, tuple)) else [name]
        pairs = [names[0]] if len(names) == 1 else [tuple(names), tuple(reversed(names))]
        return next((self.described[pair] for pair in pairs if pair in self.described), listed)

    def reply(self, prompt, last):
        """Returns the kind of prompt, and the answer."""
        if "LLM connectivity test" in prompt:
            return "check", "Hello World"
        if "missed in the last extraction" in last or "Missed in the last extraction" in last:
            return "gleaning", "<|COMPLETE|>"
        if '("entity"<|>' in prompt:
            unit = self.unit(prompt)
            records = ['("entity"<|>' + "<|>".join(entity) + ")" for entity in self.entities[unit]]
            records += [f'("relationship"<|>{source}<|>{target}<|>{text}<|>{weight})'
                        for source, target, text, weight in self.relations[unit]]
            return "extraction", "\n##\n".join([*records, "<|COMPLETE|>"])
        if "entity<|#|>name<|#|>type<|#|>description" in prompt:
            unit = self.unit(prompt)
            records = ["<|#|>".join(["entity", *entity]) for entity in self.entities[unit]]
            records += [f"relation<|#|>{source}<|#|>{target}<|#|>related<|#|>{text}"
                        for source, target, text, _ in self.relations[unit]]
            return "extraction", "\n".join([*records, "<|COMPLETE|>"])
        if "Please concatenate all of these" in prompt:
            name = json.loads(re.search(r"^Entities: (.+)$", prompt, re.M).group(1))
            return "summaries", self.known(name, "A description.")
        if "Write one description that keeps every fact" in prompt:
            name = re.search(r"Name: (.+)$", prompt, re.M).group(1)
            return "summaries", self.known(re.split(r" - | and |, ", name), "A description.")
        if '"rating_explanation"' in prompt or "rating_explanation" in prompt:
            summary, findings = self.report
            return "reports", json.dumps({
                "title": "A community", "summary": summary, "rating": 5.0, "rating_explanation": "Scripted.",
                "findings": [{"summary": one, "explanation": two} for one, two in findings]})
        if '"findings"' in prompt:
            return "reports", json.dumps(answer(prompt, self.report))
        if "---Analyst Reports---" in prompt:
            return "answer", "An answer."
        if "from the points at the end of this message" in prompt:
            return "answer", "An answer."
        if "---Data tables---" in prompt:
            points = [{"description": f"Something about F{number}. [Data: Reports ({number})]", "score": 80} for number in range(1, 6)]
            return "points", json.dumps({"points": points})
        if '"ratings"' in prompt:
            numbers = re.findall(r"^(\d+)\. ", prompt, re.M)
            return "ratings", json.dumps({"ratings": {number: 3 for number in numbers}})
        if '"points"' in prompt:
            return "points", json.dumps(answer(prompt, self.report))
        return "unknown", "OK"


class Model:
    """Serves the script over OpenAI's HTTP API on loopback, and counts calls."""

    def __init__(self, script):
        self.asked, self.unknown = {}, []
        self.lock = threading.Lock()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path.endswith("/embeddings"):
                    return self.send(model.embed(body))
                texts = [message["content"] for message in body["messages"]]
                texts = [text if isinstance(text, str) else "\n".join(part["text"] for part in text) for text in texts]
                prompt = "\n".join(texts)
                kind, text = script.reply(prompt, texts[-1])
                tokens = sum(map(count, texts))
                model.note(kind, tokens, prompt)
                usage = {"prompt_tokens": tokens, "completion_tokens": count(text), "total_tokens": tokens + count(text)}
                base = {"id": "1", "created": 0, "model": body["model"]}
                if body.get("stream"):
                    return self.stream(base, text)
                choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                return self.send({**base, "object": "chat.completion", "choices": [choice], "usage": usage})

            def send(self, reply):
                reply = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def stream(self, base, text):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for delta, end in (({"role": "assistant", "content": text}, None), ({}, "stop")):
                    chunk = {**base, "object": "chat.completion.chunk",
                             "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
                    self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                self.wfile.write(b"data: [DONE]\n\n")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def note(self, kind, tokens, prompt):
        # Several requests are answered at the same time; without the lock, some would not be counted.
        with self.lock:
            calls, before, shown = self.asked.get(kind, (0, 0, 0))
            shown += len(set(re.findall(r"^\d+,", prompt.split("-----Relationships-----")[-1].split("\n\n")[0], re.M))) \
                if "-----Relationships-----" in prompt else 0
            self.asked[kind] = (calls + 1, before + tokens, shown)
            if kind == "unknown":
                self.unknown.append(prompt)

    def embed(self, body):
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        texts = [text if isinstance(text, str) else str(text) for text in texts]
        self.note("embeddings", sum(map(count, texts)), "")
        vectors = []
        for text in texts:
            seed = hashlib.shake_256(text.encode()).digest(DIMENSIONS)
            vectors.append([byte / 128 - 1 for byte in seed])
        return {"object": "list", "model": body["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1},
                "data": [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]}

    def taken(self):
        """Returns calls and prompt tokens since the last call, by kind of prompt, and the relationships in prompts for reports."""
        asked, self.asked = self.asked, {}
        if self.unknown:
            raise SystemExit(f"a prompt that the script does not know:\n{self.unknown[0][:3000]}")
        asked.pop("check", None)
        shown = asked.get("reports", (0, 0, 0))[2]
        return {kind: {"calls": calls, "prompt_tokens": tokens} for kind, (calls, tokens, _) in sorted(asked.items())}, shown


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def graphrag(model, text, folder):
    """Runs GraphRAG's own program, with the settings that it writes."""
    program = pathlib.Path(sys.executable).with_name("graphrag")
    # Tokenizer and prices come from files of the packages; nothing is downloaded.
    quiet = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "TIKTOKEN_CACHE_DIR": f"{TABLES}/litellm_core_utils/tokenizers"}
    run([program, "init", "--root", folder, "--model", "gpt-4.1", "--embedding", "text-embedding-3-large"], env=quiet)
    settings = folder / "settings.yaml"
    key = "api_key: ${GRAPHRAG_API_KEY}"
    written = re.sub(rf"^( *){re.escape(key)}.*$", rf"\g<1>api_key: scripted\n\g<1>api_base: {model.address}", settings.read_text(), flags=re.M)
    settings.write_text(written)
    (folder / "input").mkdir(exist_ok=True)
    (folder / "input" / "book.txt").write_text(text)
    run([program, "index", "--root", folder], env=quiet)
    indexing, shown = model.taken()
    communities = pandas.read_parquet(folder / "output" / "communities.parquet")
    reports = pandas.read_parquet(folder / "output" / "community_reports.parquet")
    answered = run([program, "query", "--root", folder, "--method", "global", QUESTION], env=quiet)
    if "An answer." not in answered:
        raise SystemExit(f"no answer of GraphRAG: {answered[-2000:]}")
    return {
        "indexing": indexing, "question": model.taken()[0], "communities": len(communities), "reports": len(reports),
        "internal_relations": int(communities.relationship_ids.map(len).sum()), "shown": shown,
        "levels": communities.level.value_counts().sort_index().tolist(),
    }


def graphloom(program, model, text, folder):
    """Runs Graphloom with the same model, passages cut in the same way, and otherwise its defaults."""
    (folder / "book.txt").write_text(text)
    common = [program, "--json", "--data-dir", folder / "data", "--set", f"base_url={model.address}", "--set", "llm=openai:scripted"]
    cut = ["--set", "chunk_strategy=token_window", "--set", "chunk_tokens=1200", "--set", "chunk_overlap=100"]
    # A relative path, so that the folder's random name is in no prompt.
    run([*common, *cut, "add", "book.txt"], cwd=folder)
    run([*common, *cut, "derive", "communities"], cwd=folder)
    indexing, _ = model.taken()
    levels, internal, omitted = coverage(program, folder / "data")
    asked = {}
    for name, options in (("question", []), ("question_of_finest_reports", ["--level", str(len(levels) - 1)])):
        run([*common, *cut, "ask", QUESTION, "--mode", "community_global", *options], cwd=folder)
        asked[name] = model.taken()[0]
    return {"indexing": indexing, **asked, "reports": sum(levels), "internal_relations": internal, "shown": internal - omitted,
            "levels": levels}


def tokens_of(asked):
    return sum(one["prompt_tokens"] for kind, one in asked.items() if kind != "embeddings")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphloom")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    names = ["entities", "relationships", "community_reports", "text_units", "documents"]
    data = {name: pandas.read_parquet(arguments.data / f"{name}.parquet") for name in names}
    for table in ("entities", "relationships"):
        data[table]["description"] = data[table]["description"].fillna("No Description")
    data["entities"]["type"] = data["entities"]["type"].fillna("")
    text = "\n\n".join(data["documents"].text)
    program = str(pathlib.Path(arguments.graphloom).resolve())
    model = Model(Script(data))
    with tempfile.TemporaryDirectory() as theirs_at, tempfile.TemporaryDirectory() as ours_at:
        theirs = graphrag(model, text, pathlib.Path(theirs_at))
        ours = graphloom(program, model, text, pathlib.Path(ours_at))
    both = {"graphloom": ours, "graphrag": theirs}
    reports = {name: one["indexing"]["reports"]["prompt_tokens"] for name, one in both.items()}
    print(json.dumps({
        **both,
        "report_tokens_ratio": round(reports["graphloom"] / reports["graphrag"], 3),
        "indexing_tokens_ratio": round(tokens_of(ours["indexing"]) / tokens_of(theirs["indexing"]), 3),
        "question_tokens_ratio": round(tokens_of(ours["question"]) / tokens_of(theirs["question"]), 3),
    }))


if __name__ == "__main__":
    main()
