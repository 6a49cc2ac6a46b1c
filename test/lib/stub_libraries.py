# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for libraries that a package needs and this machine lacks (NVIDIA's, for PyTorch's only wheel), so that it
loads and works on the CPU: stub_libraries.py OUT LIBRARY...

Every function of a stand-in answers 100, which those interfaces call "no device". Rule: names and versions are read from the
libraries that ask for them; a library that the machine has is left alone.
"""
import os
import re
import subprocess
import sys

STAND_IN = re.compile(r"lib(cu|nv|nccl)")
ASKED = re.compile(r"(cu|nv|nccl|__cuda)[A-Za-z0-9_]*$")


def tool(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", tool("readelf", "-dW", path))


def symbols(path, which):
    """(name, version or None) of a library's defined or undefined dynamic symbols."""
    for line in tool("nm", "-D", which, path).splitlines():
        name, _, version = line.split()[-1].partition("@")
        yield name, version.lstrip("@") or None


def versions_wanted(path):
    """library -> version names that `path` asks it for."""
    wanted, library = {}, None
    for line in tool("readelf", "-VW", path).splitlines():
        file = re.search(r"File: (\S+)", line)
        if file:
            library = file.group(1)
        name = re.search(r"Name: (\S+)\s+Flags", line)
        if name and library:
            wanted.setdefault(library, set()).add(name.group(1))
    return wanted


def build(out, soname, plain, by_version):
    source, script = os.path.join(out, "stub.c"), os.path.join(out, "stub.map")
    names = sorted(set(plain) | {name for of in by_version.values() for name in of})
    with open(source, "w") as file:
        file.write("".join(f"int {name}(void) {{ return 100; }}\n" for name in names) or "extern int none;\n")
    command = ["gcc", "-w", "-shared", "-fPIC", "-fno-builtin", "-o", os.path.join(out, soname), source, f"-Wl,-soname,{soname}"]
    if by_version:
        with open(script, "w") as file:
            for version in sorted(by_version):
                listed = "".join(f" {name};" for name in sorted(by_version[version]))
                file.write(f"{version} {{{' global:' + listed if listed else ''} }};\n")
        command.append(f"-Wl,--version-script,{script}")
    subprocess.run(command, check=True)


def main(out, libraries):
    os.makedirs(out, exist_ok=True)
    have = {os.path.basename(path) for path in libraries}
    missing = sorted({name for path in libraries for name in needed(path) if STAND_IN.match(name)} - have)
    defined = {name for path in libraries for name, _ in symbols(path, "--defined-only")}
    asked, wanted = set(), {}
    for path in libraries:
        asked |= {(name, version) for name, version in symbols(path, "--undefined-only") if name not in defined}
        for library, versions in versions_wanted(path).items():
            wanted.setdefault(library, set()).update(versions)
    plain = {name for name, version in asked if not version and ASKED.match(name)}
    for soname in missing:
        by_version = {version: {name for name, of in asked if of == version} for version in wanted.get(soname, ())}
        # Which library an unversioned name belongs to is not said: each that has no versions of its own gets it.
        build(out, soname, () if by_version else plain, by_version)
    print(f"{len(missing)} stand-ins")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
