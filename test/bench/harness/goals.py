# SPDX-License-Identifier: Apache-2.0
"""The goals of goals.tsv against the figures. The one rule: a goal is a row of that file and nothing else; a goal that
was not measured is listed, never passed over."""
import dataclasses
import os

from harness import places, tools
from harness.metrics import METRICS, added_ns, best, seen

FIELDS = ("id", "group", "metric", "workload", "tool", "op", "limit", "unit", "peers", "text")
ENOUGH_SEEN = 0.99


@dataclasses.dataclass
class Goal:
    id: str
    group: str
    metric: str
    workload: str
    tool: str
    op: str
    limit: str
    unit: str
    peers: str
    text: str


@dataclasses.dataclass
class Verdict:
    """state: met, MISSED, not measured, or not built."""
    goal: Goal
    value: float
    limit: float
    peer: str
    peer_value: float
    state: str


def load():
    rows = []
    with open(os.path.join(places.BENCH, "goals.tsv")) as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#") or not line.strip():
                continue
            cells = line.rstrip("\n").split("\t")
            if len(cells) != len(FIELDS) or cells[2] not in METRICS and cells[2] != "cheaper":
                raise SystemExit(f"goals.tsv:{number}: {len(cells)} fields, metric {cells[2:3]}")
            rows.append(Goal(*cells))
    return rows


def is_peer(tool, peers):
    if tool.ours or tool.name in ("plain", "nop", "count"):
        return False
    return {"stacks": tool.records == "all" and tool.stacks == "exact",
            "events": tool.records == "all",
            "sample": tool.records == "sample",
            "heaptrack": tool.name.startswith("heaptrack") and not tool.name.endswith("raw")}.get(peers, False)


def saw_enough(results, workload, tool):
    share = seen(results, workload, tool.name)
    return share is None or share >= ENOUGH_SEEN


def best_peer(results, goal, metric):
    """(name, value) of the peer with the least value of a metric, or (None, None)."""
    found = [(metric(results, goal.workload, t.name), t.name) for t in tools.TOOLS
             if is_peer(t, goal.peers) and saw_enough(results, goal.workload, t)]
    found = [f for f in found if f[0] is not None]
    return (min(found)[1], min(found)[0]) if found else (None, None)


def added(results, workload, tool):
    """What the tool adds, in the workload's own unit."""
    return added_ns(results, workload, tool) if best(results, workload, "plain") else None


def measure(results, goal):
    """(value, peer, value of the peer)."""
    if goal.metric != "cheaper":
        metric = METRICS[goal.metric]
        return (metric(results, goal.workload, goal.tool), *best_peer(results, goal, metric))
    peer, theirs = best_peer(results, goal, added)
    mine = added(results, goal.workload, goal.tool)
    times = theirs / max(mine, 1e-9) if theirs is not None and mine is not None else None
    return times, peer, theirs


def judge(results, goal):
    value, peer, theirs = measure(results, goal)
    if goal.tool not in tools.BY_NAME:
        return Verdict(goal, None, None, None, None, "not built")
    limit = theirs if goal.op == "<peer" else float(goal.limit)
    if value is None or limit is None:
        return Verdict(goal, value, limit, peer, theirs, "not measured")
    met = value >= limit if goal.op == ">=" else value <= limit
    return Verdict(goal, value, limit, peer, theirs, "met" if met else "MISSED")
