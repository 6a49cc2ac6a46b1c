# SPDX-License-Identifier: Apache-2.0
"""What the cases share: run a program under the library, read its logs' headers, its tables and the oracle's files.

Rule: no expectation stands here, only the means to state one; nothing here is shared with the product (offsets of the
log header are those of docs/format.md, written again).
"""
import csv
import io
import os
import random
import re
import struct
import subprocess
import sys

TOP = os.environ.get("TOP") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
O = os.path.abspath(os.environ.get("O", os.path.join(TOP, "build")))
LIB = f"{O}/libtfprof.so"
REDUCE = f"{O}/tfprof-reduce"
LAUNCH = f"{O}/tfprof"
INNER = f"{O}/test/liboracle-inner.so"
OUTER = f"{O}/test/liboracle-outer.so"
TMP = os.environ.get("TMPDIR", "/tmp")
IS_LONG = bool(os.environ.get("TEST_ALL"))
SLOW = 2  # a case's own limits tell what hangs, with more words than the runner has: twice what is asked, for a machine that is slow
NS = 1_000_000_000
MIB = 1 << 20

END_KINDS = {0: "none", 1: "exit", 2: "_exit", 3: "exec", 4: "abort", 5: "waited"}


class Failure(Exception):
    pass


def check(fact, text):
    if not fact:
        raise Failure(text)


def equal(found, wanted, what):
    if found != wanted:
        found, wanted = repr(found), repr(wanted)
        at = next((i for i, (one, other) in enumerate(zip(found, wanted)) if one != other), min(len(found), len(wanted)))
        begin = max(0, at - 200) if max(len(found), len(wanted)) > 2000 else 0
        raise Failure(f"{what}: found {found[begin:begin + 2000]}, wanted {wanted[begin:begin + 2000]}")


def skip(reason):
    print(reason)
    sys.exit(77)


def seed_of_chance():
    """What is tried by chance is the same each time, but in the long form: another change is not held up by what it has no part in."""
    return int(os.environ.get("SEED") or (random.randrange(1 << 31) if IS_LONG else 1))


def program(name):
    return f"{O}/test/programs/{name}"


def scratch(name):
    path = os.path.join(TMP, name)
    os.makedirs(path, exist_ok=True)
    return path


TRIES = 3  # a thread of ours that gets no processor for 2 s at the end leaves device records behind, and the log says so


def is_cut_short(folder):
    """Whether the last device records of a run were given up."""
    return os.path.isdir(folder) and any(name.endswith(".tfp") for name in os.listdir(folder)) and losses([folder]).get("cupti_unflushed", 0) > 0


def again(part, *arguments, tries=TRIES, **more):
    """A part that is judged by times (steps found by their period, a share of time waited): a machine that stops for a while may spoil
    one run. What is wrong each time is a failure."""
    for left in reversed(range(tries)):
        try:
            return part(*arguments, **more)
        except Failure as failure:
            if not left:
                raise
            print(f"again: {failure}")
    return None


def case(function):
    """Runs the case as a program: what it raises is the failure shown."""
    try:
        function()
    except Failure as failure:
        print(f"FAILED: {failure}")
        sys.exit(1)
    sys.exit(0)


class Log:
    """The header and the live words of one log, read by offset (docs/format.md)."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            head = file.read(4096)
        check(head[:8] == b"\x89TFP\r\n\x1a\n", f"{path} does not begin like a log")
        self.log_id, self.parent_log_id = struct.unpack_from("<QQ", head, 48)
        self.job_id = head[64:80]
        self.pid, self.parent_pid, self.start, self.parent_start = struct.unpack_from("<IIQQ", head, 104)
        self.exec_count = struct.unpack_from("<I", head, 128)[0]
        self.first_clock_hz, self.ticks, _, self.mono_ns, _, self.width_ticks = struct.unpack_from("<6Q", head, 144)
        self.flags = struct.unpack_from("<I", head, 208)[0]
        self.command = head[216:232].split(b"\0")[0].decode(errors="replace")
        live = struct.unpack_from("<19Q", head, 1024)
        self.clock_hz = live[18] or self.first_clock_hz
        self.end_kind = END_KINDS.get(live[7], live[7])
        self.end_status = live[8]


class Oracle:
    """One file of an oracle: see struct result in test/oracle/oracle.c."""
    WORDS = ("pid start begin_mono_ns begin_tsc threads allocations frees requested allocated freed unknown_frees "
             "unknown_freed null_frees failures maps unmaps mapped unmapped dropped inherited").split()
    CURVE = "live peak peak_mono_ns peak_tsc near_mono_ns high_count".split()

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            data = file.read()
        check(data[:8] == b"ORACLE1\0", f"{path} is not the oracle's")
        words = struct.unpack_from(f"<{len(self.WORDS)}Q", data, 8)
        for name, value in zip(self.WORDS, words):
            setattr(self, name, value)
        at = 8 + 8 * len(words)
        for curve in "all known asked map".split():
            values = struct.unpack_from("<qqQQQQ", data, at)
            for name, value in zip(self.CURVE, values):
                setattr(self, f"{curve}_{name}", value)
            at += 48
        self.highs = [struct.unpack_from("<qQ", data, at + 16 * i) for i in range(self.all_high_count)]


class Run:
    """What came of one run: status as subprocess gives it, output, logs, oracles."""

    def __init__(self, status, out, err, folder, oracle):
        self.status, self.out, self.err, self.folder, self.oracle = status, out, err, folder, oracle

    def logs(self):
        if not os.path.isdir(self.folder):
            return []
        names = [os.path.join(self.folder, name) for name in sorted(os.listdir(self.folder)) if name.endswith(".tfp")]
        return sorted((Log(name) for name in names), key=lambda log: log.ticks)

    def log(self):
        logs = self.logs()
        check(len(logs) == 1, f"one log expected, found {[log.path for log in logs]}")
        return logs[0]

    def oracles(self, role):
        names = [name for name in os.listdir(self.oracle) if name.startswith(role + ".")]
        return sorted((Oracle(os.path.join(self.oracle, name)) for name in names), key=lambda one: one.begin_tsc)


def clean_environment(more):
    """The test's own environment without TFPROF_ variables (an unknown one is a record in the log)."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("TFPROF_", "LD_", "ORACLE_"))}
    for key in ("LIB", "REDUCE", "RUN"):
        env.pop(key, None)
    env.update({key: str(value) for key, value in (more or {}).items()})
    return env


_serial = 0


def start(argv, settings=None, oracle=False, env=None, preload=None, under=True, folder=None, **popen):
    """Starts argv under the library (under=False: without). settings: names without TFPROF_. Returns (Popen, Run)."""
    global _serial
    _serial += 1
    home = scratch(f"run{_serial}")
    folder = folder or os.path.join(home, "out")
    counted = scratch(f"run{_serial}/oracle")
    os.chmod(home, 0o777)
    os.chmod(counted, 0o777)
    full = clean_environment(env)
    if under:
        libraries = preload or ([OUTER, LIB, INNER] if oracle else [LIB])
        full["LD_PRELOAD"] = ":".join(libraries)
        full["ORACLE_DIR"] = counted
        values = {"OUT": folder, "SKIP": ""}
        values.update(settings or {})
        full.update({f"TFPROF_{name}": str(value) for name, value in values.items() if value is not None})
    popen.setdefault("stdin", subprocess.DEVNULL)
    popen.setdefault("stdout", subprocess.PIPE)
    popen.setdefault("stderr", subprocess.PIPE)
    process = subprocess.Popen([str(word) for word in argv], env=full, **popen)
    return process, Run(None, b"", b"", folder, counted)


def run(argv, settings=None, input=None, timeout=100, **more):
    """As start, then waits for the end of the program and of everything that holds its output."""
    if input is not None:
        more["stdin"] = subprocess.PIPE
    process, result = start(argv, settings, **more)
    try:
        result.out, result.err = process.communicate(input, SLOW * timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        result.out, result.err = process.communicate()
        raise Failure(f"{argv}: still running after {SLOW * timeout} s; stderr so far: {result.err[-2000:]!r}")
    result.status = process.returncode
    return result


def plain(argv, **more):
    return run(argv, under=False, **more)


def same(found, wanted, what, clean=lambda text: text):
    """Exit status, output and error output of two runs are the same."""
    equal(found.status, wanted.status, f"{what}: exit status (stderr {found.err[-1500:]!r})")
    equal(clean(found.err), clean(wanted.err), f"{what}: stderr")
    equal(clean(found.out), clean(wanted.out), f"{what}: stdout")


def reduce(paths, *options, status=(0, 2)):
    """tfprof-reduce; returns its output as text. status: what it may exit with."""
    paths = [paths] if isinstance(paths, str) else list(paths)
    done = subprocess.run([REDUCE, *options, *paths], env=clean_environment(None), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    check(done.returncode in status, f"tfprof-reduce {' '.join(options)} {paths[0]}: exit status {done.returncode}, wanted "
          f"{status}: {(done.stderr or done.stdout).decode(errors='replace')[-2000:]}")
    return done.stdout.decode()


def number(text):
    return int(text) if re.fullmatch(r"-?\d+", text or "") else text


def table(paths, name, *options, status=(0, 2)):
    """A table of the reducer as a list of rows (dicts); whole numbers are ints."""
    text = reduce(paths, "-t", name, "-f", "csv", *options, status=status)
    rows = csv.DictReader(line for line in io.StringIO(text, newline="") if not line.startswith("#"))
    return [{key: number(value) for key, value in row.items()} for row in rows]


def summary(paths, scope="process", allocator="heap"):
    return [row for row in table(paths, "memory.summary") if row["scope"] == scope and row["allocator"] == allocator]


def losses(paths):
    """The losses table: kind -> count, all threads together."""
    found = {}
    for row in table(paths, "losses"):
        kind = row.get("kind") or row.get("loss")
        found[kind] = found.get(kind, 0) + row["count"]
    return found


def in_own_mounts():
    """Runs the case again in a mount namespace of its own, so that what it mounts is gone with it."""
    if os.environ.get("TEST_OWN_MOUNTS"):
        return
    how = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    if subprocess.run([*how, "true"], stderr=subprocess.DEVNULL).returncode:
        skip("no mount namespace may be made here, neither as root nor as user")
    os.environ["TEST_OWN_MOUNTS"] = "1"
    os.execvp(how[0], [*how, "--", sys.executable, os.path.abspath(sys.argv[0])])


def mount(kind, options, target):
    subprocess.run(["mount", "-t", kind, "-o", options, "none", target], check=True)
