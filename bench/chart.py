"""A bar chart as SVG: the service beside its bare twin."""

from xml.sax.saxutils import escape

# Sizes in pixels. LABELS, RATES and RATIOS are the widths of the names of cases, of the rates after the bars, and of the column of ratios.
WIDTH, MARGIN, LABELS, RATES, RATIOS = 860, 24, 150, 60, 120
BAR, GAP = 14, 16

STYLE = """
  .ground { fill: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e } .service { fill: #0969da } .bare { fill: #afb8c1 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .text { fill: #f0f6fc } .faint { fill: #9198a1 } .service { fill: #4493f8 } .bare { fill: #4d5560 }
  }
  text { font: 13px system-ui, sans-serif } .title { font-size: 16px; font-weight: 600 } .small { font-size: 12px }
  .ratio { text-anchor: end }
"""


def chart(results: list[dict], *, title: str, subtitles: list[str]) -> str:
    """Return an SVG image with two bars for each result of `measure.beside_bare`: the service and its twin."""
    longest = (
        max((result[server]["per second"] for result in results for server in ("service", "bare")), default=1) or 1
    )
    scale = (WIDTH - 2 * MARGIN - LABELS - RATES - RATIOS) / longest
    legend_at = MARGIN + 18 * len(subtitles) + 20
    parts, y = [], legend_at + BAR + GAP
    for result in results:
        parts.append(text(MARGIN, y + BAR + 4, result["case"]))
        for number, server in enumerate(("service", "bare")):
            rate, top = result[server]["per second"], y + number * (BAR + 1)
            length = max(1.0, rate * scale)
            parts.append(
                f'<rect class="{server}" x="{MARGIN + LABELS}" y="{top}" width="{length:.1f}" height="{BAR}" rx="2"/>'
            )
            parts.append(text(MARGIN + LABELS + length + 6, top + BAR - 3, f"{rate:,.0f}/s", kind="faint small"))
        parts.append(text(WIDTH - MARGIN, y + BAR + 4, f"{result['ratio']:.2f}", kind="text ratio"))
        y += 2 * BAR + GAP
    height = y + MARGIN - GAP
    legend = [text(WIDTH - MARGIN, legend_at + 11, "of the bare view", kind="faint small ratio")]
    for x, server, label in ((0, "service", "the service"), (110, "bare", "a bare view of the same SQL")):
        left = MARGIN + LABELS + x
        legend.append(f'<rect class="{server}" x="{left}" y="{legend_at}" width="{BAR}" height="{BAR}" rx="2"/>')
        legend.append(text(left + BAR + 6, legend_at + 11, label, kind="text small"))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="6"/>',
        text(MARGIN, MARGIN + 4, title, kind="text title"),
        *(
            text(MARGIN, MARGIN + 22 + 18 * number, subtitle, kind="faint small")
            for number, subtitle in enumerate(subtitles)
        ),
        *legend,
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def text(x: float, y: float, content: str, kind: str = "text") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(content)}</text>'
