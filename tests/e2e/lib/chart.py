# SPDX-License-Identifier: Apache-2.0
"""The picture of make demo: one panel for each run, all with the same scales.
"""
import math

WIDTH, PANEL, TOP, LEFT, RIGHT = 920, 190, 76, 40, 226
GAP = 62
NUMBER = 22   # the room that a number needs
FREE, HELD, PODS, BAD = "#9db4c8", "#2f7d5b", "#444c56", "#c0392b"
STYLE = ("text{font:13px sans-serif;fill:#24292f}.s{font-size:11px}"
         ".h{font-weight:bold;font-size:14px}.r{text-anchor:end}"
         ".m{text-anchor:middle}")


def text(x, y, words, cls=""):
    words = (str(words).replace("&", "&amp;").replace("<", "&lt;"))
    return (f'<text x="{x:.1f}" y="{y:.1f}"'
            + (f' class="{cls}"' if cls else "") + f">{words}</text>")


class Panel:
    def __init__(self, run, top, seconds, nodes, pods):
        self.run, self.top = run, top
        self.seconds, self.nodes, self.pods = seconds, nodes, pods
        self.width = WIDTH - LEFT - RIGHT

    def x(self, at):
        return LEFT + self.width * min(at, self.seconds) / self.seconds

    def y(self, value, full):
        return self.top + PANEL * (1 - value / full)

    def area(self, value, colour):
        """A step for each sample, down to the axis."""
        samples = self.run.samples
        points = [(self.x(0), self.y(0, self.nodes))]
        for a, b in zip(samples, samples[1:] + samples[-1:]):
            y = self.y(value(a), self.nodes)
            points += [(self.x(a.at), y), (self.x(b.at), y)]
        points.append((points[-1][0], self.y(0, self.nodes)))
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        return f'<polygon points="{path}" fill="{colour}"/>'

    def line(self):
        """The number of pods wanted."""
        points = []
        for s in self.run.samples:
            y = self.y(s.replicas, self.pods)
            if points:
                points.append((self.x(s.at), points[-1][1]))
            points.append((self.x(s.at), y))
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        return (f'<polyline points="{path}" fill="none" stroke="{PODS}" '
                'stroke-width="1.5" stroke-dasharray="5 3"/>')

    def marks(self):
        """Marks where Karpenter decided to disrupt, and how many nodes.  Lines
        that are too close for two numbers share one."""
        out, before, numbers = [], 0, []
        y = self.top - 4
        for s in self.run.samples:
            if s.disrupted > before:
                x = self.x(s.at)
                out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" '
                           f'y2="{self.top + PANEL}" stroke="{BAD}" '
                           'stroke-width="1.5"/>')
                if not numbers or x - numbers[-1][0] > NUMBER:
                    numbers.append((x, 0))
                numbers[-1] = (numbers[-1][0],
                               numbers[-1][1] + s.disrupted - before)
                before = s.disrupted
        return out + [f'<text x="{x:.1f}" y="{y - 3}" class="s m" '
                      f'fill="{BAD}" style="fill:{BAD}">-{n}</text>'
                      for x, n in numbers]

    def axes(self):
        bottom = self.top + PANEL
        out = [f'<path d="M{LEFT} {self.top}V{bottom}H{LEFT + self.width}" '
               'fill="none" stroke="#8b949e"/>',
               text(LEFT, self.top - 20, self.run.title, "h")]
        for n in range(0, self.nodes + 1, 2):
            out.append(text(LEFT - 6, self.y(n, self.nodes) + 4, n, "s r"))
        for at in range(0, self.seconds + 1, 20):
            out.append(text(self.x(at), bottom + 15, f"{at} s", "s m"))
        return out

    def notes(self):
        x, y = WIDTH - RIGHT + 14, self.top + 12
        out = []
        for name, value in self.run.figures().items():
            out += [text(x, y, value, "h"),
                    text(x, y + 14, name.strip(), "s")]
            y += 32
        return out

    def draw(self):
        return [self.area(lambda s: s.nodes, FREE),
                self.area(lambda s: s.held, HELD),
                self.line(), *self.marks(), *self.axes(), *self.notes()]


def legend(y):
    out, x = [], LEFT
    for colour, words in ((HELD, "nodes held"), (FREE, "other nodes")):
        out += [f'<rect x="{x}" y="{y - 10}" width="12" height="12" '
                f'fill="{colour}"/>', text(x + 18, y, words, "s")]
        x += 110
    out += [f'<line x1="{x}" x2="{x + 24}" y1="{y - 4}" y2="{y - 4}" '
            f'stroke="{PODS}" stroke-width="1.5" stroke-dasharray="5 3"/>',
            text(x + 30, y, "pods wanted, in nodes' worth", "s")]
    x += 215
    out += [f'<line x1="{x}" x2="{x}" y1="{y - 11}" y2="{y + 2}" '
            f'stroke="{BAD}" stroke-width="1.5"/>',
            text(x + 8, y, "Karpenter disrupts nodes", "s")]
    return out


def draw(runs, hold_seconds):
    """runs: two or more of wave.Wave, with figures(). Returns the text of an
    SVG."""
    seconds = math.ceil(max(r.samples[-1].at for r in runs))
    nodes = max(s.nodes for r in runs for s in r.samples) + 1
    per_node = 4    # pods of the demo on a node of the demo
    height = TOP + len(runs) * (PANEL + GAP) - 4
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{height}" viewBox="0 0 {WIDTH} {height}">',
           f"<style>{STYLE}</style>",
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
           text(LEFT, 22, "The same wave of load on real Karpenter", "h")]
    for i, run in enumerate(runs):
        top = TOP + i * (PANEL + GAP)
        out += Panel(run, top, seconds, nodes, nodes * per_node).draw()
    out += legend(height - 14)
    return "\n".join(out) + "\n</svg>\n"
