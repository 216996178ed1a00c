/** How many terminal cells a text takes. */
export type Measure = (text: string) => number;

/** ASCII, and what this dashboard itself draws with: one cell each. */
const oneCellEach = /^[\x20-\x7e·…≤▁-█]*$/;

/** Whether `narrowWidth` is right for a text; loading string-width costs half as much as starting Node. */
export function isNarrow(text: string): boolean {
  return oneCellEach.test(text);
}

export const narrowWidth: Measure = (text) => text.length;

export function measureWith(stringWidth: Measure): Measure {
  return (text) => (isNarrow(text) ? text.length : stringWidth(text));
}

/** ISO 8601 without what nobody reads: `2026-11-30 13:01:02Z`. */
export function shortTime(iso: string): string {
  return iso.replace('T', ' ').replace(/\.\d+(?=Z|[+-]|$)/, '');
}

/** At most `limit` cells, with an ellipsis where something was cut. Never splits what a reader sees as one character. */
export function cut(text: string, limit: number, width: Measure): string {
  if (width(text) <= limit) return text;
  return limit < 1 ? '' : `${head(text, limit - 1, width)}…`;
}

/** As `cut`, but out of the middle: of an address both ends tell instances apart. */
export function cutMiddle(text: string, limit: number, width: Measure): string {
  if (width(text) <= limit) return text;
  if (limit < 1) return '';
  const before = Math.floor((limit - 1) / 2);
  const reversed = characters(text).reverse();
  const end: string[] = [];
  let used = 0;
  for (const character of reversed) {
    used += width(character);
    if (used > limit - 1 - before) break;
    end.unshift(character);
  }
  return `${head(text, before, width)}…${end.join('')}`;
}

/** Exactly `size` cells: filled with blanks, or cut. */
export function toCell(text: string, size: number, align: 'left' | 'right', width: Measure): string {
  const shown = cut(text, size, width);
  const blanks = ' '.repeat(Math.max(0, size - width(shown)));
  return align === 'right' ? blanks + shown : shown + blanks;
}

/** Lines of at most `limit` cells, broken at blanks where there are some. */
export function wrap(text: string, limit: number, width: Measure): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (width(longer) <= limit) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    line = word;
    while (limit > 0 && width(line) > limit) {
      const first = head(line, limit, width) || (characters(line)[0] ?? '');
      lines.push(first);
      line = line.slice(first.length);
    }
  }
  lines.push(line);
  return lines;
}

function head(text: string, limit: number, width: Measure): string {
  let kept = '';
  let used = 0;
  for (const character of characters(text)) {
    used += width(character);
    if (used > limit) break;
    kept += character;
  }
  return kept;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

function characters(text: string): string[] {
  if (isNarrow(text)) return [...text];
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}
