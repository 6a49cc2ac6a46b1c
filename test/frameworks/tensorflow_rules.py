# SPDX-License-Identifier: Apache-2.0
"""tensorflow_rules.py eager|graph SHAPES: a loop of single ops or of one function, and a function that is called with so many shapes.
Knows nothing of tfprof."""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

weights = tf.Variable(tf.random.normal([512, 256], seed=1))


def learn(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.linalg.matmul(x, weights) - y) ** 2)
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


@tf.function
def summed(x):
    return tf.reduce_sum(x)


step = tf.function(learn) if sys.argv[1] == "graph" else learn
data = tf.random.normal([2048, 512]), tf.random.normal([2048, 256])
for _ in range(30):
    step(*data)
for size in range(int(sys.argv[2])):
    summed(tf.zeros([size + 1, 3]))
print("done")
