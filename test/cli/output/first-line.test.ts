import { expect, test } from 'vitest';
import { firstLineFirst } from '../../../src/cli/output/first-line.js';

test('the first line goes at once, the others together a moment later, in order', async () => {
  const written: string[] = [];
  const write = firstLineFirst((text) => written.push(text));
  for (const line of ['a\n', 'b\n', 'c\n']) write(line);
  expect(written).toEqual(['a\n']);
  await expect.poll(() => written).toEqual(['a\n', 'b\nc\n']);
  write('d\n');
  expect(written).toEqual(['a\n', 'b\nc\n', 'd\n']);
});
