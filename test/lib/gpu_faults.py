# SPDX-License-Identifier: Apache-2.0
"""What the cases gpu-faults-* share: run a program on a simulated GPU with faults, without and with the library.

Rule: a run checks by itself that the program did not notice: same output, same exit status; and that each launch is in
exactly one of paired, device-only, host-only and not-launched, with a reason wherever it is not paired.
"""
import glob
import os

from house import LIB, O, TOP, TRIES, check, equal, is_cut_short, losses, reduce, run, scratch, skip, table

STEADY = f"{O}/sim/bin/steady"
SEED = "11"
PAIRINGS = ("paired", "device-only", "host-only", "not-launched")
_serial = 0


def need_simulator(program=STEADY):
    if not os.path.exists(f"{O}/sim/lib/libsimgpu.so"):
        skip("the simulated GPU is not built: make sim")
    if not os.path.exists(program):
        skip(f"{program} is not built: no nvcc")


class Faulty:
    """One run: `rows` of the table launches, `facts` of the oracle, `losses` by kind, `run` and the reducer's first screen."""

    def __init__(self, result, facts):
        self.run, self.facts = result, facts
        self.rows = table([result.folder], "launches") if glob.glob(result.folder + "/*.tfp") else []
        self.losses = losses([result.folder]) if self.rows else {}
        for row in self.rows:
            check(row["pairing"] in PAIRINGS, f"pairing {row['pairing']!r}")
            check((row["pairing"] == "paired") == (not row["reason"]), f"{row['pairing']} with reason {row['reason']!r}")

    def screen(self):
        return reduce([self.run.folder])

    def of_oracle(self, what):
        return [fact for fact in self.facts if fact[0] == what]

    def fault(self, name):
        """Third words of the oracle's lines about a fault: correlation ids, or counts."""
        return [int(fact[2]) for fact in self.facts if fact[0] == "fault" and fact[1] == name]

    def kernels(self, **want):
        """Rows of kernel launches, with these values."""
        return [row for row in self.rows if row["kind"] == "launch" and all(row[key] == value for key, value in want.items())]

    def pick(self, **want):
        return [row for row in self.rows if all(row[key] == value for key, value in want.items())]

    def counts(self):
        """How many launches, copies and sets are in each pairing."""
        found = {}
        for row in self.rows:
            found[row["pairing"]] = found.get(row["pairing"], 0) + 1
        return found

    def reasons(self):
        return {row["reason"] for row in self.rows if row["reason"]}


def simulate(lines, argv, settings=None, under=True, env=None, timeout=100):
    """Runs a program under the simulator, again where its last records were given up: (Run, facts of the oracle)."""
    for _ in range(TRIES):
        result, facts = simulate_once(lines, argv, settings, under, env, timeout)
        if not is_cut_short(result.folder):
            break
    return result, facts


def simulate_once(lines, argv, settings, under, env, timeout):
    global _serial
    _serial += 1
    oracle = scratch(f"sim{_serial}") + "/oracle"
    options = [word for line in lines for word in ("-s", line)]
    command = [f"{TOP}/test/sim/simgpu", *options, "--oracle", oracle, "--seed", SEED, "--"]
    folder = os.path.dirname(oracle) + "/out"
    if under:  # the library is for the program alone, not for the shell that prepares the simulator
        values = {"OUT": folder, "SKIP": "", **(settings or {})}
        command += ["env", f"LD_PRELOAD={LIB}", *(f"TFPROF_{name}={value}" for name, value in values.items())]
    result = run([*command, *argv], under=False, env=dict(env or {}, O=O), timeout=timeout, folder=folder)
    return result, read_oracle(oracle)


def read_oracle(path):
    facts = []
    for name in glob.glob(path + ".*"):
        with open(name, encoding="utf-8", errors="replace") as file:
            facts += [line.strip("\0\n").split("\t") for line in file if line.strip("\0\n")]
    return facts


def faulty(lines, argv, settings=None, status=None, env=None, timeout=100, clean=lambda text: text):
    """The same program on the same simulated machine, without and with the library; returns what the second left. clean: what of
    its output is to be the same."""
    lines = [lines] if isinstance(lines, str) else lines
    plain, _ = simulate(lines, argv, under=False, env=env, timeout=timeout)
    result, facts = simulate(lines, argv, settings, env=env, timeout=timeout)
    equal((result.status, clean(result.out)), (plain.status, clean(plain.out)), f"status and output with {lines}")
    equal(result.err, plain.err, f"standard error with {lines}")
    if status is not None:
        equal(plain.status, status, f"status with {lines}")
    return Faulty(result, facts)
