# SPDX-License-Identifier: Apache-2.0
"""Traces one function for three shapes and compiles another with XLA for two; knows nothing of tfprof."""
import tensorflow as tf


@tf.function
def poly_2(x):
    return tf.reduce_sum(x * x + 1.0)


@tf.function(jit_compile=True)
def fused(x):
    return tf.nn.relu(x) * 2


for n in (3, 4, 5, 3, 4):
    poly_2(tf.ones((n,)))
for n in (3, 4, 3):
    fused(tf.ones((n, n)))
print("done")
