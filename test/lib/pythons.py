# SPDX-License-Identifier: Apache-2.0
"""The Python interpreters of this machine."""
import glob
import os
import pwd
import subprocess


def pythons():
    """One interpreter for each minor version: the system's, those on PATH, pyenv's. {"3.11": path}"""
    found = {}
    candidates = [f"{folder}/python3" for folder in os.environ["PATH"].split(":")]
    homes = {os.environ.get("PYENV_ROOT", ""), os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".pyenv")}  # HOME is the test's own
    for home in homes - {""}:
        candidates += glob.glob(f"{home}/versions/*/bin/python3")
    for python in candidates:
        if not os.path.exists(python) or "shims" in python:
            continue
        ask = "import sys; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.startswith("3."):
            found.setdefault(done.stdout.strip(), os.path.realpath(python))
    return dict(sorted(found.items(), key=lambda item: int(item[0].split(".")[1])))
