# SPDX-License-Identifier: Apache-2.0
"""Works on two tensors in place alone; before and behind that it sends itself the signal of its argument. Knows nothing of tfprof."""
import os
import sys

import torch

sums, ones = torch.zeros(64), torch.ones(64)
for _ in range(2):
    sums.add_(ones)
os.kill(os.getpid(), int(sys.argv[1]))
for _ in range(100):
    sums.add_(ones)
os.kill(os.getpid(), int(sys.argv[1]))
print(int(sums[0]))
