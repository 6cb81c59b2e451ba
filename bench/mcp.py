"""Drives `graphloom mcp` and a server's /mcp with the official Python client, in each of its connection modes.

    python mcp.py PROGRAM [INSPECTOR]

PROGRAM is a built graphloom, INSPECTOR the command `mcp-inspector` of the npm package @modelcontextprotocol/inspector
(0.15 was used), which then calls /mcp too. Everything happens in a temporary folder. Needs the package `mcp` (2.3 was used).
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version

# This file's folder would shadow the package with the same name.
sys.path = [path for path in sys.path if os.path.abspath(path or ".") != os.path.dirname(os.path.abspath(__file__))]
from mcp import Client, StdioServerParameters  # noqa: E402

STATION = "Tobias Renn succeeded Maren Oskoldt as director of Weir Station in 1995."
READING = ["search", "ask", "get_source", "graph_neighbors"]
ALL = [*READING, "add_document", "forget_document"]
# Connection modes of the client, and the resulting protocol revision.
MODES = {"auto": "2026-07-28", "legacy": "2025-11-25"}


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, (tool, result)
    assert json.loads(result.content[0].text) == result.structured_content, tool
    return result.structured_content


async def check(server, mode, tools):
    async with Client(server, mode=mode) as client:
        assert client.protocol_version == MODES[mode], (mode, client.protocol_version)
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == tools, listed
        for tool in listed:
            reads = tool.name in READING
            assert tool.annotations.read_only_hint is reads and tool.annotations.destructive_hint is not reads, tool
        if tools == ALL:
            added = await call(client, "add_document", name="station.md", text=STATION, replace=True)
            for _ in range(600):
                source = await call(client, "get_source", document=added["documents"][-1])
                if source["status"] == "ready":
                    break
                await asyncio.sleep(0.1)
            assert source["status"] == "ready" and source["text"] == STATION, source
        found = await call(client, "search", query="director of Weir Station", limit=3)
        assert found["passages"][0]["file_path"] == "station.md", found
        answer = await call(client, "ask", question="Who succeeded Maren Oskoldt as director?")
        assert "Tobias Renn" in answer["answer"] and answer["citations"][0]["quote"] == STATION, answer
        around = await call(client, "graph_neighbors", entity="Weir Station")
        assert around["entities"][0]["file_paths"] == ["station.md"], around
        wrong = await client.call_tool("search", {"query": "x", "limit": 0})
        assert wrong.is_error and "from 1 to 50" in wrong.content[0].text, wrong


def check_inspector(inspector, url):
    """The inspector prints the unmodified result."""

    def ask(*arguments):
        command = [inspector, "--cli", url, "--transport", "http", *arguments]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)

    listed = ask("--method", "tools/list")["tools"]
    assert [tool["name"] for tool in listed] == ALL, listed
    named = ["--method", "tools/call", "--tool-name", "search", "--tool-arg"]
    found = ask(*named, "query=director of Weir Station", "limit=3")
    assert found["structuredContent"]["passages"][0]["file_path"] == "station.md", found
    assert ask(*named, "query=x", "limit=0")["isError"], "a wrong argument is told as a result"


async def main(program, inspector=None):
    with tempfile.TemporaryDirectory() as folder:
        data = ["--data-dir", os.path.join(folder, "data")]
        for mode in MODES:
            await check(StdioServerParameters(command=program, args=[*data, "mcp"]), mode, ALL)
            await check(StdioServerParameters(command=program, args=[*data, "mcp", "--read-only"]), mode, READING)
        serving = subprocess.Popen(
            [program, *data, "--json", "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            url = json.loads(serving.stdout.readline())["url"]
            for mode in MODES:
                await check(f"{url}/mcp", mode, ALL)
                await check(f"{url}/w/other/mcp", mode, ALL)
            if inspector:
                check_inspector(inspector, f"{url}/mcp")
        finally:
            serving.terminate()
            serving.wait(30)
    print(f"mcp {version('mcp')}: 8 connections, {len(MODES)} revisions, nothing unexpected")
    print(f"mcp inspector: {'nothing unexpected' if inspector else 'left out'}")


asyncio.run(main(*sys.argv[1:3]))
