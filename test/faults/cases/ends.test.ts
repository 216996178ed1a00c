import { describe, expect, test } from 'vitest';
import { type EtcdProcess, startEtcd } from '../../support/etcd-process.js';
import { openTruth } from '../../support/etcd-truth.js';
import { seconds } from '../figures.js';
import { startRegister, startSubscriber, startWatch, waitFor } from '../fleet.js';
import { cleanUp, figures } from '../run.js';

/** The bound of the figures to beat: closing a connection waits for nobody. */
const closeMs = 3500;
/** A verb tries for 3 s to hand its registration back; the rest is the end of the process itself. */
const endMs = 5000;

async function processes() {
  const etcd = await startEtcd();
  cleanUp(() => etcd.stop());
  const service = 'ends';
  const watch = startWatch(service, [etcd.endpoint]);
  const register = startRegister(service, [etcd.endpoint], '10.0.0.1:8080', 10);
  const library = startSubscriber(service, [etcd.endpoint], '--lease');
  cleanUp(() => watch.process.kill());
  cleanUp(() => register.process.kill());
  cleanUp(() => library.process.kill());
  await waitFor('the watch to see the registration', 20_000, () => watch.lines.some(({ address }) => address !== ''));
  await waitFor('the subscriber to see it', 20_000, () => library.view()?.addresses.length === 1);
  return { etcd, watch, register, library };
}

type Processes = Awaited<ReturnType<typeof processes>>;

async function terminate({ watch, register, library }: Processes) {
  const from = performance.now();
  const since = <T>(value: T) => ({ value, ms: performance.now() - from });
  watch.process.child.kill('SIGTERM');
  register.process.child.kill('SIGTERM');
  library.process.child.kill('SIGTERM');
  const [watchEnd, registerEnd, libraryEnd] = await Promise.all([
    watch.process.ended.then(since),
    register.process.ended.then(since),
    library.process.ended.then(since),
  ]);
  return { watch: watchEnd, register: registerEnd, library: libraryEnd };
}

const closings: string[] = [];

describe('the end of a process that has a watch and a lease', () => {
  test('with etcd there: at once', async () => {
    const running = await processes();
    const ends = await terminate(running);
    expect(ends.watch.ms).toBeLessThan(1000);
    expect(ends.register).toMatchObject({ value: { code: 0 } });
    expect(ends.register.ms).toBeLessThan(1000);
    expect(ends.library.value).toMatchObject({ code: 0, stderr: '' });
    expect(ends.library.ms).toBeLessThan(1000);
    closings.push(`${seconds(ends.library.ms)} with etcd there`);
  });

  test.each<[string, (etcd: EtcdProcess) => Promise<void> | void]>([
    ['down', (etcd) => etcd.kill()],
    ['hung', (etcd) => etcd.suspend()],
  ])('with etcd %s: bounded', async (state, fault) => {
    const running = await processes();
    await fault(running.etcd);
    const ends = await terminate(running);
    expect(ends.watch.value.code).toBe(143);
    expect(ends.library.value).toMatchObject({ code: 0, stderr: '' });
    expect(ends.library.ms).toBeLessThan(closeMs);
    expect(ends.watch.ms).toBeLessThan(endMs);
    expect(ends.register.ms).toBeLessThan(endMs);
    closings.push(`${seconds(ends.library.ms)} ${state}`);
    figures.record('close with a watch and a lease open', closings.join(', '));
  });

  test('a registration that could not be handed back goes with its lease', async () => {
    const { etcd, register, watch, library } = await processes();
    const truth = openTruth(etcd.endpoint);
    cleanUp(() => truth.close());
    etcd.suspend();
    register.process.child.kill('SIGTERM');
    const { code, stderr } = await register.process.ended;
    etcd.resume();
    expect(stderr).not.toBe('');
    expect(code).not.toBe(0);
    const resumedAt = await truth.healthy();
    await waitFor('the key to run out', 11_000, async () => (await truth.keys('ends/')).length === 0);
    await waitFor('the watch to tell', 1000, () => watch.lines.at(-1)?.type === 'REMOVED');
    expect(performance.now() - resumedAt).toBeLessThan(11_000);
    library.process.child.kill('SIGTERM');
    watch.process.child.kill('SIGTERM');
    expect((await library.process.ended).code).toBe(0);
    expect((await watch.process.ended).code).toBe(143);
  });
});
