import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeMeta, decodePause, escapeName, OverlayKeys, unescapeName } from '../../../src/core/discovery/overlay.js';

const keys = new OverlayKeys();

it('never lets the records of two names meet', () => {
  const name = fc.stringMatching(/^[a%/25F.]{0,6}$/);
  fc.assert(
    fc.property(name, name, name, name, (serviceA, idA, serviceB, idB) => {
      const same = serviceA === serviceB && idA === idB;
      expect(keys.meta(serviceA, idA) === keys.meta(serviceB, idB)).toBe(same);
      if (serviceA !== serviceB) expect(keys.meta(serviceA, idA).startsWith(keys.metaPrefix(serviceB))).toBe(false);
      expect(unescapeName(escapeName(serviceA))).toBe(serviceA);
      expect(keys.parse(keys.pause(serviceA, idA))).toEqual({ kind: 'pause', service: serviceA, name: idA });
    }),
  );
});

it('takes nothing for a record that is none', () => {
  for (const text of ['', '{', '[]', 'null', '{"address":5}', '{"address":"h:1","key":"k","dialect":"zen"}']) {
    expect(decodeMeta(Buffer.from(text)), text).toBeNull();
  }
  expect(decodePause(Buffer.from('\xff'))).toBeNull();
  expect(keys.parse('lbctl/v1/guard/x')).toBeNull();
  expect(keys.parse('user.rpc/1')).toBeNull();
});
