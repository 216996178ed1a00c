import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLbctlError } from '../../../src/core/model/errors.js';
import { changeNodes, parseNodes } from '../../../src/core/operations/pick-nodes.js';

function failure(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (isLbctlError(error)) return `${error.code}: ${error.message}`;
  }
  return 'nothing was thrown';
}

describe('parseNodes', () => {
  it('reads any string as a node, and a weight after its last =', () => {
    expect(parseNodes(['a:1,b:1=5', 'x=y=3,[::1]:8080', ' blank inside and before'], '--nodes')).toEqual([
      { address: 'a:1' },
      { address: 'b:1', weight: 5 },
      { address: 'x=y', weight: 3 },
      { address: '[::1]:8080' },
      { address: ' blank inside and before' },
    ]);
  });

  it('reads back whatever was written', () => {
    const node = fc.record({
      address: fc.string({ unit: 'binary', minLength: 1 }).filter((text) => !text.includes(',')),
      weight: fc.integer({ min: 1, max: 100_000 }),
    });
    const nodes = fc.uniqueArray(node, { selector: (entry) => entry.address, minLength: 1 });
    fc.assert(
      fc.property(nodes, (set) => {
        const text = set.map(({ address, weight }) => `${address}=${weight}`).join(',');
        expect(parseNodes([text], '--nodes')).toEqual(set);
      }),
    );
  });

  it.each(['-1', '0', '1e9', '1000000000', '100001', '1.5', '', ' 1', '0x5', 'many', 'NaN', '+3'])(
    'refuses the weight "%s"',
    (weight) => {
      expect(failure(() => parseNodes([`a:1,b:1=${weight}`], '--nodes'))).toMatch(/^USAGE: .*"b:1" in --nodes/);
    },
  );

  it.each([
    ['', 'empty node'],
    ['a,,b', 'empty node'],
    ['a,', 'empty node'],
    ['a,=5', 'without a node'],
    ['a,b,a=3', 'names "a" twice'],
  ])('refuses "%s": %s', (text, why) => {
    expect(failure(() => parseNodes([text], '--with'))).toMatch(new RegExp(`^USAGE: --with .*${why}`));
  });
});

describe('changeNodes', () => {
  const abc = [{ address: 'a' }, { address: 'b', weight: 2 }, { address: 'c' }];

  it('takes away and adds, and lets a node come back with another weight', () => {
    expect(changeNodes(abc, [{ address: 'd' }], ['a'])).toEqual([
      { address: 'b', weight: 2 },
      { address: 'c' },
      { address: 'd' },
    ]);
    expect(changeNodes(abc, [{ address: 'b', weight: 9 }], ['b'])).toContainEqual({ address: 'b', weight: 9 });
  });

  it('says which nodes there are when the one that is to leave is none of them', () => {
    expect(failure(() => changeNodes(abc, [], ['z']))).toBe('NOT_FOUND: --without "z": there is no such node');
  });

  it('refuses a node that is there already, and a set that nobody is left in', () => {
    expect(failure(() => changeNodes(abc, [{ address: 'b' }], []))).toMatch(/^USAGE: --with "b"/);
    expect(failure(() => changeNodes(abc, [], ['a', 'b', 'c']))).toMatch(/^USAGE: --without/);
  });
});
