"""Compares vectors of a model in Graphloom with those of another program: are they equal, and how much CPU time does a text take?"""
import json
import pathlib
import subprocess
import tempfile

import numpy

ROUNDS = 3


def compare(program, folder, peer, by_peer, texts):
    """Prints a row for each group of texts, measured in turns, and exits. `by_peer` returns the vectors of texts, and CPU seconds."""
    print(f"| texts | tokens of a text | CPU ms of a text, {peer} | Graphloom | share | peak MB | least cosine |")
    print("|---|---|---|---|---|---|---|")
    least = 1.0
    for name, wanted in texts.items():
        theirs, ours = [], []
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            (scratch / "texts").write_text("".join(text + "\n" for text in wanted), encoding="utf-8")
            for _ in range(ROUNDS):
                expected, seconds = by_peer(wanted)
                theirs.append(seconds / len(wanted) * 1e3)
                run = [program, folder, scratch / "texts", scratch / "vectors"]
                report = json.loads(subprocess.run(run, check=True, capture_output=True).stdout)
                ours.append(report["cpu_ms_per_text"])
            vectors = numpy.fromfile(scratch / "vectors", numpy.float32).reshape(len(wanted), -1)
        cosine = float((vectors * expected).sum(1).min())
        least = min(least, cosine)
        tokens = report["tokens"] / len(wanted)
        cells = f"{tokens:.1f} | {min(theirs):.2f} | {min(ours):.2f} | {min(ours) / min(theirs):.2f}"
        print(f"| {name} | {cells} | {report['peak_mb']:.0f} | {cosine:.7f} |")
    raise SystemExit(least < 0.999)
