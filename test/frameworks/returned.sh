#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# returned.sh LIBRARY COMPILER [EMULATOR ...]: builds returned.cc in $TMPDIR, runs it under the library, looks at its log.
set -eu
library=$1 compiler=$2
shift 2
source=$(dirname "$0")/returned.cc
built=$TMPDIR/returned
mkdir -p "$built"
"$compiler" -std=c++17 -O1 -fPIC -shared -DTENSORFLOW -o "$built/libtensorflow_framework.so.2" "$source" \
	-Wl,-soname,libtensorflow_framework.so.2
"$compiler" -std=c++17 -O1 -fPIC -shared -DC10 -o "$built/libc10.so" "$source" -Wl,-soname,libc10.so
"$compiler" -std=c++17 -O1 -fPIC -shared -DTORCH -o "$built/libtorch_cpu.so" "$source" -Wl,-soname,libtorch_cpu.so
"$compiler" -std=c++17 -O1 -o "$built/program" "$source" "$built/libtensorflow_framework.so.2" "$built/libc10.so" \
	"$built/libtorch_cpu.so" -Wl,-rpath,"$built"
if [ $# -gt 0 ]; then
	set -- "$@" -E "TFPROF_OUT=$built/logs" -E "LD_PRELOAD=$library"
else
	set -- env "TFPROF_OUT=$built/logs" "LD_PRELOAD=$library"
fi
said=$("$@" "$built/program" 2>&1) || { echo "the program ended with $?: $said"; exit 1; }
[ "$said" = "all objects came whole" ] || { echo "the program said: $said"; exit 1; }
"$REDUCE" "$built/logs" --check
"$REDUCE" "$built/logs" -t op_stats -f csv | tee "$built/ops"
"$REDUCE" "$built/logs" -t tf_data.nodes -f csv | tee "$built/iterators"
[ "$(cut -d, -f4,5 "$built/ops" | LC_ALL=C sort | tr '\n' ' ')" = "Iterator::Root,100 aten::returned,100 name,occurrences returned,100 " ]
[ "$(cut -d, -f2,4 "$built/iterators" | tr '\n' ' ')" = "name,calls Root,100 " ]
grep -q ',a text that is too long to lie within its string' "$built/iterators"
