# SPDX-License-Identifier: MIT
"""Draws the lines of a terminal (with SGR sequences, as tmux prints them) as SVG.

    tmux capture-pane -e -p | python3 tools/screenshot.py TITLE >FILE
"""
import html
import re
import sys

WIDTH, HEIGHT, COLUMNS = 8.4, 18, 96
PAPER, INK = "#1b1f24", "#d7dde4"
COLOURS = {31: "#ff7b72", 32: "#7ee787", 33: "#e3b341"}


class Look:
    """What the sequences so far say."""

    def __init__(self):
        self.colour, self.bold, self.dim, self.reverse = INK, False, False, False

    def apply(self, numbers):
        for n in numbers or [0]:
            if n == 0:
                self.__init__()
            elif n == 39:
                self.colour = INK
            elif n in COLOURS:
                self.colour = COLOURS[n]
            elif n == 1:
                self.bold = True
            elif n == 2:
                self.dim = True
            elif n == 7:
                self.reverse = True
            elif n == 22:
                self.bold = self.dim = False
            elif n == 27:
                self.reverse = False


def draw_run(x, y, text, look):
    """Returns one run of characters that look alike."""
    out = ""
    colour = look.colour
    if look.reverse:
        out += (f'<rect x="{x * WIDTH:.1f}" y="{y * HEIGHT + 4}" '
                f'width="{len(text) * WIDTH:.1f}" height="{HEIGHT}" '
                f'fill="{colour}"/>\n')
        colour = PAPER
    if text.strip():
        style = ' font-weight="bold"' if look.bold else ""
        style += ' opacity="0.6"' if look.dim else ""
        out += (f'<text x="{x * WIDTH:.1f}" y="{(y + 1) * HEIGHT}" '
                f'textLength="{len(text) * WIDTH:.1f}" fill="{colour}"{style} '
                f'xml:space="preserve">{html.escape(text)}</text>\n')
    return out


def main():
    lines = sys.stdin.read().rstrip("\n").split("\n")
    look, body = Look(), ""
    for y, line in enumerate(lines):
        x = 0
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            found = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
            if found:
                look.apply([int(n or 0) for n in found[1].split(";")])
            elif part:
                body += draw_run(x, y, part, look)
                x += len(part)
    width, height = COLUMNS * WIDTH + 16, len(lines) * HEIGHT + 20
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
          f'height="{height}" role="img">\n'
          f'<title>{html.escape(sys.argv[1])}</title>\n'
          f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>\n'
          '<g transform="translate(8,6)" font-size="14" '
          f'font-family="DejaVu Sans Mono, Menlo, monospace">\n{body}</g></svg>')


main()
