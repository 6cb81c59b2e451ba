#!/usr/bin/env python3
"""Draws docs/images/demo.svg, the terminal of README.md, from the output of graphloom.

    scripts/picture.py [GRAPHLOOM]      the program; by default target/debug/graphloom

Runs in a temporary folder with a copy of samples/, without models and without the user's configuration. The same output
gives the same picture.
"""

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 92
COMMANDS = [
    ["add", "samples/lab"],
    ["ask", "How much did the recall of the Hearthmoth cost?"],
    ["ask", "Who built the instrument that the Hearthmoth grew out of?"],
    ["ask", "Who was the first customer of Braidline?"],
]
# Lines left out of the picture: progress, which depends on the speed of the machine, and the hint for the next command.
LEFT_OUT = ("indexing: ", "Next: ")
# Pixels.
CHARACTER, LINE, SIZE, MARGIN, BAR = 7.8, 19, 13, 16, 30
COLORS = {"plain": "#d8dee9", "prompt": "#a3be8c", "number": "#88c0d0", "command": "#eceff4"}


def run(program: Path, folder: Path, arguments: list[str]) -> list[str]:
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "COLUMNS": str(COLUMNS), "FORCE_HYPERLINK": "0"}
    ran = subprocess.run(
        [program, "--color", "always", *arguments],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
    )
    return [line for line in ran.stdout.decode().rstrip("\n").split("\n") if not line.startswith(LEFT_OUT)]


def terminal(program: Path) -> list[list[tuple[str, str]]]:
    """Returns the lines of the terminal, each as parts with their colors."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "samples", Path(folder) / "samples")
        for arguments in COMMANDS:
            command = " ".join(f'"{word}"' if " " in word else word for word in arguments)
            lines.append([("prompt", "$ "), ("command", f"graphloom {command}")])
            for line in run(program, Path(folder), arguments):
                lines.append(parts(line))
            lines.append([])
    return lines[:-1]


def parts(line: str) -> list[tuple[str, str]]:
    found, color = [], "plain"
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if piece.startswith("\x1b"):
            color = "plain" if piece in ("\x1b[0m", "\x1b[m") else "number"
        elif piece:
            found.append((color, piece))
    return found


def draw(lines: list[list[tuple[str, str]]]) -> str:
    width = round(2 * MARGIN + COLUMNS * CHARACTER)
    height = BAR + MARGIN + len(lines) * LINE
    rows = []
    for number, line in enumerate(lines):
        if line:
            spans = "".join(f'<tspan class="{color}">{html.escape(text, quote=False)}</tspan>' for color, text in line)
            length = round(sum(len(text) for _, text in line) * CHARACTER, 1)
            rows.append(
                f'<text x="{MARGIN}" y="{BAR + SIZE + number * LINE}" textLength="{length}" lengthAdjust="spacingAndGlyphs">{spans}</text>'
            )
    styles = "".join(f".{name}{{fill:{color}}}" for name, color in COLORS.items())
    dots = "".join(
        f'<circle cx="{MARGIN + 4 + 18 * at}" cy="15" r="5.5" fill="{fill}"/>'
        for at, fill in enumerate(("#bf616a", "#ebcb8b", "#a3be8c"))
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t">
<title id="t">graphloom indexes twelve documents and answers three questions, each with file and line</title>
<style>text{{font:{SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}}{styles}.command{{font-weight:600}}</style>
<rect width="{width}" height="{height}" rx="8" fill="#2b303b"/>
{dots}
{chr(10).join(rows)}
</svg>
"""


def main() -> None:
    program = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/debug/graphloom").resolve()
    (ROOT / "docs/images/demo.svg").write_text(draw(terminal(program)), encoding="utf-8")


if __name__ == "__main__":
    main()
