"""Drives a server with the official Python clients of OpenAI and Ollama.

    python clients.py PROGRAM

PROGRAM is a built graphloom. Everything happens in a temporary folder. Needs the packages `openai` and `ollama`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from importlib.metadata import version

import ollama
import openai

STATION = "Tobias Renn succeeded Maren Oskoldt as director of Weir Station in 1995."
ASKED = [{"role": "user", "content": "Who succeeded Maren Oskoldt as director?"}]
MODEL = "default:auto"


def add(url, key):
    body = json.dumps({"text": STATION, "file_source": "station.md"}).encode()
    headers = {"content-type": "application/json", "x-api-key": key}
    urllib.request.urlopen(urllib.request.Request(f"{url}/documents/text", body, headers))
    counts = urllib.request.Request(f"{url}/documents/status_counts", headers=headers)
    for _ in range(600):
        if json.load(urllib.request.urlopen(counts))["status_counts"].get("processed"):
            return
        time.sleep(0.1)
    raise SystemExit("the document is not indexed after a minute")


def refused(error, call, **arguments):
    try:
        call(**arguments)
    except error as refusal:
        return refusal
    raise AssertionError(f"not refused: {arguments}")


def check_openai(url, key):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
    assert MODEL in [model.id for model in client.models.list()]
    answer = client.chat.completions.create(model=MODEL, messages=ASKED)
    message = answer.choices[0].message
    assert "Tobias Renn" in message.content and message.annotations, answer
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    stream = client.chat.completions.create(
        model=MODEL, messages=ASKED, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert streamed == message.content, (streamed, message.content)
    assert chunks[-1].usage is not None, chunks[-1]
    vectors = client.embeddings.create(model=MODEL, input=["a weir", "a station"], encoding_format="float").data
    assert [vector.index for vector in vectors] == [0, 1] and len(vectors[0].embedding) > 100
    check_responses(client, message.content)
    check_completions(client, message.content)
    cut = client.chat.completions.create(model=MODEL, messages=ASKED, max_tokens=3).choices[0]
    assert cut.finish_reason == "length" and len(cut.message.content) < 30, cut
    stopped = client.chat.completions.create(model=MODEL, messages=ASKED, stop=[" succeeded"]).choices[0]
    assert stopped.finish_reason == "stop" and stopped.message.content == "Tobias Renn", stopped
    unknown = refused(openai.NotFoundError, client.chat.completions.create, model="nowhere:auto", messages=ASKED)
    stranger = openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0)
    refused(openai.AuthenticationError, stranger.models.list)
    assert "nowhere" in str(unknown) and unknown.type == "invalid_request_error", unknown


def check_responses(client, expected):
    response = client.responses.create(model=MODEL, input=ASKED[0]["content"])
    assert response.output_text == expected and response.status == "completed", response
    annotation = response.output[0].content[0].annotations[0]
    assert annotation.type == "url_citation" and annotation.title == "station.md", annotation
    messages = [{"role": "developer", "content": "Be brief."}, *ASKED]
    assert client.responses.create(model=MODEL, input=messages, store=False).output_text == expected
    streamed, names = "", []
    for event in client.responses.create(model=MODEL, input=ASKED, stream=True):
        assert event.sequence_number == len(names), event
        names.append(event.type)
        streamed += event.delta if event.type == "response.output_text.delta" else ""
    assert streamed == expected and names[0] == "response.created" and names[-1] == "response.completed", names
    with client.responses.stream(model=MODEL, input=ASKED) as stream:
        assert stream.until_done().get_final_response().output_text == expected
    short = client.responses.create(model=MODEL, input=ASKED, max_output_tokens=3)
    assert short.status == "incomplete" and short.incomplete_details.reason == "max_output_tokens", short
    tool = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
    for extra in ({"tools": [tool]}, {"previous_response_id": "resp_1"}, {"store": True}):
        why = refused(openai.UnprocessableEntityError, client.responses.create, model=MODEL, input=ASKED, **extra)
        assert next(iter(extra)) in str(why), why


def check_completions(client, expected):
    question = ASKED[0]["content"]
    choice = client.completions.create(model=MODEL, prompt=question).choices[0]
    assert (choice.text, choice.finish_reason) == (expected, "stop"), choice
    pieces = list(client.completions.create(model=MODEL, prompt=question, stream=True))
    assert "".join(piece.choices[0].text for piece in pieces) == expected
    assert client.completions.create(model=MODEL, prompt=question, max_tokens=3).choices[0].finish_reason == "length"
    refused(openai.UnprocessableEntityError, client.completions.create, model=MODEL, prompt=question, echo=True)


def check_ollama(url, key):
    client = ollama.Client(host=url, headers={"Authorization": f"Bearer {key}"})
    assert MODEL in [model.model for model in client.list().models]
    assert client.show(MODEL) and client.ps() is not None
    answer = client.chat(model=MODEL, messages=ASKED)
    assert "Tobias Renn" in answer.message.content and answer.done, answer
    parts = list(client.chat(model=MODEL, messages=ASKED, stream=True))
    assert "".join(part.message.content or "" for part in parts) == answer.message.content and parts[-1].done
    local = [{"role": "user", "content": "/local Who succeeded Maren Oskoldt as director?"}]
    assert "Tobias Renn" in client.chat(model=MODEL, messages=local).message.content
    vectors = client.embed(model=MODEL, input=["a weir", "a station"]).embeddings
    assert len(vectors) == 2 and client.embeddings(model=MODEL, prompt="a weir").embedding == vectors[0]
    short = client.chat(model=MODEL, messages=ASKED, options={"num_predict": 3})
    assert short.done_reason == "length", short
    stranger = ollama.Client(host=url, headers={"Authorization": "Bearer wrong"})
    assert refused(ollama.ResponseError, stranger.list).status_code == 401


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        data = ["--data-dir", os.path.join(folder, "data")]
        key = subprocess.run([program, *data, "--json", "key", "create", "clients", "--right", "write"],
                             check=True, capture_output=True, text=True)
        key = json.loads(key.stdout)["key"]
        serving = subprocess.Popen([program, *data, "--json", "serve", "--port", "0"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            url = json.loads(serving.stdout.readline())["url"]
            add(url, key)
            check_openai(url, key)
            check_ollama(url, key)
        finally:
            serving.terminate()
            serving.wait(30)
    print(f"openai {version('openai')}, ollama {version('ollama')}: nothing unexpected")


main(sys.argv[1])
