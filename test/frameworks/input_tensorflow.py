# SPDX-License-Identifier: Apache-2.0
"""A training script whose input is slow, or not: input_tensorflow.py map|generator|validated|healthy|loop STEPS. Knows nothing of tfprof."""
import sys
import time

import keras
import numpy as np
import tensorflow as tf

MODE, STEPS = sys.argv[1], int(sys.argv[2])
BATCH = 4
WIDTH = 1536 if MODE == "healthy" else 16


def slowly(x):
    time.sleep(0.01)
    return x


def augment(x, y):
    z = tf.py_function(slowly, [x], tf.float32)
    z.set_shape(x.shape)
    return z, y


def samples():
    for i in range(BATCH * STEPS):
        time.sleep(0.01)
        yield np.full(WIDTH, i, np.float32), np.zeros(1, np.float32)


def dataset():
    x = np.ones((BATCH * STEPS, WIDTH), np.float32)
    y = np.zeros((BATCH * STEPS, 1), np.float32)
    if MODE in ("generator", "validated"):
        kind = (tf.TensorSpec((WIDTH,), tf.float32), tf.TensorSpec((1,), tf.float32))
        return tf.data.Dataset.from_generator(samples, output_signature=kind).batch(BATCH).prefetch(2)
    whole = tf.data.Dataset.from_tensor_slices((x, y))
    if MODE == "loop":
        return whole.take(4 * BATCH).batch(BATCH).map(augment).prefetch(2)
    if MODE == "map":
        return whole.map(augment).batch(BATCH).prefetch(2)
    return whole.batch(BATCH).cache().prefetch(4)


def loop():
    """Each step a call that loops over the dataset itself, slow until the last; AutoGraph makes an op of the loop."""
    weights = tf.Variable(tf.zeros((WIDTH, 1)))
    data = dataset()

    @tf.function
    def descend():
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x @ weights - y) ** 2)
            weights.assign_sub(1e-3 * tape.gradient(loss, weights))

    for _ in range(STEPS):
        descend()


if MODE == "loop":
    loop()
    print(f"{MODE}: {STEPS} steps")
    sys.exit()
layers = [keras.layers.Dense(WIDTH, activation="relu") for _ in range(8 if MODE == "healthy" else 1)]
model = keras.Sequential([*layers, keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(1e-4), "mse")
seldom = None
if MODE == "validated":  # whose map is slower than the generator is
    x, y = np.ones((40, 4, WIDTH), np.float32), np.zeros((40, 4, 1), np.float32)
    seldom = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda x, y: augment(*augment(*augment(*augment(*augment(x, y))))))
model.fit(dataset(), epochs=1, verbose=0, validation_data=seldom)
print(f"{MODE}: {STEPS} steps")
