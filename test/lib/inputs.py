# SPDX-License-Identifier: Apache-2.0
"""What the input tables say of a run, and what holds for every run. Rule: one call of the reducer a run: it may be slow."""
import json

from house import check, equal, reduce

STAGES = ["demand_read", "advance_read", "preprocessing", "enqueue", "other"]
QUIET = {"PYTHONWARNINGS": "ignore", "TF_CPP_MIN_LOG_LEVEL": "3"}


def tables(paths):
    """The tables of input, tf.data and the split of steps by id: rows as dicts; and what input.verdict notes, as one text."""
    whole = json.loads(reduce(paths, "-t", "input,tf_data,overview.split", "-f", "json", "--top", "0"))["tables"]
    found = {}
    for name, one in whole.items():
        ids = [column["id"] for column in one["columns"]]
        found[name] = [row if isinstance(row, dict) else dict(zip(ids, row)) for row in one["rows"]]
    return found, " ".join(note["text"] if isinstance(note, dict) else str(note) for note in whole["input.verdict"]["notes"])


def verdict(paths, what, wanted, stage=""):
    """Checks the verdict, and that the tables agree. Returns its row, the parts of the host by stage, all tables, the notes."""
    found, notes = tables(paths)
    equal(len(found["input.verdict"]), 1, f"{what}: processes with steps")
    row = found["input.verdict"][0]
    equal(row["verdict"], wanted, f"{what}: verdict ({row})")
    if stage:
        check(stage in row["stage"], f"{what}: the stage is {row['stage']}, wanted {stage}")
        check(row["remedy"], f"{what}: no remedy")
    else:
        check(not row["stage"], f"{what}: stage {row}")
    check(row["wait_min_ns"] <= row["wait_mean_ns"] <= row["wait_max_ns"], f"{what}: range of the wait {row}")
    equal(len(found["input.steps"]), row["steps"], f"{what}: rows of input.steps")
    equal(sum(step["wait_ns"] for step in found["input.steps"]), row["wait_total_ns"], f"{what}: waits of the steps")
    equal([part["stage"] for part in found["input.host"]], STAGES, f"{what}: stages")
    split = {part["category"]: part["total_ns"] for part in found["overview.split"]}
    equal(split["input"], row["wait_total_ns"], f"{what}: the same wait in overview.split")
    return row, {part["stage"]: part for part in found["input.host"]}, found, notes
