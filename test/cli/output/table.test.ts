import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { type Column, table } from '../../../src/cli/output/table.js';

type Row = readonly string[];
const columns: ReadonlyArray<Column<Row>> = [
  { title: 'ADDRESS', value: (row) => row[0] ?? '' },
  { title: 'ID', value: (row) => row[1] ?? '', dropOrder: 2 },
  { title: 'WEIGHT', value: (row) => row[2] ?? '', align: 'right', dropOrder: 1 },
  { title: 'NOTES', value: (row) => row[3] ?? '' },
];

test('columns line up, also below wide characters', async () => {
  const text = await table(columns, [
    ['10.0.0.1:80', '日本', '1', 'A'],
    ['b:1', 'abcdef', '100', 'B'],
  ]);
  expect(text).toBe(
    ['ADDRESS      ID      WEIGHT  NOTES', '10.0.0.1:80  日本         1  A', 'b:1          abcdef     100  B', ''].join(
      '\n',
    ),
  );
});

test('no line is wider than the terminal, and every row keeps one line', async () => {
  const cell = fc.string({ unit: 'grapheme', maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell, cell, cell), { maxLength: 8 }),
      fc.integer({ min: 20, max: 120 }),
      async (rows, width) => {
        const lines = (await table(columns, rows, { width })).split('\n');
        expect(lines.length).toBe(rows.length + 2);
        for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(width);
      },
    ),
  );
});

test('a narrow terminal loses the columns that matter least first', async () => {
  const row: Row = ['10.0.0.1:8080', '7587862094053', '1', 'PERMANENT'];
  expect(await table(columns, [row], { width: 60 })).toContain('ID');
  const narrow = await table(columns, [row], { width: 40 });
  expect(narrow).not.toContain('ID');
  expect(narrow).toContain('WEIGHT');
  expect(await table(columns, [row], { width: 26 })).toBe('ADDRESS        NOTES\n10.0.0.1:8080  PERMANENT\n');
  expect(await table(columns, [row], { width: 20 })).toBe('ADDRESS    NOTES\n10.0.0.1…  PERMANENT\n');
});

test('into a pipe nothing is dropped or cut', async () => {
  const long = 'x'.repeat(500);
  expect(await table(columns, [[long, long, long, long]])).toContain([long, long, long, long].join('  '));
});

test('a cell cannot break out of its line or colour the terminal', async () => {
  const text = await table(columns, [['a\nb', '\x1b[31m', '1', '']]);
  expect(text.split('\n').length).toBe(3);
  expect(text).not.toContain('\x1b');
});

test('200,000 rows are no problem', async () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [`10.0.0.1:${index}`, '1', '1', '']);
  expect((await table(columns, rows, { width: 80 })).split('\n').length).toBe(200_002);
});
