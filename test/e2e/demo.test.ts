import { expect, test } from 'vitest';
import { run, start } from '../support/cli.js';

test('without a terminal the demo runs for its duration and tells what the traffic met', async () => {
  const { code, stdout, stderr } = await run(['demo', '--duration', '6s', '--listen', '127.0.0.1:0', '--json']);
  expect(code).toBe(0);
  expect(stderr).toMatch(/ list demo\.rpc/);
  const { rows, ...frame } = JSON.parse(stdout);
  expect(frame).toMatchObject({ service: 'demo.rpc', source: 'observers', observers: 3, policy: 'p2c_ewma' });
  const row = (name: string) => rows.find((each: { name: string }) => each.name === name);
  expect(rows).toHaveLength(5);
  // Three clients of forty calls a second; the two kinds of trouble are where they belong.
  expect(row('failing')).toMatchObject({ health: 'ejected' });
  expect(row('slow').ewmaMs).toBeGreaterThan(100);
  expect(row('heavy')).toMatchObject({ health: 'healthy', errorRate: 0 });
  const sound = [row('heavy').share, row('steady').share, row('restless').share];
  expect(Math.max(...sound)).toBeGreaterThan(2 * row('slow').share);
});

test('other terminals see the demo, and a pause takes its instance out of the traffic until it resumes itself', async () => {
  const demo = start(['demo', '--duration', '60s', '--listen', '127.0.0.1:0', '--json']);
  try {
    const [, endpoint = ''] = await demo.waitFor(/--endpoints (http:[^\s"]+)/, { stream: 'stderr' });
    const env = { LBCTL_ENDPOINTS: endpoint };
    const listed = await run(['list', 'demo.rpc', '--json'], { env });
    const { instances } = JSON.parse(listed.stdout);
    expect(instances.map(({ id }: { id: string }) => id).sort()).toEqual(
      expect.arrayContaining(['failing', 'heavy', 'slow', 'steady']),
    );
    const watch = start(['watch', 'demo.rpc', '--json'], { env });
    await watch.waitFor(/"type":"SYNCED"/);
    expect((await run(['pause', 'demo.rpc', 'steady', '--for', '2s'], { env })).code).toBe(0);
    await watch.waitFor(/"type":"PAUSED"/);
    await watch.waitFor(/"type":"RESUMED"/);
    watch.child.kill('SIGINT');
    expect((await watch.ended).code).toBe(130);
    // Real gRPC servers: the first answers stand for all of them.
    const called = await run(['call', 'demo.rpc', '-n', '5', '--policy', 'round_robin', '--json'], { env });
    expect(JSON.parse(called.stdout).outcomes).toMatchObject({ OK: expect.any(Number) });
  } finally {
    demo.child.kill('SIGTERM');
  }
  expect((await demo.ended).code).toBe(143);
});

test('a demo that cannot be is refused', async () => {
  expect((await run(['demo', '--duration', '0'])).code).toBe(2);
  expect((await run(['demo', '--duration', 'soon'])).code).toBe(2);
  expect((await run(['demo', '--listen', 'nowhere'])).code).toBe(2);
});
