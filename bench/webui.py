"""Walks LightRAG's own web pages in a browser, served by LightRAG and by a proxy in front of a graphloom server, and compares the responses.

    python webui.py PROGRAM --harness FOLDER [--browser FILE] [--shots FOLDER] [--access open login key]

PROGRAM is a built graphloom. Both servers use the same models (the harness's replay server) and the same documents, which
are uploaded through the pages. Every request of the pages is recorded with its status, media type and the shape of its
response: names and types at all levels. Graphloom must respond with the same status and media type, and with every name that
LightRAG's response always has, with the same types; additional names are allowed. Exits with 1 if there is a difference that
is not listed below. Needs the packages `lightrag-hku[api]`, which carries the pages, and `playwright`, and a Chromium.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import sync_playwright

CORPUS = "musique_train100"
DOCUMENTS = 6
# Access control of a server: open, login, or API key.
ACCESS = ["open", "login", "key"]
USER, PASSWORD = "ada", "correct horse battery"
STARTS_WITHIN_S = 120
INDEXED_WITHIN_S = 120
# Time limit for an element to appear on a page.
SHOWS_WITHIN_MS = 8000

# Allowed differences by request and location in the response, with the reason.
EXPECTED = {
    r"GET /documents/pipeline_status 200 \.update_status\.": "there are no caches that other processes must drop",
    r"GET /documents/supported_file_types 200 \.engines\.": "LightRAG's own parsers",
    r"(GET /graphs\S*|POST /graph/(entity|relation)/edit) 200 \S*\.(created_at|truncate) is missing": "the pages leave it out",
    r"POST /documents/paginated 200 \.documents\[\]\.metadata\.": "metadata is the user's own, and not the parser's",
    r"GET /health 200 \.(capabilities|keyed_locks|scheduling|scheduling_metrics|server_mode|workers|\w+_queue_status|pipeline_\w+)"
    r" is missing": "LightRAG's own machinery; the pages leave it out or show a dash",
    r"GET /health 200 \.(input_directory|working_directory|\S+_host|\S+\.host) is": "folders and addresses of services are not told",
    r"GET /health 200 \.configuration\.rerank_binding is null": "there is no reranker",
    r"GET /health 200 \.configuration\.(docling|mineru|parser_routing|storage_workspaces|\w+_storage|\w+_timeout|\w+_max_async"
    r"|embedding_batch_num|role_llm_config\.vlm|role_llm_config\.\w+\.(is_cross_provider|timeout|has_model_kwargs|metadata)) is missing":
        "settings of LightRAG alone; the pages show a dash",
}


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def await_answer(url, process, log):
    for _ in range(STARTS_WITHIN_S * 10):
        try:
            return urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.1)
    sys.exit(f"no answer from {url}:\n{Path(log).read_text(encoding='utf-8')[-2000:]}")


class Served:
    """A server with its own folder; `url` is the address of the pages."""

    def __init__(self, folder):
        self.folder, self.process = Path(folder), None
        self.folder.mkdir(parents=True)
        self.log = self.folder / "server.log"

    def start(self, command, environment, port):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **environment}
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        self.url = f"http://127.0.0.1:{port}"
        await_answer(f"{self.url}/health", self.process, self.log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


class LightRag(Served):
    name = "lightrag"

    def __init__(self, folder, replay, access):
        super().__init__(folder)
        models = {"LLM_BINDING": "openai", "LLM_MODEL": "gpt-4o-mini", "LLM_BINDING_HOST": f"{replay.url}/v1",
                  "LLM_BINDING_API_KEY": "replay", "EMBEDDING_BINDING": "openai", "EMBEDDING_DIM": "384",
                  "EMBEDDING_MODEL": "text-embedding-3-small", "EMBEDDING_BINDING_HOST": f"{replay.url}/v1",
                  "EMBEDDING_BINDING_API_KEY": "replay", "RERANK_BINDING": "null",
                  "TIKTOKEN_CACHE_DIR": os.path.join(os.environ["BENCH_HOME"], "cache", "tiktoken")}
        self.key = "a key of this run alone"
        if access == "key":
            models["LIGHTRAG_API_KEY"] = self.key
        if access == "login":
            models |= {"AUTH_ACCOUNTS": f"{USER}:{PASSWORD}", "TOKEN_SECRET": "a secret of this run alone, long enough"}
        port = free_port()
        command = [os.path.join(os.path.dirname(sys.executable), "lightrag-server"), "--host", "127.0.0.1"]
        command += ["--port", str(port), "--working-dir", "rag", "--input-dir", "inputs"]
        self.start(command, models, port)


class Graphloom(Served):
    name = "graphloom"

    def __init__(self, folder, replay, access, program, pages):
        super().__init__(folder)
        models = {"GRAPHLOOM_BASE_URL": f"{replay.url}/v1", "GRAPHLOOM_API_KEY": "replay",
                  "GRAPHLOOM_LLM": "openai:gpt-4o-mini", "GRAPHLOOM_EMBEDDER": "openai:text-embedding-3-small"}
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        run = lambda *arguments, **more: subprocess.run(
            [program, *arguments], cwd=self.folder, env=environment, text=True, check=True, capture_output=True, **more).stdout
        if access == "login":
            run("user", "add", USER, "--right", "admin", "--password-stdin", input=PASSWORD)
        if access == "key":
            self.key = json.loads(run("--json", "key", "create", "pages", "--right", "admin"))["key"]
        port = free_port()
        self.start([program, "serve", "--port", str(port)], models, port)
        self.front = front(pages, self.url)
        self.url = f"http://127.0.0.1:{self.front.server_address[1]}"

    def __exit__(self, *_):
        self.front.shutdown()
        self.front.server_close()
        super().__exit__()


def front(pages, behind):
    """A reverse proxy: serves the pages at /webui/ and forwards everything else, on one origin."""

    class Front(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def translate_path(self, path):
            return super().translate_path(path.removeprefix("/webui"))

        def answer(self):
            if self.path.startswith("/webui/") and self.command == "GET":
                return super().do_GET()
            body = self.rfile.read(int(self.headers.get("content-length") or 0)) or None
            headers = {name: value for name, value in self.headers.items() if name.lower() not in ("connection", "accept-encoding")}
            request = urllib.request.Request(behind + self.path, body, headers, method=self.command)
            try:
                passed = urllib.request.urlopen(request, timeout=120)
            except urllib.error.HTTPError as refusal:
                passed = refusal
            with passed:
                self.send_response_only(passed.status)
                for name, value in passed.headers.items():
                    if name.lower() not in ("connection", "transfer-encoding"):
                        self.send_header(name, value)
                self.end_headers()
                while piece := passed.read1(65536):
                    self.wfile.write(piece)
                    self.wfile.flush()

        do_GET = do_POST = do_DELETE = answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: Front(*given, directory=pages))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


# A shape describes the possible values: for each observed type, its details.

def shape(value):
    match value:
        case None:
            return {"null": True}
        case bool():
            return {"boolean": True}
        case int() | float():
            return {"number": True}
        case str():
            return {"string": True}
        case list():
            items = {}
            for item in value:
                items = both(items, shape(item))
            return {"list": items}
        case dict():
            return {"object": {"seen": 1, "names": {name: [1, shape(item)] for name, item in value.items()}}}


def both(one, other):
    """Returns the union of two shapes."""
    merged = {**one, **other}
    if "list" in one and "list" in other:
        merged["list"] = both(one["list"], other["list"])
    if "object" in one and "object" in other:
        left, right = one["object"], other["object"]
        names = {}
        for name in left["names"].keys() | right["names"].keys():
            (times, known), (more, found) = left["names"].get(name, [0, {}]), right["names"].get(name, [0, {}])
            names[name] = [times + more, both(known, found)]
        merged["object"] = {"seen": left["seen"] + right["seen"], "names": names}
    return merged


def missing(theirs, ours, place=""):
    """Yields the differences of ours, as pairs of location and description. Fields that theirs does not show are not compared."""
    if not theirs.keys() - {"null"} or not ours:
        return
    for kind in sorted(ours.keys() - theirs.keys()):
        yield place, f"is {kind} and not {' or '.join(sorted(theirs))}"
    if "list" in theirs and "list" in ours:
        yield from missing(theirs["list"], ours["list"], f"{place}[]")
    if "object" in theirs and "object" in ours:
        names = ours["object"]["names"]
        for name, (times, known) in sorted(theirs["object"]["names"].items()):
            if name not in names:
                if times == theirs["object"]["seen"]:
                    yield f"{place}.{name}", "is missing"
                continue
            if times == theirs["object"]["seen"] and names[name][0] < ours["object"]["seen"]:
                yield f"{place}.{name}", "is missing at times"
            yield from missing(known, names[name][1], f"{place}.{name}")


class Recorder:
    """Records requests, responses and console messages of the pages."""

    def __init__(self, context):
        self.asked, self.console, self.failed, self.arrived = {}, [], [], []
        context.on("response", lambda response: self.arrived.append(response))
        context.on("console", lambda message: message.type == "error" and self.console.append(message.text))
        context.on("weberror", lambda error: self.console.append(str(error.error)))

    def settle(self):
        """Reads the responses since the last call; an event handler must not wait for the rest of a response."""
        arrived, self.arrived = self.arrived, []
        for response in arrived:
            url = urllib.parse.urlsplit(response.url)
            # Skip the pages themselves, and the assets of the API page.
            if not re.match(r"/(webui|static|docs|favicon.ico)(/|$)", url.path) or url.path == "/docs":
                self.read(response, url)

    def read(self, response, url):
        request = response.request
        query = sorted(name for name, _ in urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        try:
            sent = sorted(json.loads(request.post_data or "{}"))
        except (ValueError, UnicodeDecodeError):
            sent = ["a form"]
        kind = response.headers.get("content-type", "").split(";")[0]
        # Problems have their own media type; to the pages they are JSON.
        kind = "application/json" if kind == "application/problem+json" else kind
        try:
            text = response.text()
        except BrowserError:
            return  # The page was left before the response arrived.
        if kind == "application/x-ndjson":
            found = shape([json.loads(line) for line in text.splitlines() if line.strip()])
        elif kind == "application/json" and url.path != "/openapi.json":
            found = shape(json.loads(text))
        else:
            found = {}
        key = f"{request.method} {url.path}" + (f"?{'&'.join(query)}" if query else "")
        known = self.asked.setdefault(key, {}).setdefault((response.status, kind), {"shape": {}, "sent": set(), "times": 0})
        known["shape"] = both(known["shape"], found)
        known["sent"].update(sent)
        known["times"] += 1


class Walk:
    """A walk through the pages of one server."""

    def __init__(self, browser, served, shots):
        self.served, self.shots = served, shots
        self.context = browser.new_context(viewport={"width": 1400, "height": 900}, locale="en-US")
        self.recorder = Recorder(self.context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(SHOWS_WITHIN_MS)
        self.steps = 0

    def step(self, name, *acts):
        """Performs these actions and takes a picture. A failed action is reported as a fault, and the walk continues."""
        self.steps += 1
        try:
            for act in acts:
                act()
        except (BrowserError, AssertionError) as error:
            self.recorder.failed.append(f"{name}: {' '.join(str(error).split())[:200]}")
        self.rest(1)
        if self.shots:
            self.page.screenshot(path=str(self.shots / f"{self.steps:02}-{name.replace(' ', '-')}-{self.served.name}.png"))
        self.recorder.settle()

    def rest(self, seconds):
        self.page.wait_for_timeout(seconds * 1000)

    def click(self, name, role="button", **more):
        return lambda: self.page.get_by_role(role, name=name, **more).first.click()

    def fill(self, what, text):
        return lambda: self.page.locator(what).last.fill(text)

    def press(self, what):
        return lambda: self.page.locator(what).first.click()

    def confirm(self):
        self.page.get_by_placeholder("Type yes to confirm").fill("yes")
        self.page.get_by_role("dialog").get_by_role("button", name="YES").click()

    def close(self):
        self.page.keyboard.press("Escape")
        self.rest(0.5)

    def send(self, path, body=None):
        """Sends a request of the pages that cannot be triggered by a click."""
        asked = "([path, body]) => fetch(path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body}).then(it => it.text())"
        return lambda: self.page.evaluate(asked, [path, None if body is None else json.dumps(body)])

    def processed(self, files):
        for _ in range(INDEXED_WITHIN_S):
            with urllib.request.urlopen(f"{self.served.url}/documents/status_counts", timeout=10) as answer:
                if json.load(answer)["status_counts"].get("processed") == files:
                    return
            self.rest(1)
        raise AssertionError(f"{files} documents are not indexed after {INDEXED_WITHIN_S} s")


def walk_open(walk, passages, question):
    """Visits every page, without a login."""
    page, served = walk.page, walk.served
    walk.step("open", lambda: page.goto(f"{served.url}/webui/"), lambda: walk.rest(3))
    files = [{"name": f"{passage.id}.txt", "mimeType": "text/plain", "buffer": passage.doc.encode()} for passage in passages]
    upload = walk.click("Upload", exact=True)
    choose = lambda files: lambda: page.locator("input[type=file]").set_input_files(files)
    walk.step("upload", upload, choose(files), lambda: walk.rest(3))
    walk.step("indexed", walk.close, lambda: walk.processed(len(files)), lambda: walk.rest(6))
    walk.step("upload again", upload, choose(files[:1]), lambda: walk.rest(2))
    walk.step("upload of an unknown kind", walk.close, upload,
              choose([{"name": "a.xyz", "mimeType": "application/x-xyz", "buffer": b"x"}]))
    walk.step("filter by status", walk.close, walk.click("Completed ("), lambda: walk.rest(1), walk.click("Failed ("))
    walk.step("names of files", walk.click("All ("), walk.press("#toggle-filename-btn"), lambda: walk.rest(1))
    walk.step("details of a document", walk.click("View status details"))
    walk.step("pipeline", walk.close, walk.click("Pipeline", exact=True))
    walk.step("state of the server", walk.close, lambda: page.get_by_text("Connected").click())
    walk.step("scan", walk.close, walk.click("Scan/Retry"), lambda: walk.rest(3))
    walk.step("cancel", walk.send("/documents/cancel_pipeline"))

    walk.step("graph", lambda: page.reload(), lambda: walk.rest(3), walk.click("Knowledge Graph", "tab"), lambda: walk.rest(3))
    labels = json.loads(page.evaluate("() => fetch('/graph/label/popular?limit=10').then(it => it.text())"))
    label = next(label for label in labels if " " in label)
    walk.step("popular labels", walk.click("Search node name", "combobox"), lambda: walk.rest(1))
    walk.step("search for a label", lambda: page.keyboard.type(label.split()[0], delay=50), lambda: walk.rest(2))
    walk.step("graph of a label", lambda: page.get_by_role("option", name=label).first.click(), lambda: walk.rest(4))
    walk.step("click a node", lambda: page.get_by_placeholder("Search nodes in page...").fill(label), lambda: walk.rest(1),
              lambda: page.get_by_role("option", name=label).first.click(), lambda: walk.rest(2))
    pencil = "svg.cursor-pointer.h-3.w-3"
    walk.step("edit a description", walk.press(pencil), lambda: walk.rest(1))
    walk.step("save a description", walk.fill("[role=dialog] textarea", "Edited by hand."), walk.click("Save", exact=True),
              lambda: walk.rest(3))
    walk.step("rename to a known name", lambda: page.locator(pencil).nth(1).click(),
              walk.fill("[role=dialog] textarea", next(other for other in labels if other != label)),
              walk.click("Save", exact=True), lambda: walk.rest(3))
    walk.step("expand a node", walk.close, lambda: page.locator("button.h-7.w-7.border-gray-400").first.click(), lambda: walk.rest(3))
    edges = page.evaluate(
        "label => fetch('/graphs?label=' + encodeURIComponent(label) + '&max_depth=1&max_nodes=50').then(it => it.json())", label)["edges"]
    ends = {"source_id": edges[0]["source"], "target_id": edges[0]["target"]}
    walk.step("edit a relation", walk.send("/graph/relation/edit", {**ends, "updated_data": {"description": "By hand."}}))
    nobody = {"entity_name": "Nobody at all", "updated_data": {"description": "x"}, "allow_rename": False, "allow_merge": False}
    walk.step("edit what is not there", walk.send("/graph/entity/edit", nobody))

    walk.step("retrieval", walk.click("Retrieval", "tab"))
    ask = lambda text: lambda: asked(walk, text)
    for mode in ["mix", "naive", "local", "global", "hybrid", "bypass"]:
        walk.step(f"streamed {mode}", ask(f"/{mode} {question}"))
    walk.step("too short", walk.fill("#query-input", "Hi"), walk.click("Send"))
    walk.step("context alone", walk.press("#only_need_context"), ask(question), walk.press("#only_need_context"))
    walk.step("prompt alone", walk.press("#only_need_prompt"), ask(question), walk.press("#only_need_prompt"))
    walk.step("not streamed", walk.press("#stream"))
    for mode in ["mix", "naive", "local", "global", "hybrid", "bypass"]:
        walk.step(f"whole {mode}", ask(f"/{mode} {question}"))
    walk.step("whole context alone", walk.press("#only_need_context"), ask(question), walk.press("#only_need_context"))
    walk.step("other parameters", walk.fill("#user_prompt", "Be brief."), walk.fill("#top_k", "5"), walk.fill("#chunk_top_k", "3"),
              walk.press("#enable_rerank"), ask(question))
    walk.step("page of the API", lambda: page.locator("a[href*='/docs']").click(), lambda: walk.rest(3), lambda: picture_of_last(walk))

    walk.step("back", walk.click("Documents", "tab"), lambda: walk.rest(1))
    walk.step("delete a document", lambda: page.get_by_role("checkbox").first.click(), walk.click("Delete", exact=True), lambda: walk.rest(1))
    walk.step("delete it", walk.confirm, lambda: walk.processed(len(files) - 1), lambda: walk.rest(6))
    walk.step("clear", walk.click("Clear", exact=True), lambda: walk.rest(1))
    walk.step("clear it", lambda: page.get_by_role("dialog").get_by_role("checkbox").click(), walk.confirm,
              lambda: walk.processed(0), lambda: walk.rest(3))
    walk.step("key is good", walk.send("/auth/verify"))


def asked(walk, text):
    """Asks a question and waits for the end of the answer."""
    walk.page.locator("#query-input, textarea[placeholder^='Enter your query']").first.fill(text)
    with walk.page.expect_response(lambda response: "/query" in response.url) as answer:
        walk.page.get_by_role("button", name="Send").click()
    answer.value.finished()
    walk.rest(1)


def picture_of_last(walk):
    opened = walk.context.pages[-1]
    assert opened is not walk.page, "no page was opened"
    opened.wait_for_selector(".swagger-ui .opblock", timeout=30000)
    if walk.shots:
        opened.screenshot(path=str(walk.shots / f"{walk.steps:02}-docs-{walk.served.name}.png"))
    walk.recorder.settle()
    opened.close()


def walk_login(walk):
    """Visits the pages of a server with logins."""
    page = walk.page
    walk.step("login", lambda: page.goto(f"{walk.served.url}/webui/"), lambda: walk.rest(3))
    walk.step("wrong password", walk.fill("#username-input", USER), walk.fill("#password-input", "wrong"), walk.click("Login", exact=True),
              lambda: walk.rest(2))
    walk.step("right password", walk.fill("#password-input", PASSWORD), walk.click("Login", exact=True), lambda: walk.rest(3))
    walk.step("user's graph", walk.click("Knowledge Graph", "tab"), lambda: walk.rest(3))
    walk.step("logout", lambda: page.locator("header nav button").last.click(), lambda: walk.rest(2))


def walk_key(walk):
    """Visits the pages of a server that needs a key."""
    page = walk.page
    walk.step("no key", lambda: page.goto(f"{walk.served.url}/webui/"), lambda: walk.rest(4))
    key = "input[placeholder='Enter your API key']"
    walk.step("wrong key", walk.fill(key, "wrong"), walk.click("Save", exact=True), lambda: walk.rest(4))
    walk.step("right key", lambda: page.reload(), lambda: walk.rest(3), walk.fill(key, walk.served.key), walk.click("Save", exact=True),
              lambda: walk.rest(4))
    walk.step("graph with the key", lambda: page.reload(), lambda: walk.rest(3), walk.click("Knowledge Graph", "tab"), lambda: walk.rest(3))


def compare(theirs, ours):
    """Yields every difference, as a line."""
    for key in sorted(theirs.asked.keys() | ours.asked.keys()):
        left, right = theirs.asked.get(key, {}), ours.asked.get(key, {})
        outcomes = lambda asked: sorted({f"{status} {kind}" for status, kind in asked})
        if outcomes(left) != outcomes(right):
            yield f"{key}: {', '.join(outcomes(right)) or 'not asked'} and not {', '.join(outcomes(left)) or 'anything'}"
        for outcome in left.keys() & right.keys():
            if left[outcome]["sent"] != right[outcome]["sent"]:
                yield f"{key}: the pages send {sorted(right[outcome]['sent'])} and not {sorted(left[outcome]['sent'])}"
            for place, words in missing(left[outcome]["shape"], right[outcome]["shape"]):
                yield f"{key} {outcome[0]} {place} {words}"
    origin = lambda text: re.sub(r"http://127\.0\.0\.1:\d+", "", text)
    # Compare only the first line: the rest contains the response, whose words may differ, and the place in the pages.
    first = lambda text: origin(text).splitlines()[0]
    said = {first(text) for text in theirs.console}
    for text in ours.console:
        if first(text) not in said:
            yield f"console: {origin(text)[:300]}"
    for failed in ours.failed:
        if failed not in theirs.failed:
            yield f"step {failed}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--harness", required=True)
    parser.add_argument("--browser", default=shutil.which("chromium") or shutil.which("google-chrome"))
    parser.add_argument("--shots", type=Path, help="folder for a picture of each step")
    parser.add_argument("--access", nargs="+", choices=ACCESS, default=ACCESS, help="how the servers are kept; every way by default")
    given = parser.parse_args()
    if not given.browser:
        sys.exit("no chromium found; name one with --browser")
    sys.path.append(given.harness)
    import corpora
    from harness import Replay

    if given.shots:
        given.shots.mkdir(parents=True, exist_ok=True)
    pages = os.path.join(os.path.dirname(find_spec("lightrag").origin), "api", "webui")
    corpus = corpora.load(CORPUS)
    question = corpus.questions[0].question
    gold = [passage for passage in corpus.passages if passage.id in corpus.questions[0].gold]
    passages = (gold + [passage for passage in corpus.passages if passage not in gold])[:DOCUMENTS]
    rows = []
    with tempfile.TemporaryDirectory() as folder, Replay("--embed", "hash") as replay, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=given.browser, args=["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"])
        walks = {"open": lambda walk: walk_open(walk, passages, question), "login": walk_login, "key": walk_key}
        for access in given.access:
            records = []
            makers = (lambda at: LightRag(at, replay, access), lambda at: Graphloom(at, replay, access, given.program, pages))
            for maker in makers:
                with maker(os.path.join(folder, f"{access}{len(records)}")) as served:
                    shots = given.shots and given.shots / access
                    if shots:
                        shots.mkdir(exist_ok=True)
                    walk = Walk(browser, served, shots)
                    walks[access](walk)
                    walk.context.close()
                    records.append(walk.recorder)
            theirs, ours = records
            rows += compare(theirs, ours)
            times = lambda record: sum(known["times"] for found in record.asked.values() for known in found.values())
            print(f"{access}: {walk.steps} steps, {len(theirs.asked)} requests of LightRAG's pages,"
                  f" asked {times(theirs)} and {times(ours)} times; failed there: {theirs.failed or 'none'}")
        browser.close()
    reasons = {row: [why for pattern, why in EXPECTED.items() if re.match(pattern, row)] for row in rows}
    for row, why in reasons.items():
        print(f"{'expected' if why else 'UNEXPECTED'}: {row}{f' ({why[0]})' if why else ''}")
    unexpected = [row for row, why in reasons.items() if not why]
    print(f"lightrag-hku {version('lightrag-hku')}, {os.path.basename(given.browser)}: {len(unexpected)} unexpected differences")
    sys.exit(1 if unexpected else 0)


if __name__ == "__main__":
    main()
