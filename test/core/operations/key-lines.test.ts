import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyLines } from '../../../src/core/operations/key-lines.js';

async function keysIn(...chunks: Uint8Array[]): Promise<string[]> {
  const keys: string[] = [];
  const source = (async function* () {
    yield* chunks;
  })();
  for await (const batch of keyLines(source)) keys.push(...batch);
  return keys;
}

const text = (content: string) => keysIn(Buffer.from(content));

describe('keyLines', () => {
  it('takes each line literally but for its end', async () => {
    expect(await text('user:1\n  blanks \t\n\n# no comment\r\nlast')).toEqual([
      'user:1',
      '  blanks \t',
      '',
      '# no comment',
      'last',
    ]);
    expect(await text('\ufeffa\r\r\nb\rc\n')).toEqual(['\ufeffa\r', 'b\rc']);
  });

  it('finds no key in an empty file, and one empty key in an empty line', async () => {
    expect(await text('')).toEqual([]);
    expect(await text('\n')).toEqual(['']);
  });

  it('gives the same keys however the bytes are cut', async () => {
    const line = fc.string({ unit: 'binary' }).map((key) => key.replace(/[\r\n]/g, ''));
    const end = fc.constantFrom('\n', '\r\n');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(line, end)),
        fc.boolean(),
        fc.array(fc.nat({ max: 200 })),
        async (lines, ended, cuts) => {
          const keys = [...lines.map(([key]) => key), ...(ended ? [] : ['tail'])];
          const bytes = Buffer.from(lines.map(([key, stop]) => key + stop).join('') + (ended ? '' : 'tail'));
          const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
          const chunks = at.slice(1).map((stop, i) => bytes.subarray(at[i], stop));
          expect(await keysIn(...chunks)).toEqual(keys);
        },
      ),
    );
  });

  it.each([
    [['a\nb\n', '\xff\n'], 3],
    [['a\nb\xff\nc\n'], 2],
    [['a\n', 'b\nlast \xff'], 3],
  ])('refuses %j, naming line %i that is not UTF-8', async (chunks, line) => {
    const bytes = chunks.map((chunk) => Buffer.from(chunk, 'latin1'));
    await expect(keysIn(...bytes)).rejects.toMatchObject({
      code: 'USAGE',
      message: `Line ${line} of the keys is not UTF-8`,
    });
  });
});
