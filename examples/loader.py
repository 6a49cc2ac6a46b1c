# SPDX-License-Identifier: Apache-2.0
"""An input pipeline for the training examples: shuffled batches of noisy patterns, prepared ahead on a thread."""
import queue
import threading

import numpy as np

CLASSES = 10
FEATURES = 28 * 28


class Patterns:
    """Labelled samples: each class is a fixed pattern, each sample the pattern under noise, so that it can be learnt."""

    def __init__(self, samples, seed=1):
        rng = np.random.default_rng(seed)
        patterns = rng.normal(size=(CLASSES, FEATURES)).astype(np.float32)
        self.labels = rng.integers(0, CLASSES, samples)
        self.images = patterns[self.labels] + rng.normal(scale=4.0, size=(samples, FEATURES)).astype(np.float32)


def batches(data, size, epochs, ahead=4, seed=2):
    """Yields (images, labels) of `size` samples, `epochs` times over, `ahead` of them prepared before they are asked."""
    ready = queue.Queue(maxsize=ahead)

    def prepare():
        rng = np.random.default_rng(seed)
        for _ in range(epochs):
            order = rng.permutation(len(data.labels))
            for start in range(0, len(order) - size + 1, size):
                chosen = order[start:start + size]
                images = data.images[chosen]
                images -= images.mean(axis=1, keepdims=True)
                ready.put((images / images.std(axis=1, keepdims=True), data.labels[chosen]))
        ready.put(None)

    threading.Thread(target=prepare, daemon=True).start()
    while (batch := ready.get()) is not None:
        yield batch
