# SPDX-License-Identifier: Apache-2.0
"""A training script: SGD over mini batches, a small multi-layer perceptron, a forest. Deterministic.

    learn.py ROUNDS
"""
import sys
import warnings

import numpy
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier


def main():
    rounds = int(sys.argv[1])
    warnings.simplefilter("ignore")
    random = numpy.random.default_rng(1)
    inputs = random.normal(size=(2000, 30))
    labels = (inputs[:, 0] + inputs[:, 1] ** 2 > 0.5).astype(int)
    sgd = SGDClassifier(random_state=1)
    for i in range(300 * rounds):
        at = (i * 50) % 2000
        sgd.partial_fit(inputs[at:at + 50], labels[at:at + 50], classes=[0, 1])
    mlp = MLPClassifier((32,), max_iter=4 * rounds, random_state=1).fit(inputs, labels)
    forest = RandomForestClassifier(5 * rounds, max_depth=8, random_state=1, n_jobs=1).fit(inputs, labels)
    print("scores", sgd.score(inputs, labels), mlp.score(inputs, labels), forest.score(inputs, labels))


main()
