# SPDX-License-Identifier: Apache-2.0
"""A loop that learns eagerly without a dataset: `acting`, episodes of other lengths, each learnt from once; `batches`, an epoch of tf.data
first, then the same batch again and again. Knows nothing of tfprof."""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

weights, bias = tf.Variable(tf.random.normal([32, 1], seed=1)), tf.Variable(tf.zeros([1]))
x = tf.random.normal([112, 32], seed=2)


def learn(loss_of):
    with tf.GradientTape() as tape:
        loss = loss_of()
    for variable, gradient in zip((weights, bias), tape.gradient(loss, (weights, bias))):
        variable.assign_sub(0.001 * gradient)


def loss_of(rows):
    return tf.reduce_mean(tf.nn.relu(rows @ weights + bias) ** 2)


if sys.argv[1] == "acting":
    for acts in (5, 11, 7, 3, 13, 6, 9, 4):
        learn(lambda: tf.add_n([loss_of(x[at:at + 1]) for at in range(acts)]))
else:
    for rows in tf.data.Dataset.from_tensor_slices(x).batch(16):
        learn(lambda: loss_of(rows))
    for _ in range(20):
        learn(lambda: loss_of(x[:16]))
