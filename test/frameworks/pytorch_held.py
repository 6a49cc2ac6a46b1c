# SPDX-License-Identifier: Apache-2.0
"""Steps of which each makes one tensor, of many sizes, that twenty steps hold: prints the most bytes that were held at once."""
import collections
import random
import sys

import torch

sys.path.insert(0, sys.argv[1])
import tfprof  # noqa: E402

torch.set_num_threads(1)
random.seed(4)
held = collections.deque(maxlen=20)
most = 0
for number in range(600):
    tfprof.step(number)
    held.append(torch.zeros(random.randint(50000, 400000)))
    most = max(most, sum(4 * tensor.numel() for tensor in held))
tfprof.step(600)
print(most)
