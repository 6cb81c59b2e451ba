"""Runs schemathesis over every operation of a server's /openapi.json, on a workspace with sample documents.

    python fuzz_api.py PROGRAM [--examples N] [--seed N]

PROGRAM is a built graphloom. The server gets a temporary folder and is stopped at the end. Exits with schemathesis's code:
0 if no response has status 5xx, an undocumented type, or violates its schema. Needs the package `schemathesis` (4.32
was used); this file is also its module of hooks.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

# Checks that apply to any request. Whether unusual input is accepted or rejected is covered by the tests of the server.
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
    "missing_required_header",
    "every_line_is_as_described",
]


def main(program, examples, seed):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    schemathesis = os.path.join(os.path.dirname(sys.executable), "schemathesis")
    with tempfile.TemporaryDirectory() as folder:
        def run(*arguments):
            return subprocess.run([program, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout

        run("add", os.path.join(root, "samples", "lab"))
        key = json.loads(run("--json", "key", "create", "fuzz", "--right", "admin", "--only", "default"))["key"]
        log = open(os.path.join(folder, "server.log"), "w", encoding="utf-8")
        serving = subprocess.Popen(
            [program, "--json", "serve", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            url = json.loads(serving.stdout.readline())["url"]
            command = [schemathesis, "run", f"{url}/openapi.json", "--header", f"X-API-Key: {key}"]
            command += ["--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing"]
            command += ["--max-examples", str(examples), "--seed", str(seed), "--request-timeout", "10"]
            command += ["--continue-on-failure", "--warnings", "off", "--no-color"]
            environment = {**os.environ, "SCHEMATHESIS_HOOKS": "fuzz_api", "PYTHONPATH": os.path.dirname(__file__)}
            environment.update(FUZZ_URL=url, FUZZ_KEY=key)
            started = time.monotonic()
            # Operations that remove everything run last, so that the others have data.
            last = "delete_documents"
            code = subprocess.run([*command, "--exclude-operation-id", last], cwd=folder, env=environment).returncode
            code = subprocess.run([*command, "--include-operation-id", last], cwd=folder, env=environment).returncode or code
            counters = urllib.request.Request(f"{url}/metrics", headers={"X-API-Key": key})
            with urllib.request.urlopen(counters, timeout=10) as answer:
                counted = re.findall(r'requests_total{method="(.*?)",route="(.*?)",status="(.*?)"} (\d+)', answer.read().decode())
            went_well = {(method, route) for method, route, status, _ in counted if status == "200"}
            with urllib.request.urlopen(f"{url}/openapi.json", timeout=10) as answer:
                paths = json.load(answer)["paths"]
            never = [f"{method} {path}" for path, methods in paths.items() for method in methods
                     if (method.upper(), path) not in went_well]
            print(f"fuzz_api: {sum(int(count) for *_, count in counted)} requests; never went well: {', '.join(never) or 'none'}")
            print(f"fuzz_api: {time.monotonic() - started:.0f} s, schemathesis said {code}")
        finally:
            serving.terminate()
            serving.wait(30)
            log.close()
        with open(os.path.join(folder, "server.log"), encoding="utf-8") as lines:
            panics = [line for line in lines if "panicked" in line]
        assert not panics, panics[:3]
        return code


if os.environ.get("SCHEMATHESIS_HOOKS") == "fuzz_api" and __name__ == "fuzz_api":
    import jsonschema_rs
    import schemathesis

    # Existing values, because random ones rarely match.
    KNOWN = {
        "label": ["*", "Braidline", "Maren Oskoldt"],
        "name": ["Braidline", "Maren Oskoldt"],
        "entity_name": ["Braidline", "Maren Oskoldt"],
        "source_entity": ["Braidline"],
        "target_entity": ["Maren Oskoldt"],
        "source_id": ["Braidline"],
        "target_id": ["Maren Oskoldt"],
        "entities_to_change": [["Braidline"]],
        "entity_to_change_into": ["Maren Oskoldt"],
        "query": ["Who wrote the lab's first paper?"],
        "prompt": ["Who wrote the lab's first paper?"],
        "input": ["Braidline", ["Braidline", "Weir"]],
        "model": ["default:auto", "default:naive", "graphloom", "default:bypass"],
        "messages": [[{"role": "user", "content": "Who wrote the lab's first paper?"}]],
        "entity_data": [{"description": "A thing.", "entity_type": "thing"}],
        "updated_data": [{"description": "Another thing."}, {"entity_name": "Braidline", "description": "A product."}],
        "relation_data": [{"description": "One is near the other.", "keywords": "near", "weight": 1}],
        "texts": [["One text.", "Another text."]],
        "mode": ["naive", "local", "mix", "auto", "ppr"],
    }
    CALLS = [
        ("search", {"query": "Braidline"}),
        ("ask", {"question": "Who wrote the lab's first paper?"}),
        ("get_source", {"document": "nowhere.md"}),
        ("graph_neighbors", {"entity": "*", "limit": 5}),
        ("add_document", {"name": "note.md", "text": "A note.", "replace": True}),
        ("forget_document", {"document": "note.md"}),
    ]

    def asked(path, body=None):
        headers = {"X-API-Key": os.environ["FUZZ_KEY"], "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(os.environ["FUZZ_URL"] + path, data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    DOCUMENT = asked("/openapi.json")
    listed = asked("/documents/paginated", {})["documents"]
    found = asked("/query/data", {"query": "Who wrote the lab's first paper?"})
    KNOWN_PATHS = {
        "document_id": [document["id"] for document in listed],
        "job_id": [document["id"] for document in listed] + [document["track_id"] for document in listed],
        "track_id": [document["track_id"] for document in listed],
        "chunk_id": [chunk["chunk_id"] for chunk in found["data"]["chunks"]],
    }
    NAMES = asked("/graph/label/list")
    EDGES = [(edge["source"], edge["target"]) for edge in asked("/graphs?label=*&max_nodes=200")["edges"]]
    # Edits to undo, each once or twice. Evaluated once per run of schemathesis.
    for _ in range(20):
        entity = {"entity_name": f"Taken Back {time.time_ns()}", "entity_data": {"description": "A thing."}}
        asked("/graph/entity/create", entity)
    UNDONE = [decision["id"] for decision in asked("/graph/decisions?limit=20")["decisions"]]

    def with_known(fields):
        """Replaces some fields in half of the cases, with equal values for equal fields."""
        if not isinstance(fields, dict):
            return fields
        dice = random.Random(repr(sorted(map(str, fields.items()))))
        if dice.random() < 0.5:
            return fields
        known = {name: dice.choice(KNOWN[name]) for name in fields if name in KNOWN}
        return {**fields, **known}

    @schemathesis.hook
    def map_body(context, body):
        return with_known(body)

    def message(dice):
        """Returns a message of the Model Context Protocol, which the description defines as any JSON."""
        tool, arguments = dice.choice(CALLS)
        method = dice.choice(["tools/call", "tools/list", "ping"])
        params = {"name": tool, "arguments": arguments} if method == "tools/call" else {}
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    def ends(dice, source, target, known):
        """Returns two entities, usually without a relation between them."""
        return dict(zip((source, target), dice.choice(EDGES) if known else dice.sample(NAMES, 2)))

    RELATION = KNOWN["relation_data"][0]
    # Complete bodies for routes where random fields are rarely valid, even if some of them exist.
    BODIES = {
        "/mcp": message,
        "/query/events": lambda dice: {"query": KNOWN["query"][0], "mode": dice.choice(KNOWN["mode"])},
        "/graph/decisions/undo": lambda dice: {"decision": dice.choice(UNDONE)},
        "/graph/entity/create": lambda dice: {
            "entity_name": f"Thing {dice.randrange(10**9)}", "entity_data": KNOWN["entity_data"][0]},
        "/graph/relation/create": lambda dice: {
            **ends(dice, "source_entity", "target_entity", False), "relation_data": RELATION},
        "/graph/relation/edit": lambda dice: {
            **ends(dice, "source_id", "target_id", True), "updated_data": {"description": "Another relation."}},
        "/graph/relation/delete": lambda dice: ends(dice, "source_entity", "target_entity", True),
    }

    def put_file(case, dice):
        """Puts a file with a name into the case, which the description cannot require."""
        boundary = "between-the-parts"
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="note-{dice.randrange(10**9)}.md"'
        case.body = f"{head}\r\n\r\nBraidline is a product.\r\n--{boundary}--\r\n".encode()
        case.headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"

    @schemathesis.hook
    def map_case(context, case):
        """Uses an ordinary request in half of the cases."""
        path, dice = case.operation.path, random.Random(repr((case.body, case.query)))
        if dice.random() < 0.5:
            return case
        if path in BODIES:
            case.body = BODIES[path](dice)
        elif path.startswith("/documents/upload"):
            put_file(case, dice)
        elif path == "/documents/{document_id}/passage":
            case.path_parameters["document_id"] = dice.choice(KNOWN_PATHS["document_id"])
            case.query = {"start": 0, "end": dice.choice([1, 80])}
        else:
            return case
        case.headers.pop("LIGHTRAG-WORKSPACE", None)
        if path == "/mcp":
            case.headers["Accept"] = "application/json, text/event-stream"
        return case

    @schemathesis.hook
    def map_path_parameters(context, parameters):
        dice = random.Random(repr(parameters))
        for name in parameters or {}:
            if name in KNOWN_PATHS and dice.random() < 0.5:
                parameters[name] = dice.choice(KNOWN_PATHS[name])
        return parameters

    @schemathesis.hook
    def map_query(context, query):
        return with_known(query)

    @schemathesis.hook
    def map_headers(context, headers):
        if headers and "LIGHTRAG-WORKSPACE" in headers and random.Random(repr(headers)).random() < 0.8:
            headers["LIGHTRAG-WORKSPACE"] = "default"
        return headers

    @schemathesis.check
    def every_line_is_as_described(context, response, case):
        """Checks each line of JSON lines, which the built-in check skips."""
        kind = response.headers.get("content-type", [""])[0].split(";")[0]
        if kind != "application/x-ndjson":
            return
        content = DOCUMENT["paths"][case.operation.path][case.method.lower()]["responses"]["200"]["content"]
        if content[kind]["schema"] == {"type": "string"}:
            return
        path = case.operation.path.replace("~", "~0").replace("/", "~1")
        at = f"#/paths/{path}/{case.method.lower()}/responses/200/content/application~1x-ndjson/schema"
        validator = jsonschema_rs.Draft202012Validator({**DOCUMENT, "$ref": at})
        for line in response.text.splitlines():
            for error in validator.iter_errors(json.loads(line)):
                raise AssertionError(f"{error.message} in the line {line[:300]}")


if __name__ == "__main__":
    import argparse

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--examples", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.exit(main(os.path.abspath(given.program), given.examples, given.seed))
