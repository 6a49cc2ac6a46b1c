# SPDX-License-Identifier: Apache-2.0
"""One real program, once without us and once in each mode between the oracles: the body of the cases named equal-*.

Rule: the program is unmodified and comes from the distribution; what it prints must not depend on us.
"""
from house import check, plain, run, same
from oracle_check import compare

# settings, is the peak batched, which of the oracle's curves is the peak's
MODES = {
    "full": ({"MALLOC": "full"}, False, "known"),
    "totals": ({"MALLOC": "totals"}, True, "all"),
    "totals exact": ({"MALLOC": "totals", "TOTALS": "exact"}, False, "all"),
    "sample": ({"MALLOC": "sample:512k"}, True, "all"),
}
LEAST_CALLS = 10_000


def equal_to_oracle(argv, clean=lambda text: text, processes=1, threads=1, **more):
    """processes, threads: how many at least took part, so that the case still tests what it was written for."""
    wanted = plain(argv, **more)
    for mode, (settings, is_batched, curve) in MODES.items():
        found = run(argv, settings, oracle=True, **more)
        same(found, wanted, f"{mode}, between the oracles", clean)
        calls, images, most = compare(found, is_batched, curve)
        check(calls >= LEAST_CALLS, f"{mode}: only {calls} calls were compared")
        check(images >= processes, f"{mode}: only {images} processes were compared")
        check(most >= threads, f"{mode}: only {most} threads took part")
        print(f"{mode}: {calls} calls of {images} processes, at most {most} threads: equal")
    same(run(argv, {"SKIP": None}, **more), wanted, "default settings", clean)
