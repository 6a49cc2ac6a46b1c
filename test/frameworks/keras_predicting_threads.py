# SPDX-License-Identifier: Apache-2.0
"""Three threads answer, each by Keras' predict, whose two batches come while the others' do. Knows nothing of tfprof."""
import threading

import keras
import numpy

ROUNDS, THREADS = 4, 3
model = keras.Sequential([keras.layers.Input((16,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(4)])
model.predict(numpy.zeros((64, 16), "float32"), verbose=0)
turn = threading.Barrier(THREADS)


class Meeting(keras.callbacks.Callback):
    def on_predict_batch_begin(self, batch, logs=None):  # all have a batch before any takes the next one
        turn.wait()


def serve():
    for _ in range(ROUNDS):
        model.predict(numpy.zeros((64, 16), "float32"), verbose=0, callbacks=[Meeting()])


threads = [threading.Thread(target=serve) for _ in range(THREADS)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print("done")
