import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contains, type Interval } from '../../src/embedded/interval.js';
import { type Change, type Entry, MvccStore, type ReadView } from '../../src/embedded/store.js';

/** The store as one would explain it: a full copy of the world for every revision. */
class NaiveStore {
  readonly worlds = new Map<number, Map<string, Entry>>([[1, new Map()]]);
  readonly log: Entry[] = [];
  revision = 1;
  compacted = -1;

  transact(operations: readonly Operation[]): void {
    const world = new Map(this.worlds.get(this.revision));
    const next = this.revision + 1;
    const before = this.log.length;
    for (const operation of operations) {
      if ('put' in operation) {
        const old = world.get(operation.put);
        const entry = {
          key: operation.put,
          value: Buffer.from(operation.value),
          createRevision: old?.createRevision ?? next,
          modRevision: next,
          version: (old?.version ?? 0) + 1,
          lease: operation.lease,
        };
        world.set(operation.put, entry);
        this.log.push(entry);
      } else {
        for (const key of [...world.keys()].sort()) {
          if (!contains(operation.delete, key)) continue;
          world.delete(key);
          const value = Buffer.alloc(0);
          this.log.push({ key, value, createRevision: 0, modRevision: next, version: 0, lease: 0n });
        }
      }
    }
    if (this.log.length === before) return;
    this.revision = next;
    this.worlds.set(next, world);
  }

  range(interval: Interval, at: number): Entry[] | string {
    if (at > this.revision) return 'future';
    const revision = at <= 0 ? this.revision : at;
    if (revision < this.compacted) return 'compacted';
    const world = this.worlds.get(revision) ?? new Map<string, Entry>();
    return [...world.values()]
      .filter((entry) => contains(interval, entry.key))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  compact(revision: number): string | null {
    if (revision <= this.compacted) return 'compacted';
    if (revision > this.revision) return 'future';
    this.compacted = revision;
    return null;
  }
}

type Operation = { put: string; value: string; lease: bigint } | { delete: Interval };

const key = fc.constantFrom('a', 'a\0', 'ab', 'b', 'b\xff', 'c', '\xff\xff');
const interval: fc.Arbitrary<Interval> = fc.oneof(
  key.map((start) => ({ start, end: `${start}\0` })),
  fc.record({ start: key, end: fc.option(key, { nil: null }) }),
);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ put: key, value: fc.string({ maxLength: 2 }), lease: fc.constantFrom(0n, 7n) }) },
  { weight: 1, arbitrary: fc.record({ delete: interval }) },
);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.array(operation, { maxLength: 4 }).map((transaction) => ({ transaction })) },
  { weight: 1, arbitrary: fc.integer({ min: -1, max: 30 }).map((compact) => ({ compact })) },
);

const outcome = <T>(call: () => T): T | string => {
  try {
    return call();
  } catch (error) {
    return String(error).includes('future') ? 'future' : 'compacted';
  }
};

test('agrees with a store that copies the world for every revision: reads at any revision, errors, compaction', () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 25 }),
      fc.array(interval, { minLength: 3, maxLength: 3 }),
      (steps, ranges) => {
        const [store, model] = [new MvccStore(), new NaiveStore()];
        for (const each of steps) {
          if ('compact' in each) {
            const said = outcome(() => store.compact(each.compact) ?? null);
            expect(said).toBe(model.compact(each.compact));
          } else {
            model.transact(each.transaction);
            store.write((view) => {
              for (const one of each.transaction) {
                if ('put' in one) view.put(one.put, Buffer.from(one.value), one.lease);
                else view.delete(one.delete);
              }
            });
          }
          expect(store.revision).toBe(model.revision);
          for (const range of ranges) {
            for (let at = -1; at <= model.revision + 1; at++) {
              expect(outcome(() => store.range(range, at))).toEqual(model.range(range, at));
            }
          }
          const since = Math.max(model.compacted, 1);
          const logged = [...store.changesFrom(since)].map((change) => change.entry);
          expect(logged).toEqual(model.log.filter((entry) => entry.modRevision >= since));
        }
      },
    ),
    { numRuns: 150 },
  );
});

test('inside a transaction reads see its own writes, at the revision that it will have', () => {
  const store = new MvccStore();
  const all: Interval = { start: '', end: null };
  const seen: Array<[number, number]> = [];
  const look = (view: ReadView) => seen.push([view.revision, view.range(all).length]);
  store.write((view) => {
    look(view);
    view.put('a', Buffer.from('1'), 0n);
    look(view);
    view.delete(all);
    look(view);
  });
  expect(seen).toEqual([
    [1, 0],
    [2, 1],
    [2, 0],
  ]);
});

test('listeners hear each revision once, with the entry that each change replaced', () => {
  const store = new MvccStore();
  const heard: Change[][] = [];
  store.onCommit((changes) => heard.push([...changes]));
  store.write((view) => view.put('a', Buffer.from('1'), 0n));
  store.write((view) => view.put('a', Buffer.from('2'), 0n));
  store.write((view) => view.delete({ start: 'nothing', end: null }));
  expect(
    heard.map((changes) => changes.map(({ entry, previous }) => [String(entry.value), String(previous?.value)])),
  ).toEqual([[['1', 'undefined']], [['2', '1']]]);
});
