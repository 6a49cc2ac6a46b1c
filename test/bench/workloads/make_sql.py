# SPDX-License-Identifier: Apache-2.0
"""Prints a script for the sqlite3 shell: a table of ROWS rows, two indexes, 25 queries. Deterministic.

    make_sql.py ROWS
"""
import sys


def main():
    rows = int(sys.argv[1])
    state = 1
    out = ["create table item(id integer primary key, name text, kind integer, price real);", "begin;"]
    for i in range(rows):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        out.append(f"insert into item values({i},'item {state % 99991} of the list',{state % 97},{state % 10007}.25);")
    out.append("commit;")
    out.append("create index item_kind on item(kind);")
    out.append("create index item_name on item(name);")
    for i in range(25):
        out.append(f"select kind, count(*), sum(price), max(name) from item where kind % 25 = {i} group by kind order by 3;")
    sys.stdout.write("\n".join(out) + "\n")


main()
