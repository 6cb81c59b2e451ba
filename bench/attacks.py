#!/usr/bin/env python3
"""Measures a server under attack: how much slower are ordinary requests, and which are rejected?

    bench/attacks.py PROGRAM [--seconds N] [--rate N] [--rounds N] [--only NAME,...] [--json FILE]

Each attack runs against several servers, one per round, with keys and the same documents. Ordinary requests of one key are sent at a
fixed rate, first alone and then during the attack: questions, searches, reads, and one in twenty adds a text. Latency counts from
when a request was due. A trusted proxy on loopback presents the attackers as other machines: with a key of another workspace, or
without a key from 100 addresses. Attackers run at the lowest priority, because real ones run on other machines.

Other programs also use the machine, so a figure is the median of its rounds, and the rounds of all attacks alternate. A ratio compares
the two phases of one round, which are seconds apart. The share of processor time used by other programs or taken by the machine's host
(steal) is reported too: if it is large, the figures mean little. Attacks:

    uploads     64 uploads that stop after their first line
    questions   64 questions of one key that stop after their first byte
    logins      200 logins without a credential that stop after their first byte, from all addresses
    passwords   wrong passwords as fast as they are answered, from all addresses
    tables      4 at a time: tables with 50,000 columns, and with 20,000 rows whose cells are all names
    attributes  4 at a time: HTML with 600,000 attributes
    pages       4 at a time: PDF files of 0.2 MB whose page is 80 MB
    archives    4 at a time: Word files that unpack to 900 MB
    overload    128 questions at a time from another key on this machine that is allowed to ask them
"""
from __future__ import annotations

import argparse
import asyncio
import collections
import io
import json
import multiprocessing
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zipfile
import zlib

sys.dont_write_bytecode = True
from large import MIB, resident, sentence  # noqa: E402

# Options.
MAX_RATIO = 3
TICKS = os.sysconf("SC_CLK_TCK")
DOCUMENTS = 60
READY_LIMIT_S, REQUEST_LIMIT_S = 60, 60
# Mix of the ordinary requests, out of 20.
SHARES = ["question"] * 9 + ["search"] * 4 + ["look"] * 6 + ["write"]
HOST = "127.0.0.1"
# Addresses of the attackers in the headers of the trusted proxy: with a key, and without one.
ATTACKER = "198.51.100.7"
STRANGERS = [f"203.0.113.{n}" for n in range(1, 101)]


# -- requests ---------------------------------------------------------------------------------------------------------------


def head(source: str, method: str, path: str, length: int, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", f"Content-Length: {length}", f"X-Forwarded-For: {source}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def with_json(method: str, path: str, body: dict, key: str) -> bytes:
    data = json.dumps(body).encode()
    return head(HOST, method, path, len(data), "Content-Type: application/json", f"X-API-Key: {key}") + data


def upload(name: str, content: bytes, key: str) -> bytes:
    before = f'--edge\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    body = before + content + b"\r\n--edge--\r\n"
    kind = "Content-Type: multipart/form-data; boundary=edge"
    return head(ATTACKER, "POST", "/w/theirs/documents/upload", len(body), kind, f"X-API-Key: {key}") + body


async def answer(reader: asyncio.StreamReader) -> int:
    """Reads the next response to its end and returns its status."""
    response_head = await reader.readuntil(b"\r\n\r\n")
    lines = response_head.decode("latin-1").lower().split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    if "content-length" in fields:
        await reader.readexactly(int(fields["content-length"]))
    elif fields.get("transfer-encoding") == "chunked":
        while size := int((await reader.readline()).strip() or b"0", 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    return int(lines[0].split(" ")[1])


# -- ordinary requests ------------------------------------------------------------------------------------------------------


class Ordinary:
    """Sends requests of one key at a fixed rate, on as many connections as they need."""

    def __init__(self, port: int, key: str, seed: int):
        self.port, self.key, self.rng = port, key, random.Random(seed)
        self.idle, self.rows = [], []

    def request(self, number: int) -> tuple[str, bytes]:
        kind = SHARES[number % len(SHARES)]
        words = sentence(self.rng)
        match kind:
            case "question":
                return kind, with_json("POST", "/query/data", {"query": f"Who told about {words}?", "mode": "mix"}, self.key)
            case "search":
                return kind, with_json("POST", "/search", {"query": words}, self.key)
            case "look":
                return kind, head(HOST, "GET", "/documents/status_counts", 0, f"X-API-Key: {self.key}")
            case _:
                body = {"text": words, "file_source": f"ordinary-{self.rng.getrandbits(64)}.md"}
                return kind, with_json("POST", "/documents/text", body, self.key)

    async def one(self, number: int, due: float) -> None:
        kind, request = self.request(number)
        try:
            async with asyncio.timeout(REQUEST_LIMIT_S):
                reader, writer = self.idle.pop() if self.idle else await asyncio.open_connection(HOST, self.port)
                writer.write(request)
                status = await answer(reader)
                self.idle.append((reader, writer))
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            status = type(error).__name__
        self.rows.append((kind, status, 1000 * (asyncio.get_running_loop().time() - due)))

    async def run(self, rate: float, seconds: float) -> list:
        loop = asyncio.get_running_loop()
        start = loop.time()
        async with asyncio.TaskGroup() as group:
            for number in range(int(rate * seconds)):
                due = start + number / rate
                await asyncio.sleep(max(0, due - loop.time()))
                group.create_task(self.one(number, due))
        return self.rows


def ordinary(port: int, key: str, seed: int, rate: float, seconds: float, results) -> None:
    results.put(asyncio.run(Ordinary(port, key, seed).run(rate, seconds)))


def measured(port: int, key: str, seed: int, rate: float, seconds: float) -> list:
    """Runs in a separate process, so that attackers and memory measurements do not slow it down."""
    results = multiprocessing.Queue()
    process = multiprocessing.Process(target=ordinary, args=(port, key, seed, rate, seconds, results))
    process.start()
    rows = results.get(timeout=seconds + 2 * REQUEST_LIMIT_S)
    process.join()
    return rows


# -- attacks ----------------------------------------------------------------------------------------------------------------


def wide(number: int) -> tuple[str, bytes]:
    if number % 2:
        rows = "".join(f"Person{n} Smith,Firm{n} Inc,Town{n},+1 555 {n:07},p{n}@firm{n}.example\n" for n in range(20_000))
        return f"people-{number}.csv", f"name,company,city,phone,mail{number}\n{rows}".encode()
    columns = ",".join(f"column{n}" for n in range(50_000))
    cells = ",".join(f"Cell{n}of{number}" for n in range(50_000))
    return f"wide-{number}.csv", f"{columns}\n{cells}\n".encode()


def attributes(number: int) -> tuple[str, bytes]:
    marks = " ".join(f"y{n}=1" for n in range(600_000))
    return f"attributes-{number}.html", f"<p {marks}>text {number}</p>".encode()


def pages(number: int) -> tuple[str, bytes]:
    content = zlib.compress(b"BT /F1 12 Tf (word) Tj ET\n" * (80 * MIB // 26), 9)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d/Filter/FlateDecode>>\nstream\n%s\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, places = bytearray(b"%%PDF-1.4\n%%%d\n" % number), []
    for n, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (n, one)
    at = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, at)
    return f"pages-{number}.pdf", bytes(out)


def archives(number: int) -> tuple[str, bytes]:
    text = b"<w:p><w:r><w:t>word</w:t></w:r></w:p>" * (MIB // 37)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("word/document.xml", "w", force_zip64=True) as member:
            member.write(b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>')
            for _ in range(900):
                member.write(text)
            member.write(b"</w:body></w:document>")
        archive.comment = str(number).encode()
    return f"archive-{number}.docx", packed.getvalue()


async def stall(port: int, begin: bytes, statuses: collections.Counter) -> None:
    """Repeatedly starts a request and waits for its outcome."""
    while True:
        writer = None
        try:
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(begin)
            statuses[await answer(reader)] += 1
        except (OSError, asyncio.IncompleteReadError):
            statuses["closed"] += 1
        finally:
            if writer:
                writer.close()
        await asyncio.sleep(0.05)


async def repeat(port: int, make, statuses: collections.Counter) -> None:
    """Sends complete requests, each after the response to the previous one."""
    while True:
        writer = None
        try:
            request = make()
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(request)
            await writer.drain()
            statuses[await answer(reader)] += 1
        except (OSError, asyncio.IncompleteReadError):
            statuses["closed"] += 1
        finally:
            if writer:
                writer.close()
        # A rejected attacker retries after a pause, so that the attack loads the server rather than its own processor.
        await asyncio.sleep(0.05)


def attackers(name: str, port: int, keys: dict, files: list) -> list:
    """Returns attacking coroutines with a shared counter."""
    form = "Content-Type: application/x-www-form-urlencoded"
    as_json = "Content-Type: application/json"
    match name:
        case "uploads":
            kind = "Content-Type: multipart/form-data; boundary=edge"
            begin = head(ATTACKER, "POST", "/w/theirs/documents/upload", 10 * MIB, kind, f"X-API-Key: {keys['writer']}") + b"--edge\r\n"
            return [lambda counter: stall(port, begin, counter)] * 64
        case "questions":
            begin = head(ATTACKER, "POST", "/w/theirs/query", 100, as_json, f"X-API-Key: {keys['reader']}") + b"{"
            return [lambda counter: stall(port, begin, counter)] * 64
        case "logins":
            begins = [head(source, "POST", "/login", 100, form) + b"u" for source in STRANGERS * 2]
            return [lambda counter, begin=begin: stall(port, begin, counter) for begin in begins]
        case "passwords":
            body = b"username=ada&password=guessed-once-more"
            wholes = [head(source, "POST", "/login", len(body), form) + body for source in STRANGERS]
            return [lambda counter, whole=whole: repeat(port, lambda: whole, counter) for whole in wholes]
        case "overload":
            rng = random.Random(1)
            ask = lambda: {"query": f"Who told about {sentence(rng)}?", "mode": "mix"}  # noqa: E731
            send = lambda: with_json("POST", "/query/data", ask(), keys["busy"])  # noqa: E731
            return [lambda counter: repeat(port, send, counter)] * 128
        case _:
            turn = iter(range(1_000_000))

            def send() -> bytes:
                number = next(turn)
                # Each has a unique name; the content differs only slightly and is generated once.
                title, content = files[number % len(files)]
                return upload(f"{number}-{title}", content, keys["writer"])

            return [lambda counter: repeat(port, send, counter)] * 4


FILES = {"tables": wide, "attributes": attributes, "pages": pages, "archives": archives}
ATTACKS = ["uploads", "questions", "logins", "passwords", *FILES, "overload"]


async def attacked(name: str, port: int, keys: dict, files: list, seconds: float) -> dict:
    counter: collections.Counter = collections.Counter()
    tasks = [asyncio.create_task(attack(counter)) for attack in attackers(name, port, keys, files)]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return dict(counter)


def attack(name: str, port: int, keys: dict, files: list, seconds: float, results) -> None:
    os.nice(19)
    results.put(asyncio.run(attacked(name, port, keys, files, seconds)))


# -- the server -------------------------------------------------------------------------------------------------------------


class Serving:
    """A server on a copy of the prepared folder."""

    def __init__(self, program: str, prepared: str, folder: str):
        shutil.copytree(prepared, folder)
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port = free.getsockname()[1]
        command = [program, "--data-dir", f"{folder}/data", "serve", "--port", str(self.port), "--trusted-proxy", HOST]
        with open(f"{folder}/serve.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        self.wait_ready()
        self.peak, self.ended = 0, threading.Event()
        self.watching = threading.Thread(target=self.watch)
        self.watching.start()

    def wait_ready(self) -> None:
        until = time.monotonic() + READY_LIMIT_S
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"http://{HOST}:{self.port}/readyz", timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.process.kill()
        sys.exit("the server is not ready")

    def watch(self) -> None:
        while not self.ended.wait(0.1):
            self.peak = max(self.peak, resident(self.process.pid))

    def close(self) -> float:
        """Stops the server; returns the seconds until it stopped."""
        self.ended.set()
        self.watching.join()
        began = time.monotonic()
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return time.monotonic() - began


def prepare(program: str, folder: str) -> dict:
    """Creates documents, keys for both sides, and a user; returns the keys by name."""
    rng = random.Random(7)
    os.makedirs(f"{folder}/docs")
    for number in range(DOCUMENTS):
        with open(f"{folder}/docs/{number}.md", "w", encoding="utf-8") as file:
            file.write("\n\n".join(" ".join(sentence(rng) for _ in range(3)) for _ in range(3)))
    run = lambda *arguments: subprocess.run(  # noqa: E731
        [program, "--data-dir", f"{folder}/data", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    run("-q", "add", "docs")
    shutil.rmtree(f"{folder}/docs")
    run("user", "add", "ada", "--right", "read")
    made = {}
    sides = [("ours", "write", "default"), ("busy", "read", "default"), ("writer", "write", "theirs"), ("reader", "read", "theirs")]
    for name, right, workspace in sides:
        made[name] = json.loads(run("--json", "key", "create", name, "--right", right, "--only", workspace))["key"]
    return made


# -- figures ----------------------------------------------------------------------------------------------------------------


def share(values: list, of: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(of * len(ordered)))] if ordered else float("inf")


def figures(rows: list) -> dict:
    well = [ms for _, status, ms in rows if status == 200]
    statuses = collections.Counter(str(status) for _, status, _ in rows)
    kinds = {kind: share([ms for of, status, ms in rows if of == kind and status == 200], 0.99) for kind in sorted(set(SHARES))}
    return {"p50": share(well, 0.5), "p99": share(well, 0.99), "statuses": dict(statuses), "p99_of": kinds, "requests": len(rows)}


def counts(statuses: dict) -> str:
    return ", ".join(f"{statuses[status]} x {status}" for status in sorted(statuses, key=str)) or "none answered"


class Machine:
    """Use of the processors in a phase, other than by the server and this program."""

    def __init__(self, pid: int):
        self.pid = pid
        self.began = (*self.all(), self.ours())

    @staticmethod
    def all() -> tuple[int, int, int]:
        """Returns ticks: all, busy, and taken by the host."""
        with open("/proc/stat", encoding="ascii") as stat:
            user, nice, system, idle, waiting, interrupts, soft, steal = map(int, stat.readline().split()[1:9])
        busy = user + nice + system + interrupts + soft
        return busy + idle + waiting + steal, busy, steal

    def ours(self) -> float:
        """Returns the ticks of this program and of the server, including their child processes that ended."""
        mine = sum(os.times()[:4]) * TICKS
        below = sum(cpu_ticks(child.pid) for child in multiprocessing.active_children())
        return mine + below + cpu_ticks(self.pid)

    def shares(self) -> tuple[float, float]:
        """Returns the shares of the processors that other programs used and that the host took."""
        total, busy, steal = (now - before for now, before in zip(self.all(), self.began))
        others = busy - (self.ours() - self.began[3])
        return max(0, others) / max(1, total), steal / max(1, total)


def cpu_ticks(pid: int) -> int:
    """Returns the ticks of a process, of children that it waited for, and of descendants that still run."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            ticks = sum(int(field) for field in stat.read().rpartition(")")[2].split()[11:15])
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as children:
                ticks += sum(cpu_ticks(int(child)) for child in children.read().split())
        return ticks
    except (FileNotFoundError, ProcessLookupError):
        return 0


def round_of(name: str, program: str, keys: dict, work: str, seed: int, seconds: float, rate: float) -> dict:
    """Measures one server, first alone and then under attack."""
    files = [FILES[name](number) for number in range(2)] if name in FILES else []
    serving = Serving(program, f"{work}/prepared", f"{work}/{name}")
    measured(serving.port, keys["ours"], seed, rate, 2)
    machine = Machine(serving.process.pid)
    alone = measured(serving.port, keys["ours"], 1000 + seed, rate, seconds)
    others_alone = machine.shares()
    before, serving.peak = serving.peak, 0
    results = multiprocessing.Queue()
    process = multiprocessing.Process(target=attack, args=(name, serving.port, keys, files, seconds + 2, results))
    process.start()
    time.sleep(1)
    machine = Machine(serving.process.pid)
    rows = measured(serving.port, keys["ours"], 2000 + seed, rate, seconds)
    others = machine.shares()
    statuses = results.get(timeout=seconds + READY_LIMIT_S)
    process.join()
    peak, stop_s = serving.peak, serving.close()
    shutil.rmtree(f"{work}/{name}")
    alone, under = figures(alone), figures(rows)
    print(
        f"{name}: p99 {alone['p99']:.0f} ms alone ({100 * others_alone[0]:.0f}% others, {100 * others_alone[1]:.0f}% steal), "
        f"{under['p99']:.0f} ms attacked ({100 * others[0]:.0f}% others, {100 * others[1]:.0f}% steal); "
        + ", ".join(f"{kind} {alone['p99_of'][kind]:.0f} to {under['p99_of'][kind]:.0f}" for kind in under["p99_of"]),
        file=sys.stderr,
    )
    noise = {"others": max(others_alone[0], others[0]), "steal": max(others_alone[1], others[1])}
    memory = {"peak_mb": peak / 1e6, "before_mb": before / 1e6}
    return {"alone": alone, "under": under, "attackers": statuses, **memory, "stop_s": stop_s, **noise}


def summed(of: list[dict]) -> dict:
    total: collections.Counter = collections.Counter()
    for one in of:
        total.update(one)
    return dict(total)


def row(name: str, rounds: list[dict]) -> bool:
    """Prints the medians of an attack's rounds; returns whether the server stayed within the limits."""
    median = lambda value: statistics.median(value(one) for one in rounds)  # noqa: E731
    ratios = sorted(one["under"]["p99"] / one["alone"]["p99"] for one in rounds)
    ratio = statistics.median(ratios)
    answers = summed([one["under"]["statuses"] for one in rounds])
    is_held = ratio <= MAX_RATIO and set(answers) == {"200"}
    print(
        f"| {name} | {median(lambda one: one['alone']['p50']):.1f}, {median(lambda one: one['alone']['p99']):.1f} ms "
        f"| {median(lambda one: one['under']['p50']):.1f}, {median(lambda one: one['under']['p99']):.1f} ms "
        f"| {ratio:.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f}){'' if is_held else ' **too much**'} | {counts(answers)} "
        f"| {counts(summed([one['attackers'] for one in rounds]))} "
        f"| {median(lambda one: one['before_mb']):.0f} to {max(one['peak_mb'] for one in rounds):.0f} MB "
        f"| {max(one['stop_s'] for one in rounds):.1f} s "
        f"| {100 * median(lambda one: one['others']):.0f}%, {100 * median(lambda one: one['steal']):.0f}% |"
    )
    return is_held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rate", type=float, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(ATTACKS))
    parser.add_argument("--json")
    arguments = parser.parse_args()
    program, names = os.path.abspath(arguments.program), arguments.only.split(",")
    if unknown := set(names) - set(ATTACKS):
        sys.exit(f"no attacks {', '.join(sorted(unknown))}")
    rounds: dict[str, list] = {name: [] for name in names}
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start", file=sys.stderr)
    with tempfile.TemporaryDirectory() as work:
        keys = prepare(program, f"{work}/prepared")
        for turn in range(arguments.rounds):
            for number, name in enumerate(names):
                seed = turn * len(names) + number
                rounds[name].append(round_of(name, program, keys, work, seed, arguments.seconds, arguments.rate))
    print("| attack | p50, p99 alone | p50, p99 attacked | times the p99 (of the rounds) | their answers | answers to the attackers | memory | stops in | others, steal |")
    print("|---|---|---|---|---|---|---|---|---|")
    held = [row(name, rounds[name]) for name in names]
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rounds, file, indent=1)
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
