# SPDX-License-Identifier: Apache-2.0
"""The programs that are profiled. The one rule: a workload is one row of WORKLOADS; the same row and size give the same
work in every run.

A row: name, group, what it is, the measured quantity ("wall" = the whole command, or the name of a number that the
workload prints), sizes for (quick, full), and a function size -> Job.
"""
import dataclasses
import os
import sys

from harness import places
from harness.execute import output_of

LOOP = os.path.join(places.BIN, "loop")
LAUNCH = os.path.join(places.GPU, "gpu_launch")


@dataclasses.dataclass
class Job:
    """A command. `driver` stands in front and runs without the tool; the tool is laid around `command` alone."""
    command: list
    env: dict = dataclasses.field(default_factory=dict)
    driver: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Workload:
    name: str
    group: str
    what: str
    quantity: str
    sizes: tuple
    job: object
    needs: tuple = ()
    python: bool = False

    def missing(self):
        """Why the workload cannot run here, or None."""
        for need in self.needs:
            if need is None or not (os.path.exists(need) or places.program(need)):
                return f"{need} is not installed"
        return None


def generated(name, script, size):
    """The path of a data file made by a generator script; made once per size."""
    path = os.path.join(places.DATA, f"{size}-{name}")
    if not os.path.exists(path):
        text = output_of([sys.executable, os.path.join(places.WORKLOADS, script), str(size)])
        with open(path + ".part", "w") as file:
            file.write(text)
        os.rename(path + ".part", path)
    return path


def loop(shape, depth, threads):
    return lambda pairs: Job([LOOP, shape, str(depth), str(pairs), str(threads)])


def sql(rows):
    script = generated("rows.sql", "make_sql.py", rows)
    return Job([places.program("sqlite3"), ":memory:", f".read {script}"])


def gpp(families):
    source = generated("families.cc", "make_cxx.py", families)
    return Job([places.program("g++"), "-c", "-o", "/dev/null", source])


def script(name, **env):
    path = os.path.join(places.WORKLOADS, name)
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return lambda rounds: Job([places.PYTHON, path, str(rounds)], dict(single, **env))


def redis(requests):
    driver = [sys.executable, os.path.join(places.WORKLOADS, "redis_load.py"), str(requests)]
    return Job([places.program("redis-server")], driver=driver)


def own(name):
    return lambda count: Job([os.path.join(places.BIN, name), str(count)])


def launches(**env):
    """Launches on a CUDA that costs nothing; with device records or without."""
    return lambda count: Job([LAUNCH, str(count)], dict(env, LD_LIBRARY_PATH=places.GPU))


WORKLOADS = [
    Workload("m5", "micro", "C loop, depth 5, leaf and caller vary", "ns_per_event", (500000, 2500000), loop("flat", 5, 1),
             (LOOP,)),
    Workload("m30", "micro", "C loop, depth 30, depth-first walk", "ns_per_event", (500000, 2500000), loop("walk", 30, 1),
             (LOOP,)),
    Workload("m30-adv", "micro", "C loop, depth 30, all frames anew each 10 calls", "ns_per_event", (300000, 1500000),
             loop("adv", 30, 1), (LOOP,)),
    Workload("m5x2", "micro", "m5 in two threads, per thread", "ns_per_event", (300000, 1500000), loop("flat", 5, 2), (LOOP,)),
    Workload("m30x2", "micro", "m30 in two threads, per thread", "ns_per_event", (300000, 1500000), loop("walk", 30, 2),
             (LOOP,)),
    Workload("cpp", "real", "C++ containers, strings, streams", "wall", (150, 600), own("objects")),
    Workload("sql", "real", "sqlite3 shell, one script", "wall", (50000, 200000), sql, ("sqlite3",)),
    Workload("gpp", "real", "g++ with its children", "wall", (8, 25), gpp, ("g++",)),
    Workload("js", "real", "Python: json, pandas, numpy", "wall", (25, 100), script("json_frames.py"), (places.PYTHON,), True),
    Workload("jsm", "real", "the same, PYTHONMALLOC=malloc", "wall", (25, 100),
             script("json_frames.py", PYTHONMALLOC="malloc"), (places.PYTHON,), True),
    Workload("ml", "real", "Python: scikit-learn", "wall", (1, 2), script("learn.py"), (places.PYTHON,), True),
    Workload("redis", "real", "redis-server under redis-benchmark", "seconds", (100000, 300000), redis,
             ("redis-server", "redis-benchmark")),
    Workload("putc", "side", "putc and getc in a loop", "wall", (20000000, 100000000), own("putc")),
    Workload("shared_ptr", "side", "copies of a shared_ptr in a loop", "wall", (50000000, 250000000), own("pointers")),
    Workload("launch", "gpu", "cudaLaunchKernel on a CUDA without cost", "ns_per_event", (500000, 3000000), launches(), (LAUNCH,)),
    Workload("launch-records", "gpu-records", "the same, with a device record each", "ns_per_event", (500000, 3000000),
             launches(GPU_NONE_RECORDS="1"), (LAUNCH,)),
    Workload("nvtx", "ranges", "NVTX ranges, opened and closed", "ns_per_event", (1000000, 5000000), own("nvtx_pairs")),
    Workload("frames", "python", "Python, allocations at a depth of 20 frames", "ns_per_event", (200000, 1000000),
             script("frames.py"), (places.PYTHON,), True),
    Workload("pyjs", "python", "Python: json, pandas, numpy", "wall", (25, 100), script("json_frames.py"), (places.PYTHON,), True),
    Workload("true", "start", "the program true", "wall", (0, 0), lambda _: Job(["/bin/true"])),
    Workload("python", "start", "python that does nothing", "wall", (0, 0), lambda _: Job([places.PYTHON, "-c", "pass"]),
             (places.PYTHON,)),
]

BY_NAME = {w.name: w for w in WORKLOADS}


def of_group(*groups):
    return [w for w in WORKLOADS if w.group in groups]
