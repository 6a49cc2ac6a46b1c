# SPDX-License-Identifier: Apache-2.0
"""The tools that are compared: ours in its modes, and the peers. The one rule: a tool is one row of TOOLS; the harness
treats them all alike, and a tool that cannot run says why."""
import dataclasses
import glob
import os
import re
import struct

from harness import places
from harness.execute import output_of

STACK_DEPTH = "64"  # frames, as heaptrack keeps


@dataclasses.dataclass
class Tool:
    """records: "all" events with or without "stacks" (exact, python, none), "sample", or "nothing"."""
    name: str
    what: str
    records: str = "nothing"
    stacks: str = "none"
    needs: tuple = ()
    slow: bool = False    # several microseconds an event: small sizes, once
    python: bool = False  # profiles Python programs only
    ours: bool = False
    slow_report = False   # its report takes seconds a million events

    def missing(self):
        """Why this tool cannot run, or None."""
        for need in self.needs:
            if need is None or not os.path.exists(need):
                return f"{need or self.name} is not there"
        return None

    def wrap(self, job, folder):
        """(command, environment) of a job under the tool, which writes into the folder."""
        return job.command, dict(job.env)

    def begin(self, folder):
        """Called before the clock starts."""

    def end(self, folder):
        """Called after the clock stopped."""

    def left_log(self, folder):
        """Whether a run left what it should have; a tool that did not load would look fast."""
        return True

    def seen(self, folder):
        """How many allocations the tool's own report names, or None where it names none."""
        return None


class Preload(Tool):
    """A library in LD_PRELOAD with some settings in the environment."""

    def __init__(self, name, what, library, settings=None, **more):
        super().__init__(name, what, needs=(library,), **more)
        self.settings = settings or (lambda folder: {})

    def wrap(self, job, folder):
        return job.command, dict(job.env, LD_PRELOAD=self.needs[0], **self.settings(folder))


class Count(Preload):
    """The oracle: exact counts of calls, in a file shared by all processes (nop.c)."""
    SLOT = 64
    FILE = "counts"

    def begin(self, folder):
        with open(os.path.join(folder, self.FILE), "wb") as file:
            file.truncate(16384 * self.SLOT)

    def both(self, folder):
        """(allocations, releases)."""
        with open(os.path.join(folder, self.FILE), "rb") as file:
            data = file.read()
        words = struct.unpack(f"<{len(data) // 8}Q", data)
        return sum(words[1::8]), sum(words[2::8])

    def seen(self, folder):
        return self.both(folder)[0]


class Ours(Preload):
    def left_log(self, folder):
        return self.records == "nothing" or bool(glob.glob(os.path.join(folder, "*.tfp")))

    def seen(self, folder):
        return summary_allocations(output_of([places.REDUCER, folder, "-t", "memory.summary", "-f", "csv"]))


class Launched(Ours):
    """Ours under `tfprof run`, for the drain by a helper that the launcher started."""

    def __init__(self, name, what, options, **more):
        super().__init__(name, what, places.LAUNCHER, **more)
        self.options = options

    def wrap(self, job, folder):
        return [places.LAUNCHER, "run", f"--out={folder}", *self.options, "--", *job.command], dict(job.env)


class Heaptrack(Tool):
    LIMIT = ("prlimit", f"--as={4 << 30}")  # its 1.4 takes all memory of the machine on loop walk, then dies

    def __init__(self, name, what, command, raw=False):
        super().__init__(name, what, records="all", stacks="exact", needs=(command,))
        self.options = ["-r"] if raw else []
        self.raw = raw

    def wrap(self, job, folder):
        command = [*self.LIMIT, self.needs[0], *self.options, "-o", os.path.join(folder, "heap"), *job.command]
        return command, dict(job.env, HEAPTRACK_ENABLE_DEBUGINFOD="")

    def seen(self, folder):
        if self.raw:
            return None
        printer = os.path.join(os.path.dirname(self.needs[0]), "heaptrack_print")
        files = glob.glob(os.path.join(folder, "heap*"))
        text = "".join(output_of([printer, "-p", "0", "-a", "0", "-l", "0", "-T", "0", "-f", f]) for f in files)
        return first_number(r"calls to allocation functions: (\d+)", text)


class Memray(Tool):
    def __init__(self, name, what, native):
        super().__init__(name, what, records="all", stacks="exact" if native else "python", needs=(places.PYTHON,),
                         python=True)
        self.options = ["--native"] if native else []

    def missing(self):
        found = glob.glob(os.path.join(places.OUT, "venv", "lib", "python3*", "site-packages", "memray"))
        return None if found else "memray is not installed in the venv"

    def wrap(self, job, folder):
        return [places.PYTHON, "-m", "memray", "run", "-q", "-f", *self.options, "-o", os.path.join(folder, "capture.bin"),
                *job.command[1:]], dict(job.env)

    def seen(self, folder):
        output_of([places.PYTHON, "-m", "memray", "stats", "--json", "-f", "-o", os.path.join(folder, "stats.json"),
                   os.path.join(folder, "capture.bin")])
        return first_number(r'"total_num_allocations": (\d+)', places.read(os.path.join(folder, "stats.json")))


class Lttng(Preload):
    """The LTTng-UST libc wrapper: a session a run, 16 buffers of 4 MiB a processor, thread id in each event."""
    SESSION = "tfprof-bench"
    slow_report = True

    def missing(self):
        return super().missing() or (None if places.program("lttng") else "lttng is not installed")

    def begin(self, folder):
        output_of(["lttng", "create", self.SESSION, "--output", os.path.join(folder, "trace")])
        output_of(["lttng", "enable-channel", "-u", "--subbuf-size", "4M", "--num-subbuf", "16", "calls"])
        output_of(["lttng", "enable-event", "-u", "-c", "calls", "lttng_ust_libc:*"])
        output_of(["lttng", "add-context", "-u", "-c", "calls", "-t", "vtid"])
        output_of(["lttng", "start"])

    def end(self, folder):
        output_of(["lttng", "destroy", self.SESSION])

    def seen(self, folder):
        if not places.program("babeltrace2"):
            return None
        text = output_of(["sh", "-c", f"babeltrace2 '{folder}/trace' | grep -v -c lttng_ust_libc:free:"])
        return int(text) if text.strip() else None


class Jemalloc(Preload):
    def seen(self, folder):
        sums = [first_number(r"t\*: \d+: \d+ \[(\d+):", places.read(f)) for f in glob.glob(os.path.join(folder, "*.heap"))]
        return sum(s for s in sums if s) or None


class Gperftools(Preload):
    def seen(self, folder):
        last = sorted(glob.glob(os.path.join(folder, "*.heap")))[-1:]
        return first_number(r"heap profile: +\d+: +\d+ \[ *(\d+):", places.read(last[0])) if last else None


def first_number(pattern, text):
    found = re.search(pattern, text)
    return int(found.group(1)) if found else None


def summary_allocations(csv):
    """Allocations of the heap of the whole job in a memory.summary table."""
    lines = [line.split(",") for line in csv.splitlines() if line and not line.startswith("#")]
    if not lines or "allocations" not in lines[0]:
        return None
    column = {name: i for i, name in enumerate(lines[0])}
    for row in lines[1:]:
        if len(row) == len(lines[0]) and row[column["scope"]] == "job" and row[column["allocator"]] == "heap":
            return int(row[column["allocations"]])
    return None


def ours(name, what, records, stacks="none", **settings):
    def environment(folder):
        values = {"OUT": folder, "SKIP": "", "STACKS": STACK_DEPTH if stacks == "exact" else "0"}
        values.update(settings)
        return {"TFPROF_" + key: value for key, value in values.items()}
    return Ours(name, what, places.LIBRARY, environment, records=records, stacks=stacks, ours=True)


def jemalloc(name, what, options=None, **more):
    def environment(folder):
        return {"MALLOC_CONF": options.format(folder=folder)} if options else {}
    return Jemalloc(name, what, places.library("libjemalloc.so.2"), environment, **more)


HELPER = ["--drain=helper", "--malloc=full", "--skip="]
PROF = "prof:true,prof_final:true,prof_accum:true,prof_prefix:{folder}/prof"

TOOLS = [
    Tool("plain", "no tool"),
    Preload("nop", "every entry point empty", os.path.join(places.BIN, "nop.so")),
    Count("count", "own trivial counter", os.path.join(places.BIN, "count.so"),
          lambda folder: {"BENCH_COUNT_FILE": os.path.join(folder, Count.FILE)}),
    ours("full", "every event, exact stacks", "all", "exact", MALLOC="full"),
    ours("full-inline", "the same, DRAIN=inline", "all", "exact", MALLOC="full", DRAIN="inline"),
    ours("full-thread", "the same, DRAIN=thread", "all", "exact", MALLOC="full", DRAIN="thread"),
    Launched("full-helper", "the same, DRAIN=helper", HELPER + ["--stacks=" + STACK_DEPTH], records="all", stacks="exact",
             ours=True),
    ours("bare", "every event, no stacks", "all", MALLOC="full"),
    ours("bare-inline", "the same, DRAIN=inline", "all", MALLOC="full", DRAIN="inline"),
    ours("bare-thread", "the same, DRAIN=thread", "all", MALLOC="full", DRAIN="thread"),
    Launched("bare-helper", "the same, DRAIN=helper", HELPER + ["--stacks=0"], records="all", ours=True),
    ours("sample", "totals and sampled stacks (the default)", "sample", "exact", MALLOC="sample:512k"),
    ours("totals", "exact counters", "nothing", MALLOC="totals"),
    ours("exact-peak", "counters, peak exact to the byte", "nothing", MALLOC="totals", TOTALS="exact"),
    ours("off", "MALLOC=off", "nothing", MALLOC="off"),
    ours("window-off", "full, outside the window", "nothing", MALLOC="full", WINDOW="off"),
    ours("gpu-off", "CUDA=off", "nothing", MALLOC="off", CUDA="off"),
    ours("gpu-window", "GPU calls outside the window", "nothing", MALLOC="off", WINDOW="off"),
    ours("gpu-hooks", "GPU hooks alone, no stacks", "all", MALLOC="off", CUDA="hooks"),
    ours("gpu-hooks-stacks", "GPU hooks alone, exact stacks", "all", "exact", MALLOC="off", CUDA="hooks"),
    ours("gpu-callback", "GPU hooks and CUPTI's callback, no stacks", "all", MALLOC="off"),
    ours("gpu-callback-stacks", "the same, exact stacks", "all", "exact", MALLOC="off"),
    ours("frames", "each allocation with its Python stack", "all", stacks="exact", MALLOC="full", PYTHON="launch"),
    ours("frames-off", "the same without the Python stack", "all", stacks="exact", MALLOC="full", PYTHON="off"),
    ours("sample-frameless", "default mode without Python stacks", "sample", stacks="exact", PYTHON="off"),
    ours("ranges", "NVTX ranges", "all", MALLOC="off"),
    ours("ranges-window", "NVTX ranges outside the window", "nothing", MALLOC="off", WINDOW="off"),
    ours("gpu-record", "the same with device records, no stacks", "all", MALLOC="off"),
    Heaptrack("heaptrack", "Debian's heaptrack", places.program("heaptrack") or "heaptrack"),
    Heaptrack("heaptrack-raw", "Debian's heaptrack, raw", places.program("heaptrack") or "heaptrack", raw=True),
    Heaptrack("heaptrack-new", "the heaptrack of $BENCH_HEAPTRACK", os.environ.get("BENCH_HEAPTRACK") or "$BENCH_HEAPTRACK"),
    Heaptrack("heaptrack-new-raw", "the same, raw", os.environ.get("BENCH_HEAPTRACK") or "$BENCH_HEAPTRACK", raw=True),
    Lttng("lttng", "LTTng-UST libc wrapper", places.library("liblttng-ust-libc-wrapper.so.1"), records="all"),
    Memray("memray", "memray", native=False),
    Memray("memray-native", "memray --native", native=True),
    jemalloc("jemalloc", "the allocator jemalloc alone"),
    jemalloc("jemalloc-prof", "jemalloc's heap profile, 512 KiB sampling", PROF, records="sample", stacks="exact"),
    jemalloc("jemalloc-all", "jemalloc's heap profile, every allocation", PROF + ",lg_prof_sample:0", records="all",
             stacks="exact", slow=True),
    Gperftools("gperftools", "gperftools' heap profile", places.library("libtcmalloc.so.4"),
               lambda folder: {"HEAPPROFILE": os.path.join(folder, "prof")}, records="all", stacks="exact", slow=True),
]

BY_NAME = {t.name: t for t in TOOLS}
