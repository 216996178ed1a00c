import { expect, test } from 'vitest';
import { run, start } from '../support/cli.js';

test('without a terminal the demo runs for its duration and tells what the traffic met', async () => {
  const { code, stdout, stderr } = await run(['demo', '--duration', '3s', '--listen', '127.0.0.1:0', '--json']);
  expect(code).toBe(0);
  expect(stderr).toMatch(/ list demo\.rpc/);
  const { rows, service } = JSON.parse(stdout);
  expect(service).toBe('demo.rpc');
  const row = (name: string) => rows.find((each: { name: string }) => each.name === name);
  expect(rows).toHaveLength(5);
  expect(row('failing').errorRate).toBe(1);
  expect(row('heavy').errorRate).toBe(0);
  expect(row('slow').averageMs).toBeGreaterThan(75);
  // Weights 5:2:2:1:1, dealt smoothly: within a call or two of 5/11, however many calls there were.
  expect(row('heavy').share).toBeCloseTo(5 / 11, 1);
});

test('other terminals see the demo, and a pause takes its instance out of the traffic until it resumes itself', async () => {
  const demo = start(['demo', '--duration', '60s', '--listen', '127.0.0.1:0', '--json']);
  try {
    const [, endpoint = ''] = await demo.waitFor(/--endpoints (http:[^\s"]+)/, { stream: 'stderr' });
    const env = { LBCTL_ENDPOINTS: endpoint };
    const listed = await run(['list', 'demo.rpc', '--json'], { env });
    const { instances } = JSON.parse(listed.stdout);
    expect(instances.map(({ admin }: { admin: string }) => admin)).toEqual(['up', 'up', 'up', 'up', 'up']);
    const watch = start(['watch', 'demo.rpc', '--json'], { env });
    await watch.waitFor(/"type":"SYNCED"/);
    expect((await run(['pause', 'demo.rpc', instances[0].address, '--for', '2s'], { env })).code).toBe(0);
    await watch.waitFor(/"type":"PAUSED"/);
    await watch.waitFor(/"type":"RESUMED"/);
    watch.child.kill('SIGINT');
    expect((await watch.ended).code).toBe(130);
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
