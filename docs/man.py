# SPDX-License-Identifier: Apache-2.0
"""Writes a program's page for man(1) to stdout, from what its --help prints.

    docs/man.py PROGRAM
"""
import itertools
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import time

DATE = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
PROGRAM = pathlib.Path(sys.argv[1])


def said(*args):
    return subprocess.run([PROGRAM, *args], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.rstrip("\n")


def text(line):
    """A line of text that mdoc takes for nothing else."""
    line = line.replace("\\", "\\e")
    return "\\&" + line if line[:1] in (".", "'") else line


def sentences(lines):
    """Each sentence begins a line, as mdoc wants it."""
    for sentence in re.split(r"(?<=\.) +(?=['A-Z])",
                             " ".join(line.strip() for line in lines)):
        yield from (text(line) for line in textwrap.wrap(
            sentence, 78, break_on_hyphens=False, break_long_words=False))


def flags(head):
    """--from='24h', --to='0s' as the head of a list's item."""
    return " , ".join(
        re.sub(r"^-(\S*?)(?:=(.*))?$",
               lambda m: f"Fl {m[1]}" + (f" Ns = Ns Li {m[2]}" if m[2] else ""),
               flag) for flag in head.rstrip(":").split(", "))


def body(lines):
    """Paragraphs, and flags with their text under them."""
    listed = False
    for kind, group in itertools.groupby(
            lines, lambda line: re.match(r" {4}-| *", line)[0]):
        if kind == "" and listed:
            yield ".El"
            yield ".Pp"
            listed = False
        for line in group if kind == "    -" else ():
            if not listed:
                yield ".Bl -tag -width Ds"
            listed = True
            yield ".It " + flags(line.strip())
        if kind != "    -":
            for full, part in itertools.groupby(group, bool):
                yield from sentences(part) if full else [".Pp"]
    if listed:
        yield ".El"


def page():
    about, _, rest = said("--help").partition("\n\nUsage:")
    commands = re.findall(r"^    (\w+) +(.*)$", rest, re.M)
    name = PROGRAM.name
    yield f".Dd {time.strftime('%B %-d, %Y', DATE)}"
    yield f".Dt {name.upper()} 1"
    yield ".Os"
    yield ".Sh NAME"
    yield f".Nm {name}"
    yield f".Nd {about[0].lower()}{about[1:].rstrip('.')}"
    yield ".Sh SYNOPSIS"
    yield ".Nm"
    yield ".Ar command"
    yield ".Op Ar flags"
    yield ".Sh DESCRIPTION"
    yield "The commands are:"
    yield ".Bl -tag -width uninstall"
    for command, what in commands:
        yield f".It Cm {command}"
        yield text(what)
    yield ".El"
    for command, _ in commands:
        usage, _, rest = said(command, "--help").partition("\n\n")
        yield f".Ss {command}"
        yield ".Bd -literal -compact"
        yield from map(text, textwrap.dedent(
            usage.replace("Usage:", "      ", 1)).splitlines())
        yield ".Ed"
        yield ".Pp"
        yield from body(rest.splitlines())
    yield ".Sh SEE ALSO"
    other, = {"karpenter-node-holder", "holderctl"} - {name}
    yield f".Xr {other} 1"


# two .Pp, or one before a list, a section or the end, are too many
page = "\n".join(page()) + "\n"
print(re.sub(r"(?:\.Pp\n)+(?=\.(?:Pp|Bl|Ss|Sh|Ed))", "", page), end="")
