# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional net with Keras; knows nothing of tfprof: tensorflow_training.py STEPS [FOLDER]

`fit` over a tf.data pipeline, then a loop of its own: eager, as a graph, and compiled by XLA. With FOLDER its own profiler
looks at the second epoch of `fit` and writes there what it saw.
"""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf

steps, out = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
tf.keras.utils.set_random_seed(0)
tf.config.threading.set_inter_op_parallelism_threads(2)
tf.config.threading.set_intra_op_parallelism_threads(1)
images = np.random.rand(8 * steps, 28, 28, 1).astype("float32")
labels = np.random.randint(0, 10, 8 * steps)
data = (tf.data.Dataset.from_tensor_slices((images, labels))
        .map(lambda image, label: (image * 2 - 1, label), num_parallel_calls=2).batch(8, drop_remainder=True).prefetch(2))
net = tf.keras.Sequential([tf.keras.layers.Conv2D(8, 3, activation="relu", name="first"), tf.keras.layers.MaxPooling2D(),
                           tf.keras.layers.Flatten(), tf.keras.layers.Dense(10, name="last")])
measure = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
net.compile(optimizer=tf.keras.optimizers.SGD(0.01), loss=measure)
net.fit(data, epochs=1, verbose=0)
if out:
    tf.profiler.experimental.start(out)
net.fit(data, epochs=1, verbose=0)
if out:
    tf.profiler.experimental.stop()
optimizer = tf.keras.optimizers.SGD(0.01)


def train(batch, targets):
    with tf.GradientTape() as tape:
        loss = measure(targets, net(batch, training=True))
    found = tape.gradient(loss, net.trainable_variables)
    for variable, gradient in zip(net.trainable_variables, found):
        variable.assign_sub(0.01 * gradient)
    return loss


losses = []
for how in (train, tf.function(train), tf.function(train, jit_compile=True)):
    for batch, targets in data.take(3):
        losses.append(float(how(batch, targets)))
assert all(np.isfinite(losses))
print(len(losses), f"{losses[0]:.3f}")
