# SPDX-License-Identifier: Apache-2.0
"""Keras over data of unknown length: 3 epochs of 12 batches with validation of 4, an evaluation of 4, one epoch of a compiled model
of 12 and 4, 6 batches by train_on_batch and 3 by test_on_batch, then 10 calls of a function of its own called train_step. Knows
nothing of tfprof."""
import keras
import numpy as np
import tensorflow as tf


def batches(count):
    def make():
        for i in range(count):
            yield np.full((8, 16), i, np.float32), np.zeros((8, 1), np.float32)

    kind = (tf.TensorSpec((None, 16), tf.float32), tf.TensorSpec((None, 1), tf.float32))
    return tf.data.Dataset.from_generator(make, output_signature=kind)


model = keras.Sequential([keras.layers.Input((16,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(1e-4), "mse")
model.fit(batches(12), validation_data=batches(4), epochs=3, verbose=0)
model.evaluate(batches(4), verbose=0)
compiled = keras.Sequential([keras.layers.Input((16,)), keras.layers.Dense(1)])
compiled.compile(keras.optimizers.SGD(1e-4), "mse", jit_compile=True)
compiled.fit(batches(12), validation_data=batches(4), verbose=0)
for inputs, targets in batches(6):
    model.train_on_batch(inputs, targets)
for inputs, targets in batches(3):
    model.test_on_batch(inputs, targets)
model.predict_on_batch(np.zeros((8, 16), np.float32))
model.predict(np.zeros((96, 16), np.float32), batch_size=8, verbose=0)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    for variable, gradient in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
        variable.assign_sub(1e-4 * gradient)
    return loss


for inputs, targets in batches(10):
    train_step(inputs, targets)
print("done")
