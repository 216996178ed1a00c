// Draws docs/dashboard.svg: the demo, run in a terminal of its own, as it looks after a while.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import headless from '@xterm/headless';
import { ensureBuilt, ensureInstalled, main, root, which } from './steps.mjs';

const columns = 116;
const rows = 18;
/** Long enough for the slow instance to lose its share, for the failing one to be ejected, and for a pause to be seen. */
const watchMs = 13_000;
const pausedForMs = 2500;

const cell = { width: 8.43, height: 18, padding: 14 };
/** The 16 colours of a terminal, on a dark ground. */
const palette = [
  '#1c2128 #f47067 #6bc46d #daaa3f #539bf5 #b083f0 #39c5cf #adbac7',
  '#768390 #ff938a #8ddb8c #eac55f #6cb6ff #dcbdfb #56d4dd #f0f6fc',
].flatMap((line) => line.split(' '));
const ink = '#adbac7';
const ground = '#1c2128';

await main(async () => {
  ensureInstalled();
  ensureBuilt();
  if (!which('tmux')) throw new Error('The picture is taken in tmux, which is not here');
  const socket = `picture-${process.pid}`;
  const tmux = (...args) => execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8' });
  const run = `'${process.execPath}' '${path.join(root, 'bin/run.js')}'`;
  try {
    tmux('new-session', '-d', '-x', String(columns), '-y', String(rows), `${run} demo --listen 127.0.0.1:0`);
    await delay(watchMs);
    const [, endpoint] = /(http:[^\s·]+)/.exec(tmux('capture-pane', '-p')) ?? [];
    if (endpoint)
      execFileSync(process.execPath, [
        path.join(root, 'bin/run.js'),
        'pause',
        'demo.rpc',
        'steady',
        '--endpoints',
        endpoint,
        '--reason',
        'disk swap',
      ]);
    await delay(pausedForMs);
    writeFileSync(path.join(root, 'docs/dashboard.svg'), await drawn(tmux('capture-pane', '-p', '-e')));
  } finally {
    tmux('kill-server');
  }
});

/** What a terminal shows of `text`, as SVG. */
async function drawn(text) {
  const terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: true });
  await new Promise((resolve) => terminal.write(text.replace(/\n$/, ''), resolve));
  const size = { width: columns * cell.width + 2 * cell.padding, height: rows * cell.height + 2 * cell.padding };
  const parts = [];
  for (let y = 0; y < rows; y++)
    for (const run of runsOf(terminal.buffer.active.getLine(y))) parts.push(...shapes(run, y));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width.toFixed(0)} ${size.height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
<title>lbctl demo: the dashboard</title>
<rect width="100%" height="100%" rx="8" fill="${ground}"/>
${parts.join('\n')}
</svg>
`;
}

/** Neighbours that look the same, as one. */
function runsOf(line) {
  const runs = [];
  for (let x = 0; x < columns; x++) {
    const at = line?.getCell(x);
    if (!at || at.getWidth() === 0) continue;
    const look = lookOf(at);
    const last = runs.at(-1);
    if (last && last.key === JSON.stringify(look)) last.text += at.getChars() || ' ';
    else runs.push({ x, key: JSON.stringify(look), look, text: at.getChars() || ' ' });
  }
  return runs;
}

function lookOf(at) {
  const colour = (isPalette, isDefault, value, otherwise) =>
    isDefault ? otherwise : isPalette ? (palette[value] ?? otherwise) : `#${value.toString(16).padStart(6, '0')}`;
  const fore = colour(at.isFgPalette(), at.isFgDefault(), at.getFgColor(), ink);
  const back = colour(at.isBgPalette(), at.isBgDefault(), at.getBgColor(), ground);
  const [fill, under] = at.isInverse() ? [back, fore] : [fore, back];
  return { fill, under, bold: at.isBold() !== 0, dim: at.isDim() !== 0 };
}

function shapes({ x, text, look }, y) {
  const left = (cell.padding + x * cell.width).toFixed(1);
  const top = cell.padding + y * cell.height;
  const width = (text.length * cell.width).toFixed(1);
  const rect = `<rect x="${left}" y="${top}" width="${width}" height="${cell.height}" fill="${look.under}"/>`;
  const weight = look.bold ? ' font-weight="bold"' : '';
  const faint = look.dim ? ' opacity="0.6"' : '';
  const letters = text.trimEnd().replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  // textLength keeps columns in line whatever font is there.
  const shown = `<text x="${left}" y="${top + 13.5}" fill="${look.fill}" xml:space="preserve" textLength="${(letters ? text.trimEnd().length * cell.width : 0).toFixed(1)}" lengthAdjust="spacingAndGlyphs"${weight}${faint}>${letters}</text>`;
  return [...(look.under === ground ? [] : [rect]), ...(letters ? [shown] : [])];
}
