# SPDX-License-Identifier: Apache-2.0
"""Trains with a function that is traced anew for the batches of its first and ninth step, by a name that
marks steps (argument "marked") or its own. Knows nothing of tfprof."""
import sys

import numpy as np
import tensorflow as tf

weights = tf.Variable(tf.zeros((64, 1)))


def learn(batch):
    with tf.GradientTape() as tape:
        loss = sum(tf.reduce_mean(tf.square(batch @ weights - i)) for i in range(60))  # long to trace, short to run
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


@tf.function
def train_step(batch):
    return learn(batch)


update = train_step if sys.argv[1:] == ["marked"] else tf.function(learn)
for step in range(1, 17):
    update(tf.constant(np.ones((32 if step < 9 else 48, 64), "f")))
print("done")
