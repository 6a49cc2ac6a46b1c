#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A build that fails when a step gets slower or the peak grows. Two builds of a program, in turns on one machine:
#
#   BASE="python3 base/train.py" NEW="python3 new/train.py" examples/ci_gate.sh
#
# or, where the older build is not at hand, figures of it that are kept in the repository (made on the same kind of machine):
#
#   BASELINE=perf.baseline NEW="python3 train.py" examples/ci_gate.sh
#   ACCEPT=1 BASELINE=perf.baseline NEW="python3 train.py" examples/ci_gate.sh      # writes that file
#
# A GitHub Actions step:  - run: BASE="python3 base/train.py" NEW="python3 new/train.py" examples/ci_gate.sh >> "$GITHUB_STEP_SUMMARY"
#
# Status: 0 kept, 3 slower or bigger, 4 cannot be told even with MOST runs a side (the caller decides; the reason is printed), else
# something failed. Prints markdown for a comment; $OUT/limits.xml is JUnit's.
set -eu

: "${NEW:?name the command of the new build}"
TFPROF=${TFPROF:-build}                      # where tfprof and tfprof-reduce are
OUT=${OUT:-tfprof-gate}                      # logs; made anew
RUNS=${RUNS:-7} MOST=${MOST:-14}             # runs a side at first, and at most
LIMITS=${LIMITS:-"step_cpu=5% peak:heap=5%"}

record() { # SIDE NUMBER COMMAND: each run has a folder of its own, so that runs of one job stay apart
	"$TFPROF/tfprof" run --out="$OUT/$1/$2" -- sh -c "$3" >"$OUT/$1-$2.out" 2>&1 || { cat "$OUT/$1-$2.out" >&2; exit 1; }
}

rm -rf "$OUT/base" "$OUT/new"
mkdir -p "$OUT/base" "$OUT/new"
from=1 to=$RUNS
set -- --run=each # from here on the arguments are options of tfprof-reduce
for limit in $LIMITS; do set -- "$@" "--limit=$limit"; done
[ -z "${BASELINE:-}" ] || set -- "$@" "--against=$BASELINE"

if [ -n "${ACCEPT:-}" ]; then
	for i in $(seq "$RUNS"); do record new "$i" "$NEW"; done
	exec "$TFPROF/tfprof-reduce" "$OUT"/new/* --run=each -f baseline -o "${BASELINE:?name the file to write}"
fi

while :; do
	for i in $(seq "$from" "$to"); do
		[ -n "${BASELINE:-}" ] || { record base "$i" "${BASE:?name the command of the older build, or BASELINE}"; set -- "$@" "--against=$OUT/base/$i"; }
		record new "$i" "$NEW"
	done
	status=0
	"$TFPROF/tfprof-reduce" "$OUT"/new/* "$@" -t comparison.limits,comparison.times,comparison.memory,comparison.runs -f markdown \
		>"$OUT/comment.md" || status=$?
	[ "$status" = 4 ] && [ "$to" -lt "$MOST" ] || break
	from=$((to + 1)) to=$MOST # more runs, once
done
cat "$OUT/comment.md"
# Who it was: functions, ops, kernels and memory of all runs of both sides, where a limit is not kept for sure.
case "$status" in
3 | 4)
	"$TFPROF/tfprof-reduce" "$OUT"/new/* "$@" -f markdown \
		-t comparison.environment,comparison.python,comparison.native,comparison.ops,comparison.kernels,comparison.sites 2>/dev/null || :
	;;
esac
"$TFPROF/tfprof-reduce" "$OUT"/new/* "$@" -f junit -o "$OUT/limits.xml" 2>/dev/null || :
exit "$status"
