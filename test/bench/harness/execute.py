# SPDX-License-Identifier: Apache-2.0
"""Runs one command and measures it. The one rule: wall time spans exactly the command, from its start to its reaping."""
import dataclasses
import os
import signal
import subprocess
import tempfile
import time

TIMEOUT_S = 180


class Failed(Exception):
    """The command ended badly; the text says how."""


@dataclasses.dataclass
class Sample:
    """One run. wall_s and cpu_s in seconds (cpu of the whole tree of children), rss_kib of its largest process, values:
    the numbers that the command printed as "name value"."""
    wall_s: float
    cpu_s: float
    rss_kib: int
    values: dict
    disk_bytes: int = 0


def numbers(text):
    """The lines "name value" of a text as a dictionary."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2:
            try:
                found[words[0]] = float(words[1])
            except ValueError:
                pass
    return found


def reap(process):
    """Waits for a process, ends its group when it is late; returns (status, resource usage)."""
    def late(*_):
        os.killpg(process.pid, signal.SIGKILL)
    signal.signal(signal.SIGALRM, late)
    signal.alarm(TIMEOUT_S)
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        signal.alarm(0)
    process.returncode = status
    return status, usage


def execute(command, env=None, folder=None):
    """Runs a command with extra environment in a folder. Raises Failed unless it exits 0."""
    whole = dict(os.environ, **(env or {}))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        process = subprocess.Popen(command, env=whole, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   start_new_session=True)
        status, usage = reap(process)
        wall = time.perf_counter() - begin
        out.seek(0)
        text = out.read().decode(errors="replace")
        if status != 0:
            err.seek(0)
            tail = err.read().decode(errors="replace").strip().splitlines()[-1:]
            raise Failed(f"wait status {status} of {' '.join(command)[:200]}: {' '.join(tail)}")
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, numbers(text))


def output_of(command, env=None):
    """Standard output of a command, or "" when it fails."""
    try:
        done = subprocess.run(command, env=dict(os.environ, **(env or {})), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def bytes_below(folder):
    """Bytes in use on disk by all files below a folder (allocated blocks, so that holes do not count)."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            if os.path.isfile(path):
                total += os.stat(path).st_blocks * 512
    return total
