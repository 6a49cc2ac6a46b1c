# SPDX-License-Identifier: Apache-2.0
"""Starts a Redis server by the given command, loads it with redis-benchmark, ends it, and prints "seconds X": the time
of the client's five commands. Only the server runs under the tool; the port is private to this run.

    redis_load.py REQUESTS COMMAND... redis-server
"""
import os
import socket
import subprocess
import sys
import time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until_up(port, server):
    for _ in range(1000):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if server.poll() is not None:
                sys.exit("redis_load: the server ended before it answered")
            time.sleep(0.01)
    sys.exit("redis_load: the server does not answer")


def main():
    requests, command = sys.argv[1], sys.argv[2:]
    port = free_port()
    server = subprocess.Popen(command + ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                                         "--daemonize", "no"], stdout=subprocess.DEVNULL)
    plain = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD",)}
    try:
        wait_until_up(port, server)
        begin = time.monotonic()
        subprocess.run(["redis-benchmark", "-p", str(port), "-n", requests, "-r", "100000", "-P", "16", "-q",
                        "-t", "set,get,incr,lpush,sadd"], stdout=subprocess.DEVNULL, check=True, env=plain)
        print(f"seconds {time.monotonic() - begin:.6f}")
        subprocess.run(["redis-cli", "-p", str(port), "shutdown", "nosave"], stdout=subprocess.DEVNULL, env=plain)
        server.wait(60)
    finally:
        if server.poll() is None:
            server.terminate()


main()
