import { type HoldListener, holdOut } from '../../../src/core/operations/hold.js';
import { type PauseRequest, pauseInstances } from '../../../src/core/operations/pause.js';
import { type ResumeRequest, resumeInstances } from '../../../src/core/operations/resume.js';
import { ManualClock } from '../../support/manual-clock.js';
import { MemoryStore } from '../../support/memory-etcd.js';

export const kratosValue = '{"id":"k","name":"s","version":"","metadata":null,"endpoints":["grpc://10.0.0.7:80"]}';
export const jsonValue = '{"InstanceID":"j","Name":"s","Address":"10.0.0.8","Port":80,"Weight":3}';

/** Service `s`: three go-zero servers at 10.0.0.1 to 3, each with lease 11 to 13 and id 1 to 3, and an operator. */
export function foreignFleet() {
  const clock = new ManualClock();
  const store = new MemoryStore(clock);
  const ports = {
    clock,
    rng: () => 0.5,
    defer: (fn: () => void) => void setImmediate(fn),
  };
  const lease = (id: number) => BigInt(10 + id);
  const start = (id: number) => {
    store.grant(lease(id), 3600);
    store.put(`s/${id}`, `10.0.0.${id}:80`, lease(id));
  };
  for (const id of [1, 2, 3]) start(id);
  const etcd = store.client();
  const common = { service: 's', by: 'ann@box' };
  return {
    clock,
    store,
    etcd,
    ports,
    start,
    lease,
    value: (key: string) => store.get(key)?.value.toString(),
    pause: (selectors: string[], more: Partial<PauseRequest> = {}) =>
      pauseInstances(etcd, { ...common, selectors, ...more }, ports),
    resume: (selectors: string[], more: Partial<ResumeRequest> = {}) =>
      resumeInstances(etcd, { ...common, selectors, ...more }, ports),
    hold: (addresses: string[], listener: HoldListener) =>
      holdOut(etcd, { ...common, verb: 'hold' }, addresses, listener, ports),
  };
}

/** Runs time forward until the operation has ended, at most for so long. */
export async function inTime<T>(clock: ManualClock, operation: Promise<T>, withinMs = 20_000): Promise<T> {
  let ended = false;
  const settled = operation.finally(() => {
    ended = true;
  });
  settled.catch(() => {});
  for (let passed = 0; passed < withinMs && !ended; passed += 50) await clock.advance(50);
  if (!ended) throw new Error(`It did not end within ${withinMs} ms`);
  return settled;
}
