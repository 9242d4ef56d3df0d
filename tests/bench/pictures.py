# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/performance.md, from the figures of make bench."""
import math

from chart import BAD, FREE, HELD, PODS, STYLE, text

WIDTH, HEIGHT, TOP, LEFT, RIGHT, BOTTOM = 640, 360, 52, 74, 150, 52
# client-go's default limit, which a small program of Go seldom changes.
GO_WRITES = 5
NAMES = {"ours": ("holder", HELD), "peer": ("Go peer", BAD),
         "ceiling": ("ceiling", FREE),
         "go": (f"Go, {GO_WRITES} writes/s", PODS)}


class Axis:
    """A logarithmic scale from low to high, in pixels."""

    def __init__(self, low, high, begin, end):
        self.low, self.high = math.log(low), math.log(high)
        self.begin, self.end = begin, end

    def at(self, value):
        part = (math.log(value) - self.low) / (self.high - self.low)
        return self.begin + part * (self.end - self.begin)


def decades(low, high):
    """The powers of ten around low and high, and those between them."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0 ** n for n in range(first, max(last, first + 1) + 1)]


def plain(value):
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def told(value):
    """Three digits, and none as an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def picture(title, what, curves, x_ticks, x_of=lambda x: x, x_name=plain):
    """curves: {side: [[x, y], …]}; x_of: where an x lies on the scale."""
    ys = [y for points in curves.values() for _, y in points if y > 0]
    y_ticks = decades(min(ys), max(ys))
    x = Axis(x_of(x_ticks[0]), x_of(x_ticks[-1]), LEFT, WIDTH - RIGHT)
    y = Axis(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
           f'aria-label="{title}">', f"<style>{STYLE}</style>",
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           text(LEFT, 22, title, "h")]
    for tick in y_ticks:
        out += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y.at(tick):.1f}" '
                f'y2="{y.at(tick):.1f}" stroke="#d0d7de"/>',
                text(LEFT - 6, y.at(tick) + 4, plain(tick), "s r")]
    for tick in x_ticks:
        at = x.at(x_of(tick))
        out += [f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" '
                f'y2="{HEIGHT - BOTTOM}" stroke="#eaeef2"/>',
                text(at, HEIGHT - BOTTOM + 16, x_name(tick), "s m")]
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, what, "s m"))
    ends = []
    for side, points in curves.items():
        name, colour = NAMES[side]
        places = [(x.at(x_of(a)), y.at(b)) for a, b in points if b > 0]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        dash = ' stroke-dasharray="5 3"' if side == "go" else ""
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                   f'stroke-width="2"{dash}/>')
        out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>'
                for a, b in places]
        ends.append((places[-1][1], name, points[-1][1], colour))
    below = -math.inf
    for at, name, value, colour in sorted(ends):
        below = max(at + 4, below + 15)     # two names never overlap
        out.append(f'<g style="fill:{colour}">' + text(
            WIDTH - RIGHT + 8, below, f"{name} {told(value)}", "s") + "</g>")
    return "\n".join(out) + "\n</svg>\n"


def draw(curves):
    """Returns {name: text of an SVG} for all there are figures of."""
    drawn = {}
    if "latency" in curves:
        drawn["latency"] = picture(
            "Latency of a review on one connection, in ms",
            "percent of the reviews that took no longer", curves["latency"],
            [50, 90, 99, 99.9, 99.99], lambda p: 100 / (100 - p),
            lambda p: f"{p:g} %")
    # A machine waits for half of the spread, on the average.
    for name, title, share in (
            ("held", "From the first new NodeClaim until all are held, in s", 1),
            ("exposure", "How long a machine that Karpenter could take is not "
             "held, in s", 0.5)):
        if name not in curves or len(curves[name].get("ours", [])) < 2:
            continue
        sizes = [int(x) for x, _ in curves[name]["ours"]]
        go = [[n, share * n / GO_WRITES] for n in sizes]
        drawn[name] = picture(title, "machines", {**curves[name], "go": go},
                              sizes)
    return drawn
