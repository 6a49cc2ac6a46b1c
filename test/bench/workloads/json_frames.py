# SPDX-License-Identifier: Apache-2.0
"""A data script: JSON round trips, data frames, arrays. Deterministic; prints a checksum. For PYTHONMALLOC both ways.

    json_frames.py ROUNDS
"""
import json
import sys

import numpy
import pandas


def documents(count):
    return [{"id": i, "name": f"name {i}", "tags": [str(i % 7), str(i % 11)], "value": i * 0.5,
             "inner": {"a": i, "b": [i, i + 1, i + 2]}} for i in range(count)]


def one_round(number):
    text = json.dumps(documents(1500))
    rows = json.loads(text)
    frame = pandas.DataFrame([{"id": r["id"], "kind": r["tags"][0], "value": r["value"]} for r in rows])
    groups = frame.groupby("kind")["value"].agg(["sum", "mean", "count"])
    matrix = numpy.outer(numpy.arange(300), numpy.arange(300) + number)
    merged = frame.merge(groups, on="kind").sort_values(["kind", "value"])
    return len(text) + float(merged["sum"].sum()) + float(matrix.sum())


def main():
    print("checksum", sum(one_round(i) for i in range(int(sys.argv[1]))))


main()
