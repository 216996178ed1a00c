/** What Prometheus' own linter says of `/metrics`: that of `promtool check metrics`. */
import { spawnSync } from 'node:child_process';
import { expect, inject, test } from 'vitest';
import { createConfigured } from '../../src/core/balancer/config.js';
import { ManagedBalancer } from '../../src/core/grpc/policies/managed-balancer.js';
import { ClientStatistics } from '../../src/core/stats/client-statistics.js';
import { ClientNames } from '../../src/core/stats/export/client-names.js';
import { renderMetrics } from '../../src/core/stats/export/prometheus.js';
import { interop } from './support/programs.js';

function lint(text: string) {
  const { status, stdout, stderr } = spawnSync(inject('programs')?.promlint ?? '', { input: text, encoding: 'utf8' });
  return { status, stdout, stderr };
}

function client(policy: string, codes: readonly number[]) {
  const balancer = new ManagedBalancer(createConfigured(policy));
  balancer.update([{ address: '10.0.0.1:80' }, { address: '10.0.0.2:80' }]);
  for (const code of codes) {
    const call = balancer.reserve();
    call.started();
    call.ended({ code });
  }
  const statistics = new ClientStatistics(policy, balancer);
  statistics.identify({ service: 'a "quoted\\" service\nof two lines', client: 'shop' });
  return statistics;
}

interop('the linter of Prometheus', () => {
  test('has nothing to say', async () => {
    // Of one service, policy and name, of a policy that keeps nothing, with an open circuit, without a call.
    const clients = [client('p2c_ewma', [0, 0, 14, 14, 14, 14]), client('p2c_ewma', [0]), client('random', [])];
    const text = await renderMetrics(clients, new ClientNames());
    expect(text.split('\n').length).toBeGreaterThan(100);
    expect(lint(text)).toEqual({ status: 0, stdout: '', stderr: '' });
    // That it would: a counter by another name, a series twice.
    expect(lint(text.replaceAll('lbctl_client_picks_total', 'lbctl_client_picks')).stdout).toContain('_total');
    expect(lint(`${text}${text}`).status).not.toBe(0);
  });
});
