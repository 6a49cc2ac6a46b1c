# SPDX-License-Identifier: Apache-2.0
"""Runs the real xprof package on files: xprof_run.py OUT.json < JSON list of [case, tool, [files]] ; in .venv's Python.

Rule: only the package's own conversion is called; its answers are written as they are. `None`: the tool serves nothing.
"""
import json
import os
import sys

from xprof.convert import raw_to_tool_data


def main():
    answers = []
    for case, tool, files in json.load(sys.stdin):
        hosts = [os.path.basename(name)[:-len(".xplane.pb")] for name in files]
        params = {"use_saved_result": False, **({"hosts": hosts} if tool == "trace_viewer@" else {})}
        try:
            data, _ = raw_to_tool_data.xspace_to_tool_data(files, tool, params)
        except Exception as error:  # the package's own failure is an answer too
            answers.append([case, tool, {"error": repr(error)}])
            continue
        answers.append([case, tool, None if data is None else json.loads(data)])
    with open(sys.argv[1], "w") as file:
        json.dump(answers, file)


main()
