# SPDX-License-Identifier: Apache-2.0
"""Programs of test/nvtx, built with the vendor's own header. Rule: no expectation stands here."""
import glob
import os
import subprocess

from house import LIB, TMP, TOP

INJECT = {"NVTX_INJECTION64_PATH": LIB}


def header():
    """The folder that holds nvtx3/nvToolsExt.h: of the toolkit, or of the wheel that scripts/setup installs."""
    for folder in ["/usr/local/cuda/include", *glob.glob(f"{TOP}/.venv/lib/python*/site-packages/nvidia/*/include")]:
        if os.path.exists(f"{folder}/nvtx3/nvToolsExt.h"):
            return folder
    raise SystemExit("no nvtx3/nvToolsExt.h: run scripts/setup test")


def build(compiler, source, *flags):
    program = os.path.join(TMP, os.path.basename(source).replace(".", "_"))
    subprocess.run([compiler, *flags, "-O1", f"-I{header()}", "-o", program, f"{TOP}/test/nvtx/{source}", "-lpthread", "-ldl"],
                   check=True)
    return program
