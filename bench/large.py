"""Large and odd documents: how much memory, time and disk does each take, and is the time linear in its size?

usage: large.py PROGRAM [--sizes 12,24,49] [--only NAME,...] [--port PORT] [PATH...]

Each document is generated from a fixed seed and added to a new workspace by PROGRAM. Memory is that of the program and its
readers together, sampled 20 times per second. At the end a server indexes one document of every kind and is measured when it
is idle: resident memory, its own part (RssAnon), the part that the system can take back and read again from files (RssFile), and
the processor time of 30 idle seconds. Names for --only: markdown, html, csv, json, odd or one of the odd documents, server, paths.
Each PATH, a file or a folder, is measured as one more document; its store is everything in the data folder, and its text is the
output of the readers.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

MIB = 1 << 20
SEED = 7
# Idle time of a server before its memory is measured.
REST_S = 30
WORDS = ("station harbour pump valve inspector report engine river winter signal tower bridge survey copper ledger "
         "captain market engineer garden copper glass quarter meeting water measure north street company").split()
NAMES = "Ada Lovelace,Grace Hopper,Alan Turing,Mary Somerville,Kurt Goedel,Emmy Noether,Niels Bohr,Lise Meitner".split(",")
PLACES = "Kelm,Oslo,Trieste,Leiden,Uppsala,Porto,Bergen,Graz".split(",")


def sentence(rng):
    words = " ".join(rng.choice(WORDS) for _ in range(rng.randint(6, 14)))
    return f"{rng.choice(NAMES)} {rng.randint(1, 9999)} told {rng.choice(PLACES)} that the {words}."


def fill(size, piece):
    """Joins pieces until they have `size` bytes."""
    parts, length = [], 0
    while length < size:
        part = piece(len(parts))
        parts.append(part)
        length += len(part)
    return "".join(parts)


def markdown(size):
    rng = random.Random(SEED)

    def section(number):
        text = " ".join(sentence(rng) for _ in range(8))
        return f"## Section {number}\n\n{text}\n\n"

    return "big.md", fill(size, section)


def html(size):
    rng = random.Random(SEED)

    def section(number):
        text = " ".join(sentence(rng) for _ in range(8))
        return f"<h2>Section {number}</h2>\n<p class=\"text\">{text}</p>\n"

    return "big.html", "<html><body>\n" + fill(size - 40, section) + "</body></html>\n"


def table(size):
    rng = random.Random(SEED)

    def row(number):
        return f"{rng.choice(NAMES)} {number},{rng.choice(WORDS)} company {number},{rng.choice(PLACES)},+47 {rng.randint(10**7, 10**8)}\n"

    return "big.csv", "name,company,city,phone\n" + fill(size - 30, row)


def values(size):
    rng = random.Random(SEED)

    def item(number):
        record = {"id": number, "name": rng.choice(NAMES), "place": rng.choice(PLACES), "text": sentence(rng)}
        return (",\n" if number else "") + json.dumps(record)

    return "big.json", "[\n" + fill(size - 10, item) + "\n]\n"


def odd(_):
    """Documents that once took gigabytes or minutes, each of at most 50 MiB."""
    wide = ",".join(f"column{n}" for n in range(200_000)) + "\n" + ",".join(f"Cell{n}" for n in range(200_000)) + "\n"
    people = "".join(f"Person{n} Smith,Firm{n} Inc,Town{n},+1 555 {n:07},p{n}@firm{n}.example\n" for n in range(20_000))
    return [
        ("wide.csv", wide),
        ("people.csv", "name,company,city,phone,mail\n" + people),
        ("headings.md", "# A\n" * 700_000),
        ("many_headings.md", "# A\n" * (10 * MIB // 4)),
        ("empty_lines.txt", "word\n" + "\n" * (49 * MIB)),
        ("short_lines.txt", "1\n" * (24 * MIB)),
        ("attributes.html", "<p " + " ".join(f"y{n}=1" for n in range(600_000)) + ">text</p>"),
        ("cells.html", "<table>" + "<tr><td>1<td>2</tr>" * 300_000 + "</table>"),
        ("one_line.txt", "word " * (5 * MIB)),
        ("one_word.txt", "a" * (5 * MIB)),
    ]


KINDS = {"markdown": markdown, "html": html, "csv": table, "json": values}


def resident(pid):
    """Returns the resident bytes of a process and its descendants."""
    total, below = 0, [pid]
    while below:
        one = below.pop()
        try:
            with open(f"/proc/{one}/statm") as statm:
                total += int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children") as children:
                    below += [int(child) for child in children.read().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total


def resident_kinds(pid):
    """Returns the resident bytes of one process: all, anonymous, and file-backed."""
    with open(f"/proc/{pid}/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    anonymous, of_files = (int(fields[name].split()[0]) << 10 for name in ("RssAnon", "RssFile"))
    return int(fields["VmRSS"].split()[0]) << 10, anonymous, of_files


def formatted(kinds):
    everything, anonymous, of_files = (kind / MIB for kind in kinds)
    return f"{everything:.0f} MiB (own {anonymous:.0f}, of files {of_files:.0f})"


def processor_s(pid):
    """Returns the processor seconds of a process so far."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stored(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def run(program, arguments, folder):
    """Runs a command; returns its peak resident bytes, seconds, exit code and output."""
    command = [program, "--data-dir", folder, "--json", *arguments]
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.05)
        seconds = time.monotonic() - began
        output.seek(0)
        text = output.read()
    return peak, seconds, process.returncode, text


def remarks(text):
    found = []
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event.get("event") == "source":
            found += event.get("remarks", [])
            found += [event["reason"]] if event.get("outcome") == "refused" else []
    return "; ".join(found)


def text_bytes(program, folder):
    """Returns the bytes of the texts of all documents, from the dump."""
    dump = [program, "--data-dir", folder, "dump"]
    with subprocess.Popen(dump, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        rows = (json.loads(line) for line in process.stdout if b'"kind":"document"' in line)
        return sum(row["text_bytes"] for row in rows if row["kind"] == "document")


def measure(program, name, text, work):
    path = os.path.join(work, name)
    with open(path, "w") as file:
        file.write(text)
    measured = measure_path(program, name, path, work)
    os.remove(path)
    return measured


def measure_path(program, name, path, work):
    folder = os.path.join(work, "data")
    size = stored(path) if os.path.isdir(path) else os.path.getsize(path)
    accept = run(program, ["add", "--no-wait", path], folder)
    index = run(program, ["work"], folder)
    peak, seconds = max(accept[0], index[0]), accept[1] + index[1]
    disk, text = stored(folder), text_bytes(program, folder)
    times = f"{disk / text:.1f}" if text else "-"
    print(f"| {name} | {size / MIB:.2f} | {accept[0] / MIB:.0f} | {index[0] / MIB:.0f} | {accept[1]:.1f} | {index[1]:.1f} "
          f"| {seconds / (size / MIB):.2f} | {disk / MIB:.0f} | {times} | {accept[2]}, {index[2]} | {remarks(accept[3])} |", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    return peak, seconds


def post(url, body, content_type):
    request = urllib.request.Request(url, body, {"Content-Type": content_type})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def idle(program, size, work, port):
    """Measures the memory of a server before, at its peak during, and after indexing one document of every kind."""
    folder = os.path.join(work, "served")
    server = subprocess.Popen([program, "--data-dir", folder, "--set", f"port={port}", "serve"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(address + "/livez", timeout=5).close()
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        peak, before = resident(server.pid), resident_kinds(server.pid)
        for make in KINDS.values():
            name, text = make(size)
            bound = "large-documents-bound"
            body = (f"--{bound}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n".encode()
                    + text.encode() + f"\r\n--{bound}--\r\n".encode())
            post(address + "/documents/upload", body, f"multipart/form-data; boundary={bound}")
            peak = max(peak, resident(server.pid))
        while True:
            with urllib.request.urlopen(address + "/documents/pipeline_status", timeout=60) as answer:
                busy = json.load(answer)["busy"]
            with urllib.request.urlopen(address + "/documents/status_counts", timeout=60) as answer:
                counts = json.load(answer)["status_counts"]
            peak = max(peak, resident(server.pid))
            if not busy and counts.get("processed", 0) >= len(KINDS):
                break
            time.sleep(0.2)
        done = resident_kinds(server.pid)
        time.sleep(REST_S)
        after, used = resident_kinds(server.pid), processor_s(server.pid)
        time.sleep(REST_S)
        idle_s = processor_s(server.pid) - used
    finally:
        server.send_signal(signal.SIGTERM)
        began = time.monotonic()
        server.wait(timeout=120)
    print(f"server: {formatted(before)} before, {peak / MIB:.0f} MiB at most, {formatted(done)} when {len(KINDS)} documents of "
          f"{size / MIB:.1f} MiB were done, {formatted(after)} {REST_S} s later; {idle_s:.2f} s of processor time in the next {REST_S} s; "
          f"ended {time.monotonic() - began:.1f} s after SIGTERM", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--sizes", default="12,24,49")
    parser.add_argument("--only", default="")
    parser.add_argument("--port", type=int, default=9690)
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    sizes = [float(size) for size in options.sizes.split(",") if size]
    only = [name for name in options.only.split(",") if name]
    wanted = lambda name: not only or name in only
    work = tempfile.mkdtemp(prefix="graphloom-large-")
    print("| document | MiB | accepting: MiB of memory | indexing: MiB of memory | accepting s | indexing s | s for each MiB | store MiB | store / text | exits | remarks |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    try:
        for kind, make in KINDS.items():
            if not wanted(kind):
                continue
            pace = []
            for size in sizes:
                name, text = make(int(size * MIB))
                pace.append(measure(options.program, name, text, work)[1] / size)
            if len(pace) > 1:
                print(f"{kind}: {pace[-1] / pace[0]:.2f} times the seconds for each MiB at {sizes[-1]} MiB than at {sizes[0]}", flush=True)
        for name, text in odd(None):
            if wanted(name) or wanted("odd"):
                measure(options.program, name, text, work)
        for path in options.paths:
            if wanted("paths"):
                measure_path(options.program, os.path.basename(path.rstrip("/")), path, work)
        if wanted("server"):
            idle(options.program, int(sizes[0] * MIB), work, options.port)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
