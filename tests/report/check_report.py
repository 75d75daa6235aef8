#!/usr/bin/env python3
"""Opens report.html in headless Chromium and fails when a reader would see something broken.

    check_report.py LONGHAUL_PROGRAM SCENARIO.yaml WORK_FOLDER [--set KEY=VALUE]...

Runs the scenario, then checks that the page logs no error, asks for nothing but itself, and draws its
charts; leaves screenshots in WORK_FOLDER. Exit code 77 (skipped) without Chromium. Standard library only.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# The sandbox needs privileges that containers lack; the page is our own. The rest keeps Chromium quiet.
FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
         "--disable-component-update --disable-sync --disable-extensions --hide-scrollbars "
         "--enable-logging=stderr --v=0").split()
TIMEOUT_SECONDS = 120


def fail(message):
    sys.exit("FAILED: " + message)


def chromium(program, page, *flags):
    """Runs Chromium on the page; returns (standard output, console messages)."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [program, *FLAGS, "--user-data-dir=" + profile, *flags, page.as_uri()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_SECONDS, check=False)
    log = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        fail(f"chromium ended with code {done.returncode}:\n{log}")
    return done.stdout.decode(errors="replace"), re.findall(r".*CONSOLE.*", log)


def chart_of(dom, name):
    """The SVG inside <div class="chart" id="name">."""
    start = dom.find(f'id="{name}"')
    if start < 0:
        fail(f"no element #{name}")
    svg = dom.find("<svg", start)
    end = dom.find("</svg>", svg)
    if svg < 0 or end < 0 or svg - start > 400:
        fail(f"#{name} holds no drawing")
    return dom[svg:end]


def check_charts(dom, policies, points):
    for name in ("range", "wire", "tail"):
        svg = chart_of(dom, name)
        if len(re.findall(r"<(?:path|line|text)\b", svg)) < 10:
            fail(f"the chart #{name} is empty")
        if "NaN" in svg or "undefined" in svg:
            fail(f"the chart #{name} has coordinates that are no numbers")
    for policy in policies:
        if policy not in chart_of(dom, "range"):
            fail(f"the chart #range does not show {policy}")
    if points > 1 and not re.search(r'id="sweep-charts">(?:<figure>.*?<svg)+', dom, re.S):
        fail("the charts of the sweep are missing")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, scenario, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
    browser = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if browser is None:
        print("SKIPPED: Chromium is not installed")
        sys.exit(77)
    os.makedirs(folder, exist_ok=True)
    run = subprocess.run([program, "run", scenario, "--out", str(folder), "--quiet", *sys.argv[4:]], check=False)
    if run.returncode not in (0, 1):
        fail(f"longhaul ended with code {run.returncode}")
    page = folder / "report.html"
    text = page.read_text(encoding="utf-8")
    if re.search(r"<(?:script|img|iframe|link)[^>]*(?:src|href)=\"(?:https?:)?//", text):
        fail("the page loads something from elsewhere")
    policies = re.findall(r"<dt>((?:sr|ec)[^<]*)</dt>", text)
    points = len(re.findall(r"<option value=", text)) or 1
    dom, console = chromium(browser, page, "--window-size=1280,2400", "--dump-dom")
    if console:
        fail("the page logs:\n" + "\n".join(console))
    check_charts(dom, policies, points)
    for width, height in ((1280, 4200), (500, 6000)):
        picture = folder / f"report-{width}.png"
        _, console = chromium(browser, page, f"--window-size={width},{height}", f"--screenshot={picture}")
        if console or not picture.exists():
            fail(f"no clean screenshot at {width} pixels: {console}")
    print(f"ok: {page}, {points} points, {len(policies)} policies; screenshots beside it")


if __name__ == "__main__":
    main()
