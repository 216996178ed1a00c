import { expect, test } from 'vitest';
import { MvccStore } from '../../src/embedded/store.js';
import { WatchHub } from '../../src/embedded/watch-hub.js';
import type { WatchCreateRequest, WatchResponse } from '../../src/embedded/wire.js';
import { ManualClock } from './manual-clock.js';

const everything: WatchCreateRequest = {
  key: Buffer.from([0]),
  range_end: Buffer.from([0]),
  start_revision: '0',
  progress_notify: false,
  filters: [],
  prev_kv: false,
  watch_id: '0',
  fragment: false,
};

function setUp() {
  const clock = new ManualClock();
  const store = new MvccStore();
  const hub = new WatchHub(store, clock);
  const frames: WatchResponse[] = [];
  const sink = { full: false };
  const session = hub.open((frame) => {
    frames.push(frame);
    return !sink.full;
  });
  const put = (key: string) => store.write((view) => view.put(key, Buffer.from('x'), 0n));
  const heard = () => frames.flatMap((frame) => (frame.events ?? []).map((event) => event.kv.mod_revision));
  return { clock, store, hub, frames, sink, session, put, heard };
}

test('a stream that is full gets nothing more until it drains, then everything, in order, once', () => {
  const { sink, session, put, heard, frames } = setUp();
  session.receive({ create_request: everything });
  sink.full = true;
  put('a');
  expect(heard()).toEqual([2]);
  for (let i = 0; i < 5; i++) put('a');
  expect(heard()).toEqual([2]);
  sink.full = false;
  session.resume();
  expect(heard()).toEqual([2, 3, 4, 5, 6, 7]);
  put('a');
  expect(heard()).toEqual([2, 3, 4, 5, 6, 7, 8]);
  expect(frames.at(-1)?.header.revision).toBe(8);
});

test('a watcher whose backlog was compacted while its stream was full is cancelled', () => {
  const { store, sink, session, put, frames } = setUp();
  session.receive({ create_request: everything });
  sink.full = true;
  for (let i = 0; i < 5; i++) put('a');
  store.compact(5);
  sink.full = false;
  session.resume();
  expect(frames.at(-1)).toEqual({ header: { revision: 0 }, watch_id: '0', canceled: true, compact_revision: 5 });
  put('a');
  expect(frames.at(-1)?.canceled).toBe(true);
});

test('progress is not reported for a stream with a watcher that is behind, nor ahead of the store', () => {
  const { sink, session, put, frames } = setUp();
  const progress = () => {
    const before = frames.length;
    session.receive({ progress_request: {} });
    return frames.length - before;
  };
  expect(progress()).toBe(0);
  session.receive({ create_request: everything });
  expect(progress()).toBe(1);
  session.receive({ create_request: { ...everything, start_revision: '3' } });
  expect(progress()).toBe(0);
  put('a');
  put('a');
  expect(progress()).toBe(1);
  sink.full = true;
  put('a');
  put('a');
  expect(progress()).toBe(0);
});

test('who asked for it is told of progress every ten minutes, unless events came', () => {
  const { clock, session, put, frames } = setUp();
  session.receive({ create_request: { ...everything, progress_notify: true } });
  session.receive({ create_request: everything });
  const told = () => {
    frames.length = 0;
    clock.advance(10 * 60_000);
    return frames.map((frame) => [frame.watch_id, frame.header.revision]);
  };
  expect(told()).toEqual([['0', 1]]);
  put('a');
  expect(told()).toEqual([]);
  expect(told()).toEqual([['0', 2]]);
});

test('a closed session hears nothing and leaves no timer', () => {
  const { clock, hub, session, put, frames } = setUp();
  session.receive({ create_request: everything });
  const before = frames.length;
  session.close();
  put('a');
  expect(frames.length).toBe(before);
  hub.open(() => true);
  hub.close();
  expect(clock.pendingTimers).toBe(0);
});
