# SPDX-License-Identifier: Apache-2.0
"""The tables of one log as each format has them, in one shape: {table: (columns, rows)}, a cell None, int, float or text.

Rule: each format is read as its consumer reads it, by the standard's rules alone; what a column means is asked of -f json.
"""
import csv
import glob
import html.parser
import json
import os
import re
import sqlite3

from house import check, equal, reduce, scratch

HUMAN = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50, "EiB": 1 << 60,
         "ns": 1, "us": 10 ** 3, "ms": 10 ** 6, "s": 10 ** 9, "k": 10 ** 3, "M": 10 ** 6, "G": 10 ** 9, "T": 10 ** 12, "%": 0.01, "mW": 1, "W": 10 ** 3, "kW": 10 ** 6,
         "mJ": 1, "J": 10 ** 3, "kJ": 10 ** 6, "MJ": 10 ** 9, "MHz": 1, "C": 1}


def from_json(paths, *options):
    """{table: {"columns": [...], "rows": [{id: value}], "notes": [...]}}: what the others are held against."""
    return json.loads(reduce(paths, "-f", "json", *options))["tables"]


def escaped(text):
    """A text of the JSON as the other formats have it: what steers a terminal is spelled out."""
    for character, name in ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"):
        text = text.replace(character, name)
    return text


def typed(text, column):
    if text == "":
        return None
    return int(text) if column["type"] == "integer" else float(text) if column["type"] == "real" else text


def from_csv(paths, tables, *options):
    folder = scratch(f"csv{len(glob.glob(scratch('') + 'csv*'))}")
    reduce(paths, "-t", ",".join(tables), "-f", "csv", "-o", folder, *options)
    found = {}
    for name, table in tables.items():
        with open(f"{folder}/{name}.csv", newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        equal(head, [column["id"] for column in table["columns"]], f"csv columns of {name}")
        found[name] = [[typed(text, column) for text, column in zip(row, table["columns"])] for row in rows]
    return found


def from_sqlite(paths, tables, *options):
    path = f"{scratch('sqlite')}/{len(os.listdir(scratch('sqlite')))}.db"
    reduce(paths, "-t", ",".join(tables), "-f", "sqlite", "-o", path, *options)
    database = sqlite3.connect(path)
    return {name: [list(row) for row in database.execute(f"SELECT * FROM {name.replace('.', '_')}")] for name in tables}


class Script(html.parser.HTMLParser):
    """The text of the element with id run."""

    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.is_inside, self.text = False, ""

    def handle_starttag(self, tag, attributes):
        self.is_inside = dict(attributes).get("id") == "run"

    def handle_data(self, data):
        self.text += data if self.is_inside else ""

    def handle_endtag(self, tag):
        self.is_inside = False


def from_html(paths, *options):
    """Tables as the page's script parses them, stacks as it prints them."""
    path = f"{scratch('html')}/{len(os.listdir(scratch('html')))}.html"
    reduce(paths, "--html", path, *options)
    script = Script()
    with open(path, encoding="utf-8") as file:
        script.feed(file.read())
    run = json.loads(script.text)
    names = [frame["name"] for frame in run["frames"]]
    return {table["id"]: [[";".join(names[frame] for frame in reversed(cell)) if isinstance(cell, list) else cell for cell in row]
                          for row in table["rows"]] for table in run["tables"]}


def from_markdown(paths, tables, *options):
    """Cells as texts."""
    found, name = {}, None
    for line in reduce(paths, "-t", ",".join(tables), "-f", "markdown", *options).splitlines():
        if line.startswith("## "):
            name, found[line[3:].replace("\\", "")] = line[3:].replace("\\", ""), []
        elif line.startswith("|"):
            found[name].append([re.sub(r"\\([^\w\s])", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return {name: rows[2:] for name, rows in found.items()}


def is_human(text, value, column):
    """Does a text of three digits and a unit say this value?"""
    if value is None:
        return text == ""
    if text == "<0.001 %":
        return 0 < value < 1e-5
    spans = re.fullmatch(r"(-?)(\d+) ([mh]) (\d\d) [sm]", text)
    if spans:
        large, small = (60, 1) if spans[3] == "m" else (3600, 60)
        found = (int(spans[2]) * large + int(spans[4]) * small) * 10 ** 9
        return abs(abs(value) - found) <= small * 10 ** 9
    digits, _, unit = text.replace(",", "").partition(" ")
    scale = HUMAN.get(unit.removesuffix("/s").removesuffix("flop"), 1 if unit in ("flop", "flop/s") else None) if unit else 1
    if scale is None or not re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", digits):
        return False
    step = 10 ** -len(digits.partition(".")[2]) if "e" not in digits else 0
    room = scale * step * 0.51 if unit and unit != "%" else 0.51 * step if column["type"] == "real" else 0
    return abs(float(digits) * scale - value) <= max(room, abs(value) * 6e-3 if column["type"] == "real" else 0) + 1e-12


def same_cell(found, wanted, column):
    """Reals have nine digits in texts."""
    if column["type"] == "stack":
        names = [frame["function"] for frame in reversed(wanted or [])]
        # A name that is only near stands in csv with a mark before and an offset behind.
        return all(name[:20] in (found or "") for name in names) and (found or "").count(";") >= len(names) - 1
    if column["type"] == "text":
        return (found or "") == escaped(wanted or "")  # csv has one empty field for an empty text and for none
    if isinstance(wanted, float) or isinstance(found, float):
        return found is not None and wanted is not None and abs(found - wanted) <= 1e-8 * max(abs(found), abs(wanted))
    return found == wanted


def rows_of_few(found, table, same):
    """Of a table's rows those that a few stand for: the first, or of moments each so-and-so-many-th."""
    def are_alike(step):
        return all(same(cell, wanted[column["id"]], column) for row, wanted in zip(found, table["rows"][::step])
                   for cell, column in zip(row, table["columns"]))
    count = len(table["rows"])
    steps = [step for step in range(2, count) if -(-count // step) == len(found)]
    return next((table["rows"][::step] for step in steps if not are_alike(1) and are_alike(step)), table["rows"])


def compare(found, tables, what, same=same_cell, is_whole=True):
    """Every cell of every table. found: {table: rows of cells}; is_whole: of all rows. Returns how many were held against each other."""
    count = 0
    for name, table in tables.items():
        check(name in found, f"{what} lacks {name}")
        check(len(found[name]) == len(table["rows"]) or not is_whole and found[name], f"{what}: {len(found[name])} rows of {name}, "
              f"json has {len(table['rows'])}")
        rows = table["rows"] if is_whole else rows_of_few(found[name], table, same)
        for at, (row, wanted) in enumerate(zip(found[name], rows)):
            for cell, column in zip(row, table["columns"]):
                value = wanted[column["id"]]
                check(same(cell, value, column), f"{what}: {name}, row {at}, {column['id']}: {cell!r}, json has {value!r}")
                count += 1
    return count
