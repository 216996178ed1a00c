import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OverlayKeys } from '../../../src/core/discovery/overlay.js';
import { decodeObserver, encodeObserver, type ObserverRecord } from '../../../src/core/stats/observer-record.js';
import { type ObserverView, readObservers, waitingFor } from '../../../src/core/stats/observers.js';
import { ManualClock } from '../../support/manual-clock.js';
import { MemoryStore } from '../../support/memory-etcd.js';

const record: ObserverRecord = {
  host: 'box',
  pid: 42,
  client: 'shop',
  policy: 'p2c_ewma',
  revision: 9_007_199_254_740_993n,
  inFlight: new Map([['10.0.0.1:80', 3]]),
  statistics: '',
};

describe('an observer record', () => {
  it('comes back as it was written, whatever its names and numbers are', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'a/b', '%2F'));
    const some = fc.record({
      host: text,
      pid: fc.nat(),
      client: text,
      policy: text,
      revision: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
      inFlight: fc.array(fc.tuple(text, fc.integer({ min: 1 }))).map((entries) => new Map(entries)),
      statistics: text,
    });
    fc.assert(
      fc.property(some, (one) => {
        expect(decodeObserver(Buffer.from(encodeObserver(one)))).toEqual(one);
      }),
    );
  });

  it.each([
    ['nothing', ''],
    ['no JSON', '\xff'],
    ['a list', '[]'],
    ['no revision', '{"host":"h","pid":1,"inFlight":{}}'],
    ['a revision that was rounded', '{"host":"h","pid":1,"revision":5,"inFlight":{}}'],
    ['a negative revision', '{"host":"h","pid":1,"revision":"-5","inFlight":{}}'],
    ['a list of calls', '{"host":"h","pid":1,"revision":"5","inFlight":[]}'],
    ['no process', '{"host":"h","revision":"5","inFlight":{}}'],
  ])('is not taken for one: %s', (_what, text) => {
    expect(decodeObserver(Buffer.from(text, 'latin1'))).toBeNull();
  });

  it('of a newer client is read for what is known of it', () => {
    const text = '{"host":"h","pid":1,"revision":"5","inFlight":{"a:1":2,"b:1":0,"c:1":"x"},"mood":"good"}';
    const known = { host: 'h', pid: 1, client: '', policy: '', revision: 5n, statistics: '' };
    expect(decodeObserver(Buffer.from(text))).toEqual({ ...known, inFlight: new Map([['a:1', 2]]) });
  });
});

describe('reading the observers of a service', () => {
  const keys = new OverlayKeys();
  const store = new MemoryStore(new ManualClock());
  const put = (service: string, id: string, value: string) => store.put(keys.observer(service, id), value);

  it('finds its own, with their ids, and leaves out what is no record', async () => {
    store.revision = record.revision + 10n;
    put('a/b', 'host/1', encodeObserver(record));
    put('a/b', 'other', 'hello');
    put('a', 'b', encodeObserver(record));
    expect(await readObservers(store.client(), 'a/b')).toEqual([{ ...record, id: 'host/1' }]);
    expect((await readObservers(store.client(), 'a')).map(({ id }) => id)).toEqual(['b']);
    expect(await readObservers(store.client(), 'a', { overlayRoot: 'mine/' })).toEqual([]);
  });

  it('believes nobody who says to be ahead of its own write: that is the revision of an etcd that was wiped', async () => {
    store.wipe();
    put('a', 'b', encodeObserver(record));
    const read = await readObservers(store.client(), 'a');
    expect(read).toMatchObject([{ revision: 0n }]);
    expect(waitingFor(read, { addresses: [], revision: 2n })).toMatchObject([{ id: 'b', behind: true }]);
  });
});

describe('a drain waits', () => {
  const seen = (id: string, revision: bigint, calls: Record<string, number> = {}): ObserverView => ({
    ...record,
    id,
    revision,
    inFlight: new Map(Object.entries(calls)),
  });
  const asked = { addresses: ['a:1', 'b:1', 'a:1'], revision: 7n };

  it('for those who have not applied its revision, and for their calls to its addresses', () => {
    const observers = [
      seen('done', 7n),
      seen('late', 6n),
      seen('busy', 9n, { 'a:1': 2, 'b:1': 1 }),
      seen('elsewhere', 8n, { 'c:1': 4 }),
      seen('both', 1n, { 'b:1': 5 }),
    ];
    expect(waitingFor(observers, asked)).toEqual([
      { id: 'late', host: 'box', pid: 42, behind: true, inFlight: 0 },
      { id: 'busy', host: 'box', pid: 42, behind: false, inFlight: 3 },
      { id: 'both', host: 'box', pid: 42, behind: true, inFlight: 5 },
    ]);
  });

  it('for nobody where nobody observes', () => {
    expect(waitingFor([], asked)).toEqual([]);
  });
});
