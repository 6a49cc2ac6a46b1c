# SPDX-License-Identifier: Apache-2.0
"""What make check-gpu finds on a machine: driver, devices, nvcc, CUPTI, interpreters with frameworks, nsys.

Rule: looks and asks, changes nothing; what is missing has words that say where it was looked for.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# In a process of its own, so that this one never holds CUDA. Prints JSON.
ASK_DRIVER = r"""
import ctypes, json
found = {"why": "", "version": 0, "devices": []}
try:
    driver = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    print(json.dumps(dict(found, why=f"no CUDA driver (libcuda.so.1): {error}")))
    raise SystemExit
version, count = ctypes.c_int(), ctypes.c_int()
driver.cuDriverGetVersion(ctypes.byref(version))
found["version"] = version.value
result = driver.cuInit(0)
if result or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
    found["why"] = f"a CUDA driver without a device that works: cuInit answers {result}, {count.value} devices"
for number in range(count.value):
    name, device = ctypes.create_string_buffer(256), ctypes.c_int()
    driver.cuDeviceGet(ctypes.byref(device), number)
    driver.cuDeviceGetName(name, 256, device)
    words = []
    for attribute in (75, 76, 16):  # compute capability, multiprocessors
        value = ctypes.c_int()
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        words.append(value.value)
    found["devices"].append({"name": name.value.decode(errors="replace"), "capability": words[:2], "multiprocessors": words[2]})
print(json.dumps(found))
"""


def ask_driver(environment=None, before=()):
    """{"why": "" or what is missing, "version": 13000, "devices": [...]}."""
    try:
        done = subprocess.run([*before, sys.executable, "-c", ASK_DRIVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment, timeout=120, check=False)
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        return {"why": "the CUDA driver hangs or dies when it is started (nvidia-smi may say why)", "version": 0, "devices": []}


def device_files():
    return sorted(glob.glob("/dev/nvidia[0-9]*"))


def find_nvcc():
    """(path, release as 13000) of the first that runs; (None, 0)."""
    places = [os.environ.get("NVCC"), shutil.which("nvcc"), *[f"{os.environ[name]}/bin/nvcc" for name in ("CUDA_HOME", "CUDA_PATH")
                                                             if os.environ.get(name)],
              "/usr/local/cuda/bin/nvcc", *sorted(glob.glob("/usr/local/cuda-*/bin/nvcc"), reverse=True), f"{TOP}/.deps/cuda/bin/nvcc"]
    for place in places:
        if not place or not os.access(place, os.X_OK):
            continue
        done = subprocess.run([place, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        release = re.search(r"release (\d+)\.(\d+)", done.stdout)
        if done.returncode == 0 and release:
            return place, int(release[1]) * 1000 + int(release[2]) * 10
    return None, 0


def toolkit_of(nvcc):
    """Its toolkit's folder, as it says itself: what PATH finds may be a script or a link."""
    done = subprocess.run([nvcc, "--dryrun", f"{TOP}/test/gpu/work.cu"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    top = re.search(r"^#\$ TOP=(.+)$", done.stdout, re.M)
    return os.path.realpath(top[1]) if top else os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))


def host_compiler(nvcc):
    """nvcc's options for a host compiler that it works with, where the usual one is too new for it (scripts/find-nvcc); [] = none helps."""
    done = subprocess.run([f"{TOP}/scripts/find-nvcc", nvcc], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    found = re.search(r"^NVCC_HOST := (.+)$", done.stdout, re.M)
    return found[1].split() if found else []


def packages_of(python):
    """Folders of packages of an interpreter, as it says itself (it may be a script or a link); [] = it does not run."""
    try:
        done = subprocess.run([python, "-c", "import sys; print('\\n'.join(sys.path))"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line for line in done.stdout.splitlines() if line.endswith("-packages")]


def interpreters():
    """Python programs that may have a framework, the user's own first, each once."""
    places = os.environ.get("CHECK_GPU_PYTHON", "").split(":")
    places += [f"{os.environ[name]}/bin/python" for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)]
    places += [shutil.which("python3"), shutil.which("python"), sys.executable, "/opt/conda/bin/python", "/usr/bin/python3",
               f"{TOP}/.venv/bin/python"]
    found, seen = [], set()
    for place in places:
        if not place or not os.access(place, os.X_OK):
            continue
        key = os.path.dirname(os.path.abspath(place)), os.path.realpath(place)  # python and python3 of one folder are one
        if key not in seen:
            seen.add(key)
            found.append(place)
    return found


def has_cupti(root):
    return any(glob.glob(f"{root}/{folder}/libcupti.so.1[1-9]*") for folder in ("extras/CUPTI/lib64", "lib64", "lib"))


def toolkit_with_cupti(nvcc):
    """What CUDA_HOME must say for programs with a static runtime, on machines whose only CUPTI is nvcc's or a wheel's; "" = nothing."""
    if any(root and has_cupti(root) for root in (os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH"), "/usr/local/cuda")):
        return ""
    roots = [toolkit_of(nvcc)] if nvcc else []
    for python in interpreters():
        for packages in packages_of(python):
            roots += sorted(glob.glob(f"{packages}/nvidia/c*"))
    return next((root for root in roots if has_cupti(root)), "")


def release_text(number):
    return f"{number // 1000}.{number % 1000 // 10}" if number else "unknown"


def missing_libraries(program):
    """What the loader does not find for a program; [] = nothing, or no ldd."""
    if not shutil.which("ldd"):
        return []
    done = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return sorted({line.split()[0] for line in done.stdout.splitlines() if "not found" in line})
