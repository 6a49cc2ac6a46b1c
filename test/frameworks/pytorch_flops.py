# SPDX-License-Identifier: Apache-2.0
"""Products, attention and convolutions of many shapes, forward and backward, three steps of them. "count": says by op what PyTorch's
own counter, torch.utils.flop_counter, makes of them, as JSON. "profile FILE": one step, as PyTorch's own profiler records it."""
import json
import logging
import sys

import torch
from torch import nn
from torch.nn import functional

logging.disable(logging.WARNING)  # the counter's word on Triton, which is for GPUs


def products():
    a, b = torch.randn(9, 11), torch.randn(11, 13)
    a @ b
    torch.addmm(torch.randn(13), a, b)
    torch.bmm(torch.randn(4, 5, 6), torch.randn(4, 6, 7))
    torch.baddbmm(torch.randn(4, 5, 7), torch.randn(4, 5, 6), torch.randn(4, 6, 7))
    torch.matmul(torch.randn(2, 3, 5, 6), torch.randn(6, 7))
    torch.matmul(torch.randn(2, 1, 5, 6), torch.randn(3, 6, 7))
    torch.einsum("bij,bjk->bik", torch.randn(3, 4, 5), torch.randn(3, 5, 6))
    (a.bfloat16() @ b.bfloat16()).sum()
    nn.Linear(33, 17)(torch.randn(5, 7, 33, requires_grad=True)).sum().backward()


def attention():
    query, key, value = (torch.randn(2, 4, length, 8, requires_grad=True) for length in (16, 24, 24))
    functional.scaled_dot_product_attention(query, key, value).sum().backward()
    functional.scaled_dot_product_attention(query, key, value, dropout_p=0.1).sum().backward()  # by products of matrices
    words = torch.randn(6, 2, 16)
    nn.MultiheadAttention(16, 4)(words, words, words)[0].sum().backward()


def convolutions():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2, dilation=2), nn.Conv2d(8, 16, 1),
                        nn.ConvTranspose2d(16, 16, 3, stride=2, padding=1, output_padding=1), nn.ConvTranspose2d(16, 6, 2))
    net(torch.randn(2, 3, 20, 18)).sum().backward()
    nn.Conv1d(4, 4, 5, padding="same")(torch.randn(3, 4, 30)).sum().backward()
    nn.Conv3d(2, 4, (1, 2, 3), stride=(1, 2, 1))(torch.randn(1, 2, 5, 6, 7, requires_grad=True)).sum().backward()
    nn.Conv2d(4, 4, 3, padding=1)(torch.randn(4, 9, 9)).sum().backward()
    nn.Conv2d(6, 12, 3, groups=3)(torch.randn(2, 6, 9, 9))  # forward alone: the counter takes the backward for one without groups


def step():
    products()
    attention()
    convolutions()


if sys.argv[1:] == ["count"]:
    from torch.utils import flop_counter
    # Of attention some versions know the GPU's ops alone: those of the CPU take the same shapes.
    ops, known = torch.ops.aten, {}
    if ops._scaled_dot_product_flash_attention_for_cpu not in flop_counter.flop_registry:
        known = {ops._scaled_dot_product_flash_attention_for_cpu:
                 lambda *shapes, **more: flop_counter.sdpa_flop_count(*shapes[:3]),
                 ops._scaled_dot_product_flash_attention_for_cpu_backward:
                 lambda *shapes, **more: flop_counter.sdpa_backward_flop_count(*shapes[:4])}
    with flop_counter.FlopCounterMode(display=False, custom_mapping=known) as counter:
        step()
    print(json.dumps({str(op): count for op, count in counter.get_flop_counts()["Global"].items()}))
elif sys.argv[1:2] == ["profile"]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
        step()
    profile.export_chrome_trace(sys.argv[2])
else:
    with torch.device("meta"):  # shapes alone: none of it is computed
        nn.Linear(64, 32)(torch.empty(8, 64))
    weight = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(3):
        weight.grad = torch.ones(1)
        step()
        optimizer.step()
