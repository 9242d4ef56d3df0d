# SPDX-License-Identifier: Apache-2.0
"""python3 -m scripted_api: serves until stdin ends, or tests itself."""
import argparse
import sys

from . import ScriptedApi, __doc__ as about
from .selftest import selftest


def main():
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument("--selftest", action="store_true")
    if parser.parse_args().selftest:
        selftest()
        return
    with ScriptedApi() as api:
        print(api.port, flush=True)
        sys.stdin.read()


main()
