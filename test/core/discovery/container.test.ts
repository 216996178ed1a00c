import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Container, type Entry } from '../../../src/core/discovery/container.js';

/** The obvious model: a list of live (key, address) in order of writing. */
class Model {
  #live: Entry[] = [];
  constructor(readonly exclusive: boolean) {}
  apply(removed: readonly string[], added: readonly Entry[]) {
    this.#live = this.#live.filter((entry) => !removed.includes(entry.key));
    for (const entry of added) {
      if (this.#live.some((other) => other.key === entry.key && other.address === entry.address)) continue;
      this.#live = this.#live.filter(
        (other) => other.key !== entry.key && !(this.exclusive && other.address === entry.address),
      );
      this.#live.push(entry);
    }
  }
  addresses() {
    return [...new Set(this.#live.map((entry) => entry.address))].sort();
  }
  keys(address: string) {
    return this.#live.filter((entry) => entry.address === address).map((entry) => entry.key);
  }
}

const key = fc.constantFrom('k1', 'k2', 'k3', 'k4');
const address = fc.constantFrom('a:1', 'b:1', 'c:1');
const batch = fc.tuple(fc.array(key, { maxLength: 3 }), fc.array(fc.record({ key, address }), { maxLength: 4 }));

it('holds the addresses that a naive list holds, and says when they change', () => {
  fc.assert(
    fc.property(fc.boolean(), fc.array(batch, { maxLength: 30 }), (exclusive, batches) => {
      const container = new Container({ exclusive });
      const model = new Model(exclusive);
      for (const [removed, added] of batches) {
        const before = container.addresses();
        const expectedBefore = model.addresses();
        model.apply(removed, added);
        const changed = container.apply(removed, added);
        expect(container.addresses()).toEqual(model.addresses());
        expect(changed).toBe(JSON.stringify(expectedBefore) !== JSON.stringify(model.addresses()));
        if (!changed) expect(container.addresses()).toBe(before);
        for (const one of ['a:1', 'b:1', 'c:1']) {
          expect([...container.keys(one)].sort()).toEqual(model.keys(one).sort());
        }
      }
    }),
  );
});

it('never shows an empty list while a value changes', () => {
  const container = new Container();
  container.apply([], [{ key: 'k', address: 'old:1' }]);
  container.apply([], [{ key: 'k', address: 'new:1' }]);
  expect(container.addresses()).toEqual(['new:1']);
});

it('drops the address with the newest key in exclusive mode', () => {
  const container = new Container({ exclusive: true });
  container.apply(
    [],
    [
      { key: 'older', address: 'a:1' },
      { key: 'newer', address: 'a:1' },
    ],
  );
  expect(container.apply(['older'], [])).toBe(false);
  expect(container.apply(['newer'], [])).toBe(true);
  expect(container.addresses()).toEqual([]);
});
