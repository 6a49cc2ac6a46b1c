# SPDX-License-Identifier: Apache-2.0
"""Compiles a function for three shapes with torch.compile, without a code generator; knows nothing of tfprof."""
import torch


@torch.compile(backend="eager", dynamic=False)
def shaped(x):
    return (x * 2 + 1).relu()


for n in (3, 4, 5, 3):
    shaped(torch.ones(n))
print("done")
