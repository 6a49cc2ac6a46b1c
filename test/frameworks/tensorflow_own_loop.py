# SPDX-License-Identifier: Apache-2.0
"""A loop of one's own: functions with names of their own train and score; knows nothing of tfprof."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

weights = tf.Variable(tf.random.normal([32, 1], seed=1))


@tf.function
def fit_batch(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.linalg.matmul(x, weights) - y) ** 2)
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


@tf.function
def score(x, y):
    return tf.reduce_mean((tf.linalg.matmul(x, weights) - y) ** 2)


@tf.function
def one_step_on_iterator(x, y):  # Keras' evaluate has a function of this name, and so have its steps
    return score(x, y)


x, y = tf.random.normal([200, 32]), tf.random.normal([200, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)  # the last batch is smaller: traced again
for epoch in range(3):
    for one in data:
        fit_batch(*one)
    for one in data.take(4):
        (score if epoch else one_step_on_iterator)(*one)
print("done")
