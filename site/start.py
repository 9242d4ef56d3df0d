# SPDX-License-Identifier: Apache-2.0
"""Makes the start page of README.md: what a visitor wants comes first."""
import pathlib
import sys

readme = pathlib.Path(sys.argv[1])
start = pathlib.Path(__file__).with_name("start.txt").read_text()
intro, *sections = readme.read_text().split("\n## ")
named = {s.split("\n", 1)[0]: s for s in sections}
# The site's own navigation has the documents.
del named["Documents"]
named["Try it"] = named.pop("Try it")
readme.write_text("\n## ".join([intro + "\n" + start, *named.values()]) + "\n")
