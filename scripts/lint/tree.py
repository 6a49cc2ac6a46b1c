# SPDX-License-Identifier: Apache-2.0
"""What the checks share: the files of the project, and how a violation is reported.

Rule: a check names every violation as PATH:LINE: what, and ends with `report.finish()`.
"""
import os
import subprocess
import sys

GUEST_FOLDERS = ("writer", "collectors", "preload")
SKIPPED = {".git", ".deps", ".venv", "tfprof-out", "__pycache__"}


def paths(*suffixes, under=""):
    """The project's files, sorted, relative to the top folder; with suffixes, only those that end so."""
    for folder, names, files in os.walk(under or "."):
        names[:] = sorted(name for name in names
                          if name not in SKIPPED and not (folder == "." and name.split("-")[0] == "build"))
        for name in sorted(files):
            path = os.path.normpath(os.path.join(folder, name))
            if not suffixes or name.endswith(suffixes):
                yield path


def is_script(path, interpreter):
    """Whether the file's first line names this interpreter."""
    with open(path, "rb") as file:
        first = file.readline(200)
    return first.startswith(b"#!") and interpreter.encode() in first


def read_lines(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read().split("\n")


def reasons(path):
    """A list of allowed things: {name: reason}; each line is a name, blanks and a reason."""
    found = {}
    for line in read_lines(path):
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition("\t")
            found[name.strip()] = reason.strip()
    return found


def library():
    """The built library; the check is skipped where there is none (a build with sanitizers)."""
    path = os.path.join(os.environ.get("O", "build"), "libtfprof.so")
    if not os.path.exists(path):
        print(f"no {path}")
        sys.exit(77)
    return path


def tool(name, *arguments):
    """Runs one of the compiler's tools (nm, readelf) in the C locale; its lines."""
    compiler = os.environ.get("CC", "gcc")
    real = subprocess.run([compiler, f"-print-prog-name={name}"], capture_output=True, text=True, check=True)
    done = subprocess.run([real.stdout.strip(), *arguments], capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"})
    return done.stdout.splitlines()


class Report:
    def __init__(self):
        self.count = 0

    def violation(self, path, line, text):
        self.count += 1
        print(f"{path}:{line}: {text}")

    def finish(self):
        sys.exit(1 if self.count else 0)


report = Report()
