import { afterEach, describe, expect, test, vi } from 'vitest';
import { type ActionSettings, dashboardActions } from '../../../src/cli/dashboard/actions.js';
import { Lifetime } from '../../../src/cli/lifetime.js';
import { readService } from '../../../src/core/discovery/read.js';
import { systemClock } from '../../../src/core/model/clock.js';
import { dashboardRow } from '../../support/dashboard-row.js';
import { MemoryStore } from '../../support/memory-etcd.js';

const settings = (of: Partial<ActionSettings> = {}): ActionSettings => ({
  service: () => 'shop.rpc',
  endpoints: ['127.0.0.1:2379'],
  flags: {},
  program: 'lbctl',
  connect: null,
  lifetime: new Lifetime(),
  ...of,
});

describe('the command that does the same', () => {
  const line = (of: Partial<ActionSettings>, one = dashboardRow('10.0.0.1:80')) =>
    dashboardActions(settings(of)).command('pause', one);

  test('names the instance, and how etcd is reached where that is not the default', () => {
    expect(line({})).toBe('lbctl pause shop.rpc 10.0.0.1:80');
    expect(line({ endpoints: ['http://127.0.0.1:2379'] })).toBe('lbctl pause shop.rpc 10.0.0.1:80');
    expect(line({ endpoints: ['http://a:1', 'b:2'] })).toBe(
      'lbctl pause shop.rpc 10.0.0.1:80 --endpoints http://a:1,b:2',
    );
    expect(line({ flags: { cacert: 'my ca.pem', 'insecure-skip-tls-verify': true } })).toBe(
      "lbctl pause shop.rpc 10.0.0.1:80 --cacert 'my ca.pem' --insecure-skip-tls-verify",
    );
    expect(dashboardActions(settings()).command('drain', dashboardRow('10.0.0.1:80'))).toBe(
      'lbctl drain shop.rpc 10.0.0.1:80',
    );
  });

  test('calls this program as it was called', () => {
    expect(line({ program: 'node bin/run.js' })).toBe('node bin/run.js pause shop.rpc 10.0.0.1:80');
  });

  test('never shows a password, and is one command whatever etcd holds', () => {
    expect(line({ flags: { user: 'root:secret' } })).toBe('lbctl pause shop.rpc 10.0.0.1:80 --user root');
    expect(line({ service: () => "it's; rm -rf ~" })).toBe("lbctl pause 'it'\\''s; rm -rf ~' 10.0.0.1:80");
    expect(line({}, dashboardRow('$(reboot)\u001b[2J'))).toBe("lbctl pause shop.rpc '$(reboot)[2J'");
    expect(line({}, dashboardRow('', { id: 'shop.rpc/7' }))).toBe('lbctl pause shop.rpc shop.rpc/7');
  });
});

describe('with --write', () => {
  const store = new MemoryStore(systemClock);
  const actions = dashboardActions(settings({ connect: async () => store.client() }));
  const never = new AbortController().signal;
  const admins = async () => (await readService(store.client(), 'shop.rpc')).instances.map(({ admin }) => admin);
  afterEach(() => {
    for (const key of store.keys()) store.delete(key);
    vi.unstubAllEnvs();
  });

  test('an instance is paused, drained and resumed as the verbs do it', async () => {
    store.put('shop.rpc/1', '10.0.0.1:80');
    store.put('shop.rpc/2', '10.0.0.2:80');
    expect(await actions.run?.('pause', dashboardRow('10.0.0.1:80'), never)).toMatch(/^10\.0\.0\.1:80 is paused: /);
    expect(await admins()).toEqual(['paused', 'up']);
    expect(await actions.run?.('drain', dashboardRow('10.0.0.1:80'), never)).toMatch(
      /^10\.0\.0\.1:80 is paused: drained/,
    );
    expect(await actions.run?.('resume', dashboardRow('10.0.0.1:80'), never)).toMatch(/^10\.0\.0\.1:80 is up: /);
    expect(await admins()).toEqual(['up', 'up']);
  });

  test('the strategy is the one that the verb would take from the environment', async () => {
    vi.stubEnv('LBCTL_STRATEGY', 'delete');
    store.put('shop.rpc/1', '10.0.0.1:80');
    store.put('shop.rpc/2', '10.0.0.2:80');
    await actions.run?.('pause', dashboardRow('10.0.0.1:80'), never);
    expect(store.keys()).not.toContain('shop.rpc/1');
    vi.stubEnv('LBCTL_STRATEGY', 'nuke');
    for (const action of ['pause', 'drain'] as const) {
      const refused = actions.run?.(action, dashboardRow('10.0.0.2:80'), never);
      await expect(refused).rejects.toMatchObject({ code: 'USAGE' });
    }
    expect(store.keys()).toContain('shop.rpc/2');
  });

  test('the last one in rotation is not taken out', async () => {
    store.put('shop.rpc/1', '10.0.0.1:80');
    for (const action of ['pause', 'drain'] as const) {
      await expect(actions.run?.(action, dashboardRow('10.0.0.1:80'), never)).rejects.toMatchObject({
        code: 'GUARD_REFUSED',
      });
    }
    expect(await admins()).toEqual(['up']);
  });

  test('without it nothing can be done', () => {
    expect(dashboardActions(settings()).run).toBeUndefined();
  });
});
