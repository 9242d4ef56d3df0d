# SPDX-License-Identifier: Apache-2.0
"""What a program shows on a terminal, and a picture of it.

    with Screen([...], env) as screen:
        until(lambda: "held" in screen.last(), 20, "held")
"""
import os
import pty
import signal
import subprocess
import threading

CLEARED = "\x1b[H\x1b[2J"
LINE, WIDE, MARGIN = 16, 7.25, 14     # of the picture, in pixels
STYLE = ("text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#e6edf3;"
         "white-space:pre}.c{fill:#7d8590}.p{fill:#7ee787}")


class Screen:
    """A program on a pseudo-terminal that clears the screen before all that it
    shows."""

    def __init__(self, argv, env):
        self.argv, self.env = argv, env
        self.shown = ""

    def __enter__(self):
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            self.argv, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
            start_new_session=True, env={**self.env, "TERM": "xterm"})
        os.close(theirs)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(20)
        self.thread.join(20)
        os.close(self.terminal)

    def _read(self):
        while True:
            try:
                part = os.read(self.terminal, 1 << 16)
            except OSError:     # nobody has the terminal any more
                return
            self.shown += part.decode(errors="replace").replace("\r\n", "\n")

    def frames(self):
        """All that it has shown, without what it is writing now."""
        return self.shown.split(CLEARED)[1:-1]

    def last(self):
        return (self.frames() or [""])[-1]


def escaped(text):
    return (text.replace("&", "&amp;").replace("<", "&lt;")
            .replace(">", "&gt;"))


def draw(command, frames):
    """frames: [(what is said of it, what the terminal shows)]"""
    rows = [("p", "$ " + command)]      # (class, text)
    for said, shown in frames:
        rows += [("", ""), ("c", "# " + said)]
        rows += [("", line) for line in shown.rstrip("\n").split("\n")]
    width = 2 * MARGIN + WIDE * max(len(text) for _, text in rows)
    height = 2 * MARGIN + LINE * len(rows)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
           f'height="{height}" viewBox="0 0 {width:.0f} {height}" role="img" '
           f'aria-label="{escaped(command)} in a terminal">',
           f"<style>{STYLE}</style>",
           '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>']
    for n, (cls, text) in enumerate(rows):
        if text:
            out.append(f'<text x="{MARGIN}" y="{MARGIN + LINE * n + 12}"'
                       + (f' class="{cls}"' if cls else "")
                       + f' xml:space="preserve">{escaped(text)}</text>')
    return "\n".join(out + ["</svg>", ""])
