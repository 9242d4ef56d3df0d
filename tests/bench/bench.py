#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make bench PARTS="webhook spread ...": compares the holder with its peers.

docs/performance.md says what each part measures.
"""
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e" / "lib"), str(HERE.parent), str(HERE)]

import measure  # noqa: E402
from controlplane import BUILD, end_on_signals  # noqa: E402

import admission  # noqa: E402
import growth  # noqa: E402
import holding  # noqa: E402
import logs  # noqa: E402
import pictures  # noqa: E402

PARTS = {**admission.PARTS, **holding.PARTS, **growth.PARTS, **logs.PARTS}
SHORT = ["webhook", "one", "connections"]


def main(names):
    unknown = [n for n in names if n not in PARTS]
    if unknown:
        sys.exit(f"bench: no part {', '.join(unknown)}; "
                 f"there are: {' '.join(PARTS)}")
    if not names:
        print("parts, for PARTS=\"...\":")
        for name, part in PARTS.items():
            print(f"  {name:12} {part.run.__doc__}")
        print(f"without PARTS: {' '.join(SHORT)}", flush=True)
    names = names or SHORT
    needs = sorted({n for name in names for n in PARTS[name].needs})
    if needs:
        subprocess.run([HERE.parent / "e2e" / "lib" / "binaries.sh", *needs],
                       stdin=subprocess.DEVNULL, check=True)
    end_on_signals()
    print(f"{measure.ROUNDS} rounds by turns; each ratio is the median of the "
          f"rounds' (least to most); {os.cpu_count()} cores, "
          f"load {os.getloadavg()[0]:.1f}", flush=True)
    out = BUILD / "bench.json"
    for name in names:
        PARTS[name].run()
        # Now, so that they stay if a later part fails or is stopped.
        for picture, svg in pictures.draw(measure.save(out)).items():
            (BUILD / f"bench-{picture}.svg").write_text(svg)
    missed = [r["what"] for r in measure.rows if not r["holds"]]
    print(f"\n{len(measure.rows)} figures, in {out.with_suffix('.md')}; missed: "
          + ("; ".join(missed) or "none"))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("bench: stopped; the figures of the parts that were done stay")
