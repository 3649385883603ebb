#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the page and plots of convbench: that they are whole and well-formed, need nothing else, can be read without
seeing them, and look as they should in a browser (chromium, if there is one) in light and in dark.
usage: check_page.py CONVBENCH PEER_ORACLE"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

SVG = '{http://www.w3.org/2000/svg}'
FAST = ['--time', '0.01']
PROBLEMS = ['2x9x9 3x3 p1', '4x5x5 1x1 b relu', '8x12x12 8x3x3 g8']
VOID = {'meta', 'br', 'hr', 'img', 'input', 'link'}
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


class Page(HTMLParser):
    """Elements with their attributes, the text, and whether every tag was closed where it should."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.text, self.crossed = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data):
        self.text.append(data)

    def count(self, tag):
        return sum(found == tag for found, _ in self.elements)

    def ids(self):
        return [attributes['id'] for _, attributes in self.elements if 'id' in attributes]


def run(convbench, *arguments, code=0, **more):
    done = subprocess.run([convbench, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False,
                          **more)
    expect(done.returncode == code, f'{arguments}: exit code {done.returncode}: {done.stderr}')
    return done


def make_pages(convbench, oracle, folder):
    """A page of each sort by name; their plots beside them.  One network is named to be escaped."""
    network = folder / 'a<b>&"c\'d.txt'
    network.write_text('\n'.join(PROBLEMS))
    results = folder / 'results.json'
    run(convbench, *FAST, '--rounds', 2, '--threads', '1,2', '--isa', 'any,scalar', '--suite', network,
        '--html', folder / 'times.html', '--svg', folder / 'roofline.svg', '--json', results)
    for plot in ('bound', 'runs'):
        run(convbench, *FAST, PROBLEMS[0], '--svg', f'{plot}:{folder / plot}.svg')
    run(convbench, '--verify', PROBLEMS[0], '--html', folder / 'verified.html')
    fakes = dict(os.environ, CONVBENCH_PEERS=str(Path(__file__).resolve().parent / 'peers'),
                 CONVBENCH_PYTHON=sys.executable, FAKE_LOG=str(folder / 'log'))
    run(convbench, *FAST, f'--peers=fake:all,absent,{oracle}', *PROBLEMS[:2], '--html', folder / 'peers.html',
        '--svg', folder / 'peers.svg', env=fakes)
    return {name: (folder / f'{name}.html').read_text() for name in ('times', 'verified', 'peers')}, \
        json.loads(results.read_text())


def check_html(name, text):
    page = Page(text)
    expect(not page.crossed and not page.open, f'{name}: tags {page.crossed} {page.open}')
    twice = [key for key, count in Counter(page.ids()).items() if count > 1]
    expect(not twice, f'{name}: several elements are {twice}')
    # Nothing from elsewhere: no address but the name of SVG, no script, no link but within the page.
    expect(set(re.findall(r'https?://[^"\s]*', text)) <= {SVG[1:-1]}, f'{name}: addresses')
    expect(not {tag for tag, _ in page.elements} & {'script', 'link', 'img', 'iframe', 'object', 'base', 'image'},
           f'{name}: elements that load something')
    expect(not re.search(r'url\(|@import|\bon[a-z]+="', text), f'{name}: something is loaded or run')
    for tag, attributes in page.elements:
        for key in ('href', 'src', 'xlink:href'):
            if key in attributes:
                expect(attributes[key][0] == '#' and attributes[key][1:] in page.ids(), f'{name}: {tag} {attributes}')
        for key in attributes.get('aria-labelledby', '').split():
            expect(key in page.ids(), f'{name}: nothing is called {key}')
    expect("default-src 'none'" in text and 'prefers-color-scheme:dark' in text, f'{name}: policy and dark colours')
    expect(('html', {'lang': 'en'}) in page.elements and page.count('title') >= 1, f'{name}: language and title')
    expect(page.count('h1') == 1 and page.count('caption') == page.count('table'), f'{name}: headings and captions')
    expect(page.count('th') == sum(a.get('scope') == 'col' for t, a in page.elements if t == 'th'), f'{name}: th')
    expect(all(a.get('role') == 'img' for t, a in page.elements if t == 'svg'), f'{name}: roles of plots')
    for element in re.findall(r'<svg .*?</svg>', text, re.S):
        check_svg(name, element)
    return page


def check_svg(name, text):
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        failures.append(f'{name}: {error}: {text[:200]}')
        return
    for plot in [root] if root.get('role') else root.findall(f'{SVG}svg'):
        expect(plot[0].tag == SVG + 'title' and plot[0].text, f'{name}: a title')
        expect(plot[1].tag == SVG + 'desc' and len(plot[1].text) > 40, f'{name}: a description')
        width, height = float(plot.get('width')), float(plot.get('height'))
        for element in plot.iter():
            for key in ('x', 'x1', 'x2', 'y', 'y1', 'y2'):
                if element is not plot and element.get(key):
                    most = width if key[0] == 'x' else height
                    expect(0 <= float(element.get(key)) <= most, f'{name}: outside: {element.attrib}')
    expect(not re.search(r'="[^"]*\b(nan|inf)\b', text), f'{name}: numbers that are none')


def table_of(text, caption):
    """The cells of each row."""
    found = re.search(re.escape(caption) + r'</caption>.*?<tbody>(.*?)</tbody>', text, re.S)
    return [re.findall(r'<td[^>]*>(.*?)</td>', row) for row in found.group(1).split('</tr>')[:-1]] if found else []


def check_insight(page, text, results):
    """Every row has its counts, those on tiles their predictions, and what was not counted has a reason."""
    rows = results['results']
    counted, predicted = table_of(text, 'What a call counts'), table_of(text, 'by the tile')
    expect([row[1] for row in counted] == [row['problem'] for row in rows], f'counters: {counted}')
    on_tiles = [row['problem'] for row in rows if row['isa'] != 'scalar']
    expect([row[1] for row in predicted] == on_tiles, f'predicted: {predicted}')
    expect(all(row[4] in ('FMAs', 'loads', 'memory') for row in predicted), f'predicted: {predicted}')
    expect({'counters', 'predicted'} <= set(page.ids()), 'times: sections of counters')
    missing = re.findall(r'Not counted: (\d+) events?, because: (.*?)</summary>(.*?)</details>', text)
    expect(all(reason and len(names.split(', ')) == int(count) for count, reason, names in missing), f'{missing}')


def check_static(pages, results, folder):
    times = check_html('times', pages['times'])
    rows = len(results['results'])
    expect(rows == 3 * 2 * 2, f'{rows} rows')
    for wanted in ('roofline0', 'roofline1', 'bound0', 'bound3', 'runs0', f'runs{rows - 1}', 'problems', 'machine'):
        expect(wanted in times.ids(), f'times: no {wanted}')
    table = re.search(r'All measurements</caption>.*?</table>', pages['times'], re.S).group(0)
    expect(table.count('<tr>') == rows + 1, f'times: {table.count("<tr>")} rows of the table')
    for row in results['results']:
        expect(f'{row["percent_of_bound"]:.1f}</td>' in table and row['kernel'] in table, f'times: {row["problem"]}')
    check_insight(times, pages['times'], results)
    expect('a<b>&"c\'d' in times.text, 'times: the name of the network, escaped')
    expect('What a call counts' not in pages['verified'] + pages['peers'], 'counters of what was not timed here')
    verified = check_html('verified', pages['verified'])
    expect(verified.count('svg') == 0 and 'not timed' in pages['verified'], 'verified: nothing to draw')
    peers = check_html('peers', pages['peers'])
    expect('peers0' in peers.ids() and 'WRONG' in pages['peers'] and 'not run' in pages['peers'], 'peers: outcomes')
    for plot in ('roofline', 'bound', 'runs', 'peers'):
        check_svg(plot, (folder / f'{plot}.svg').read_text())


def check_refusals(convbench, folder):
    for arguments, message in [(['--html', '/none/x'], 'cannot be written'), (['--svg', 'runs:'], 'cannot be written'),
                               (['--svg', ''], 'name of a file'),
                               (['--verify', '--svg', 'x'], '--verify measures none'),
                               (['--explain', '--html', 'x'], 'have no plots')]:
        done = run(convbench, *arguments, PROBLEMS[0], code=2, cwd=folder)
        expect(message in done.stderr, f'{arguments}: {done.stderr}')
    done = run(convbench, *FAST, '--svg', f'peers:{folder / "none.svg"}', PROBLEMS[0], code=1)
    expect('nothing was measured' in done.stderr and not (folder / 'none.svg').exists(), 'no peers, no plot')
    done = run(convbench, *FAST, '--html', '-', PROBLEMS[0])
    expect(done.stdout.startswith('<!DOCTYPE html>') and '%bound' in done.stderr, 'standard output')


def pixel(path):
    """Size of a PNG and the colour of its first pixel."""
    data = path.read_bytes()
    width, height, depth, kind = struct.unpack('>IIBB', data[16:26])
    at, packed = 8, b''
    while at < len(data):
        length, name = struct.unpack('>I4s', data[at:at + 8])
        packed += data[at + 8:at + 8 + length] if name == b'IDAT' else b''
        at += length + 12
    # Nothing is before the first pixel: whatever the filter, its bytes stand there as they are.
    return width, height, tuple(zlib.decompress(packed)[1:4]) if depth == 8 and kind in (2, 6) else None


class Browser:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, path, *arguments):
        """Standard output and what the page said on its console."""
        profile = tempfile.mkdtemp(dir=self.folder)
        done = subprocess.run(
            [self.program, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
             '--hide-scrollbars', '--enable-logging=stderr',
             '--host-resolver-rules=MAP * ~NOTFOUND', f'--user-data-dir={profile}',
             *arguments, path.as_uri()],
            capture_output=True, text=True, timeout=120, check=False)
        expect(done.returncode == 0, f'{self.program} {arguments}: {done.returncode} {done.stderr[-500:]}')
        return done.stdout, [line for line in done.stderr.splitlines() if ':CONSOLE' in line]

    def look(self, path, dark):
        picture = path.with_suffix('.dark.png' if dark else '.light.png')
        scheme = ['--blink-settings=preferredColorScheme=0'] if dark else []
        _, console = self.run(path, f'--screenshot={picture}', '--window-size=1200,1600', *scheme)
        expect(not console, f'{path.name}: the console has {console}')
        expect(picture.exists() and picture.stat().st_size > 20000, f'{path.name}: a picture of something')
        return pixel(picture) if picture.exists() else (0, 0, None)


def check_browser(folder, pages):
    program = next(filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))), None)
    if not program:
        print('chromium not found: no page is looked at in a browser')
        return
    browser = Browser(program, folder)
    for name in ('times', 'peers'):
        path = folder / f'{name}.html'
        dom, console = browser.run(path, '--dump-dom')
        seen, meant = Page(dom), Page(pages[name])
        expect(not console, f'{name}: the console has {console}')
        for tag in ('section', 'svg', 'path', 'rect', 'line', 'table', 'tr', 'td'):
            there, written = seen.count(tag), meant.count(tag)
            expect(there == written > 0, f'{name}: {there} {tag}, {written} written')
        dark = name == 'peers'
        width, height, colour = browser.look(path, dark)
        expect((width, height) == (1200, 1600), f'{name}: {width} by {height} pixels')
        expect(colour and (max(colour) < 60 if dark else min(colour) > 230), f'{name}: the ground is {colour}')
    # Would it be noticed?  A picture from elsewhere is refused by the page's own policy, and said so.
    bad = folder / 'bad.html'
    bad.write_text(pages['times'].replace('<main>', '<main><img src="http://example.invalid/x.png" alt="">'))
    expect(browser.run(bad, '--dump-dom')[1], 'a page that loads something says so on the console')


def main():
    convbench, oracle = map(os.path.abspath, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages, results = make_pages(convbench, oracle, folder)
        if not failures:
            check_static(pages, results, folder)
            check_refusals(convbench, folder)
            check_browser(folder, pages)
        keep = os.environ.get('KEEP_PAGES')
        if keep:
            shutil.copytree(folder, keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns('tmp*'))
    print('\n'.join(failures + [f'3 pages and 4 plots checked, {len(failures)} failures']))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
