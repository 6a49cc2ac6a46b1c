# SPDX-License-Identifier: Apache-2.0
"""Where things are, and what machine this is. The one rule: nothing here runs a tool or a workload."""
import os
import platform
import shutil
import subprocess

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(BENCH))
BUILD = os.path.join(ROOT, os.environ.get("O") or "build")
OUT = os.path.join(BUILD, "bench")
BIN = os.path.join(OUT, "bin")
GPU = os.path.join(OUT, "gpu")
DATA = os.path.join(OUT, "data")
RESULTS = os.path.join(OUT, "results")
WORKLOADS = os.path.join(BENCH, "workloads")
PYTHON = os.path.join(OUT, "venv", "bin", "python")
LIBRARY = os.path.join(BUILD, "libtfprof.so")
LAUNCHER = os.path.join(BUILD, "tfprof")
REDUCER = os.path.join(BUILD, "tfprof-reduce")

LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")


def program(name):
    """The full path of a program, or None."""
    return shutil.which(name)


def library(name):
    """The full path of a shared library of the system, or None."""
    for folder in LIBRARY_FOLDERS:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return None


def read(path, default=""):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return default


def cpu_name():
    for line in read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def steal_ticks():
    """Clock ticks that the hypervisor gave to others, all processors, since boot."""
    return int(read("/proc/stat", "cpu 0 0 0 0 0 0 0 0").split()[8])


def commit():
    done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def facts():
    """Name and value of what a reader must know of the machine."""
    return [
        ("processor", f"{cpu_name()}, {os.cpu_count()} in this machine"),
        ("kernel", platform.release()),
        ("libc", " ".join(platform.libc_ver())),
        ("clocksource", read("/sys/devices/system/clocksource/clocksource0/current_clocksource", "unknown")),
        ("hypervisor", "yes" if " hypervisor" in read("/proc/cpuinfo") else "no"),
        ("load", " ".join(read("/proc/loadavg", "unknown").split()[:3])),
        ("commit", commit()),
    ]
