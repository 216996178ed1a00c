/** What somebody sees who types `npm start`, and `pause` or `call` in another terminal. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { run, start } from '../support/cli.js';
import { hasTmux, Tmux } from '../support/tmux.js';

const program = path.resolve('bin/run.js');

/** The cells of the row of an address: STATE, HEALTH… */
function cellsOf(text: string, address: string): Record<string, string> {
  const lines = text.split('\n');
  const titles =
    lines
      .find((line) => line.includes('ADDRESS'))
      ?.replaceAll(/[\^v]/g, '')
      .trim()
      .split(/ +/) ?? [];
  const cells =
    lines
      .find((line) => line.includes(address))
      ?.replace('>', ' ')
      .trim()
      .split(/ +/) ?? [];
  return Object.fromEntries(titles.map((title, index) => [title, cells[index] ?? '']));
}

test.skipIf(!hasTmux())(
  'the demo is a dashboard where one fails, one is slow, and a pause is seen at once',
  async () => {
    const tmux = await Tmux.start(130, 30);
    try {
      await tmux.type(`clear; ${process.execPath} ${program} demo --listen 127.0.0.1:0`);
      const first = await tmux.wait((text) => text.includes('5 instances'), 'the dashboard');
      const [, endpoint = ''] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(first) ?? [];
      const env = { LBCTL_ENDPOINTS: endpoint };
      const { instances } = JSON.parse((await run(['list', 'demo.rpc', '--json'], { env })).stdout);
      const address = (id: string): string => instances.find((each: { id: string }) => each.id === id)?.address;
      const share = (text: string, id: string) => Number.parseFloat(cellsOf(text, address(id)).SHARE ?? '');
      await tmux.wait(
        (text) => cellsOf(text, address('failing')).HEALTH === 'ejected',
        'the failing one to be ejected',
      );
      await tmux.wait(
        (text) => share(text, 'slow') < share(text, 'steady') / 2,
        'the slow one to lose its share',
        30_000,
      );

      expect((await run(['pause', 'demo.rpc', 'steady', '--reason', 'disk'], { env })).code).toBe(0);
      const isOut = ({ STATE, RPS }: Record<string, string>) => STATE === 'paused' && RPS === '0';
      await tmux.wait((text) => isOut(cellsOf(text, address('steady'))), 'it to be paused, without calls', 1000);
      expect((await run(['resume', 'demo.rpc', 'steady'], { env })).code).toBe(0);
      await tmux.wait((text) => cellsOf(text, address('steady')).STATE === 'up', 'it to be up again', 1000);

      await tmux.keys('q');
      await tmux.wait(
        (text) => /\n\$ *\n*$/.test(text) && text.includes('observers of 3'),
        'the last figures, and a prompt',
      );
      expect(await tmux.display('#{alternate_on} #{cursor_flag}')).toBe('0 1');
    } finally {
      await tmux.close();
    }
  },
);

test.skipIf(!hasTmux())('call shows a table of its instances while it runs, and leaves its result alone', async () => {
  const demo = start(['demo', '--duration', '60s', '--listen', '127.0.0.1:0']);
  const tmux = await Tmux.start(100, 30);
  try {
    const [, endpoint = ''] = await demo.waitFor(/--endpoints (http:[^\s"]+)/, { stream: 'stderr' });
    const flags = `--policy p2c_ewma --rps 40 --duration 4s --endpoints ${endpoint}`;
    await tmux.type(`clear; ${process.execPath} ${program} call demo.rpc ${flags}`);
    const live = /\d s: p2c_ewma \d+ calls.*\nADDRESS +HEALTH +LOAD +INFLIGHT +RPS +SHARE/;
    await tmux.wait((text) => live.test(text) && text.includes('ejected'), 'a live table');
    const after = await tmux.wait((text) => text.includes('latency p50'), 'the result');
    expect(after).not.toContain('INFLIGHT');
    expect(after).toMatch(/ADDRESS +CALLS +SHARE +ERRORS/);
  } finally {
    await tmux.close();
    demo.kill();
  }
});
