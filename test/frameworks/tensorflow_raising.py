# SPDX-License-Identifier: Apache-2.0
"""Training whose function refuses one of ten batches, and evaluation that takes gradients, more often than it trains; knows nothing
of tfprof."""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

weights = tf.Variable(tf.random.normal([32, 1], seed=1))


def learn(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.linalg.matmul(x, weights) - y) ** 2)
    tf.debugging.assert_less(tf.reduce_max(x), 100.0)
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


@tf.function
def train_step(x, y):
    return learn(x, y)


@tf.function
def fit_batch(x, y):
    return learn(x, y)


@tf.function
def attack(x, y):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_mean((tf.linalg.matmul(x, weights) - y) ** 2)
    return x + 0.1 * tf.sign(tape.gradient(loss, x))


y = tf.random.normal([16, 1])
for i in range(10):
    try:
        if sys.argv[1] == "raise":
            train_step(tf.random.normal([16, 32]) + (1000.0 if i == 6 else 0.0), y)
        else:
            fit_batch(tf.random.normal([16, 32]), y)
    except tf.errors.InvalidArgumentError:
        print("refused", i)
    if sys.argv[1] == "attack" and i % 3 == 2:
        x = tf.random.normal([16, 32])
        for _ in range(8):
            x = attack(x, y)
