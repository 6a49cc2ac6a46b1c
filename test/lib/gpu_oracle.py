# SPDX-License-Identifier: Apache-2.0
"""Reads the oracle logs of the simulated GPU (test/sim/oracle.h) and runs programs on it.

Rule: nothing here comes from the product; columns are those of oracle.h, written again.
"""
import glob
import os
import shutil
import subprocess
from collections import namedtuple

from house import O, SLOW, TOP, TRIES, check, clean_environment, is_cut_short, skip

NONE = 0xFFFFFFFF
WORK = "kind number tid correlation device context stream start end graph node".split()
MORE = {
    "kernel": "name grid_x grid_y grid_z block_x block_y block_z static dynamic".split(),
    "copy": "direction bytes source_kind destination_kind is_async source destination".split(),
    "set": "bytes value memory_kind is_async destination".split(),
    "event": ["event"],
}
OTHER = {
    "call": "kind tid correlation domain cbid name start end result outer".split(),
    "wait": "kind tid correlation wait context stream event start end".split(),
    "memory": "kind tid correlation operation memory_kind device context stream address bytes time pool".split(),
    "flush": "kind flag time".split(),
    "info": "kind device free total time".split(),
    "opened": "kind device address bytes".split(),
    "device": "kind device capacity free".split(),
    "void": "kind number".split(),
    "oracle": "kind version pid start".split(),
    "exit": "kind time".split(),
}


class Oracle:
    """All lines of one process; each kind a list of tuples with named fields, numbers as int."""

    def __init__(self, path):
        self.lines = {kind: [] for kind in list(MORE) + ["graph", "host", "fault"] + list(OTHER)}
        self.types = {}
        with open(path, "rb") as file:
            text = file.read().rstrip(b"\0").decode("ascii")
        for line in text.split("\n"):
            if line:
                self.take(line.split("\t"))

    def take(self, words):
        kind = words[0]
        names = OTHER.get(kind) or WORK + MORE.get(kind, [])
        if kind == "fault":
            self.lines[kind].append(words)
            return
        if kind not in self.types:
            self.types[kind] = namedtuple(kind, names)
        check(len(words) == len(names), f"oracle line {words} has not the fields {names}")
        self.lines[kind].append(self.types[kind](*[word if name in ("name", "kind") else int(word)
                                                   for name, word in zip(names, words)]))

    def __getattr__(self, kind):
        try:
            return self.__dict__["lines"][kind]
        except KeyError:
            raise AttributeError(kind) from None

    def work(self):
        """What ran: kernels, copies and sets, without what never ran."""
        lost = {line.number for line in self.lines["void"]}
        return [one for kind in ("kernel", "copy", "set") for one in self.lines[kind] if one.number not in lost]


def program(name):
    path = f"{O}/sim/bin/{name}"
    if not os.path.exists(path):
        skip(f"no {name}: there is no nvcc" if os.path.exists(f"{TOP}/test/sim/programs/{name}.cu") else f"{path} is not built")
    return path


def folder_of(command):
    """Where the command's log is to be, if it is tfprof run and names one."""
    after = [word for before, word in zip(command, command[1:]) if before == "-o"]
    return next(iter([word[6:] for word in command if str(word).startswith("--out=")] + after), None)


def run_on_sim(command, oracle=None, **more):
    """Runs a command on the simulated GPU, again where its last device records were given up; returns its output. lines: of the scenario."""
    folder = folder_of(command)
    if not folder or os.path.exists(folder):
        return once_on_sim(command, oracle, **more)
    for left in reversed(range(TRIES)):
        done = once_on_sim(command, oracle, **more)
        if not left or not is_cut_short(folder):
            break
        shutil.rmtree(folder)
        for path in glob.glob(f"{oracle}.*") if oracle else []:
            os.remove(path)
    return done


def once_on_sim(command, oracle=None, seed=1, lines=(), scenario=None, check_status=0, environment=None, timeout=120):
    words = [f"{TOP}/test/sim/simgpu", "--seed", str(seed)]
    for line in lines:
        words += ["-s", line]
    if scenario:
        words += ["--scenario", scenario]
    if oracle:
        words += ["--oracle", oracle]
    done = subprocess.run(words + ["--"] + command, capture_output=True, text=True, timeout=SLOW * timeout,
                          env={**clean_environment(None), "O": O, **(environment or {})})
    if check_status is not None:
        check(done.returncode == check_status, f"{command}: status {done.returncode}, wanted {check_status}; seed {seed}\n"
              f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def oracles(path):
    return [Oracle(name) for name in sorted(glob.glob(f"{path}.*"))]
