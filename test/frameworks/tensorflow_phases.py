# SPDX-License-Identifier: Apache-2.0
"""A loop that warms up by one function for 8 batches and tunes by another for 12, with an optimizer that adds to the weights; between
them a third takes gradients alone. Knows nothing of tfprof."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras  # noqa: E402
import tensorflow as tf  # noqa: E402

keras.utils.set_random_seed(0)
net = keras.Sequential([keras.layers.Input((32,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(1)])
first, second = keras.optimizers.Adam(1e-3), keras.optimizers.SGD(0.01, momentum=0.9)


def gradients(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(x, training=True) ** 2)
    return zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables)


@tf.function
def warm(x):
    first.apply_gradients(gradients(x))


@tf.function
def tune(x):
    second.apply_gradients(gradients(x))


@tf.function
def look(x):
    return [gradient for gradient, _ in gradients(x)]


for step, count in ((warm, 8), (look, 6), (tune, 12)):
    for _ in range(count):
        step(tf.random.normal([16, 32]))
