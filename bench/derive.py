"""Derives layers under `kill -9`, and after 1% of the documents changed, with the built program and a model on loopback.

    derive.py --graphloom graphloom --questions DIR [--set NAME] [--passages N] [--kills N]

Rules extract, and a model writes reports and summaries: an OpenAI-compatible server in this process that answers after 20 ms,
always gives the same answer to the same prompt, and counts how often it gets each prompt. For each layer:

- `kill`: a run is killed after a random number of answers, N times, then one runs to its end. State: whether the dump equals
  that of a run without kills, and `check` finds nothing. Paid twice: prompts answered more than once.
- `change`: half a percent of the documents is removed and as many are added. Share of the nodes that the model wrote again.
"""
import argparse
import collections
import hashlib
import http.server
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import threading
import time

CALLS_IN_FLIGHT = 4


class Model(http.server.ThreadingHTTPServer):
    """Answers prompts that ask for JSON with reports, and others with a title and a summary."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = collections.Counter()
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # The client was killed.


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = "\n".join(message["content"] for message in body["messages"])
        mark = hashlib.sha256(prompt.encode()).hexdigest()[:12]
        with self.server.lock:
            self.server.asked[mark] += 1
        time.sleep(0.02)
        words = " ".join(prompt.split()[-40:])
        if "findings" in prompt:
            finding = {"summary": f"About {mark}.", "explanation": f"{words} [R1]"}
            report = {"title": f"Report {mark}", "summary": words, "rating": 5, "findings": [finding]}
            text = json.dumps(report)
        else:
            text = f"Summary {mark}\n\n{words}"
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4, "total_tokens": 0}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        answer = json.dumps({"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


class Program:
    def __init__(self, path, folder, model):
        self.path, self.folder = path, folder
        address = f"http://127.0.0.1:{model.server_address[1]}/v1"
        self.environment = os.environ | {
            "GRAPHLOOM_BASE_URL": address,
            "GRAPHLOOM_API_KEY": "none",
            "GRAPHLOOM_SUMMARIZE_LLM": "none",
            "GRAPHLOOM_MAX_CONCURRENT_CALLS": str(CALLS_IN_FLIGHT),
        }

    def start(self, *arguments):
        return subprocess.Popen(
            [self.path, "--json", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, *arguments):
        child = self.start(*arguments)
        lines = child.communicate()[0].splitlines()
        if child.returncode != 0:
            raise SystemExit(f"{' '.join(arguments)} ended with {child.returncode}")
        return lines[-1] if arguments[0] == "dump" else json.loads(lines[-1]) if lines else None

    def derive(self, layer):
        return self.run("derive", layer, "--set", "summarize_llm=openai:fake")


def write(folder, passages):
    folder.mkdir(parents=True, exist_ok=True)
    for passage in passages:
        (folder / f"{passage['id']}.txt").write_text(f"{passage['title']}\n{passage['text']}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphloom", required=True)
    parser.add_argument("--questions", required=True, type=pathlib.Path)
    parser.add_argument("--set", default="musique_train100")
    parser.add_argument("--passages", type=int, default=600)
    parser.add_argument("--kills", type=int, default=20)
    arguments = parser.parse_args()
    corpus = [json.loads(line) for line in (arguments.questions / arguments.set / "corpus.jsonl").open()]
    changed = max(1, arguments.passages // 200)
    passages, more = corpus[: arguments.passages], corpus[arguments.passages : arguments.passages + changed]
    chance = random.Random(7)
    print(f"{arguments.set}: {len(passages)} passages, {CALLS_IN_FLIGHT} calls in flight")
    print("| layer | nodes | calls | kills | state equals that of a clean run | paid twice | at most | rewritten after 1% |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        clean_model = Model()
        clean = Program(arguments.graphloom, work / "clean", clean_model)
        write(work / "clean" / "docs", passages)
        clean.run("add", "docs")
        subprocess.run(["cp", "-r", work / "clean", work / "killed"], check=True)
        for layer in ("communities", "tree"):
            clean_model.asked.clear()
            whole = clean.derive(layer)
            calls = sum(clean_model.asked.values())
            model = Model()
            killed = Program(arguments.graphloom, work / "killed", model)
            kills = 0
            for number in range(arguments.kills):
                seen = sum(model.asked.values())
                wanted = seen + chance.randint(1, max(1, calls // arguments.kills))
                child = killed.start("derive", layer, "--set", "summarize_llm=openai:fake")
                deadline = time.time() + 120
                while sum(model.asked.values()) < wanted and child.poll() is None and time.time() < deadline:
                    time.sleep(0.005)
                if child.poll() is None:
                    os.kill(child.pid, signal.SIGKILL)
                    kills += 1
                child.communicate()
            killed.derive(layer)
            killed.run("check")
            equal = killed.run("dump", "--hash") == clean.run("dump", "--hash")
            twice = sum(times - 1 for times in model.asked.values())
            clean.run("rm", *(f"docs/{passage['id']}.txt" for passage in passages[:changed]))
            write(work / "clean" / "more", more)
            clean.run("add", "more")
            clean_model.asked.clear()
            again = clean.derive(layer)
            rewritten = again["written"] / max(again["nodes"], 1)
            print(
                f"| {layer} | {whole['nodes']} | {calls} | {kills} | {'yes' if equal else 'NO'} | {twice} | "
                f"{kills * CALLS_IN_FLIGHT} | {100 * rewritten:.1f}% ({sum(clean_model.asked.values())} calls) |",
                flush=True,
            )
            # Restore the documents for the next layer.
            clean.run("rm", *(f"more/{passage['id']}.txt" for passage in more))
            clean.run("add", "docs")
            clean.derive(layer)


if __name__ == "__main__":
    main()
