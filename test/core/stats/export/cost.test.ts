/** What a reader does not ask for is not computed. */
import { expect, it } from 'vitest';
import { createBalancer } from '../../../../src/core/balancer/policies.js';
import { ManagedBalancer } from '../../../../src/core/grpc/policies/managed-balancer.js';
import { ClientStatistics } from '../../../../src/core/stats/client-statistics.js';
import { ClientNames } from '../../../../src/core/stats/export/client-names.js';
import { statisticsDocument } from '../../../../src/core/stats/export/document.js';
import { renderMetrics } from '../../../../src/core/stats/export/prometheus.js';
import type { ClientFigures } from '../../../../src/core/stats/figures.js';

class Watched extends ClientStatistics {
  computed = 0;

  override figures(traceOf: string | null): ClientFigures {
    this.computed++;
    return super.figures(traceOf);
  }
}

function client(service: string) {
  const balancer = new ManagedBalancer(createBalancer('p2c_ewma'));
  balancer.update([{ address: 'a:1' }]);
  const statistics = new Watched('p2c_ewma', balancer);
  statistics.identify({ service, client: 'shop' });
  return statistics;
}

it('the figures of clients of other services', () => {
  const [greet, user] = [client('greet.rpc'), client('user.rpc')];
  const by = { host: 'here', pid: 1, nowMs: 0 };
  const { clients } = statisticsDocument([greet, user], { service: 'user.rpc', traceOf: null }, by);
  expect(clients.map(({ service }) => service)).toEqual(['user.rpc']);
  expect([greet.computed, user.computed]).toEqual([0, 1]);
});

it('windows, for a scrape', async () => {
  const greet = client('greet.rpc');
  expect(await renderMetrics([greet], new ClientNames())).toContain('service="greet.rpc"');
  expect(greet.computed).toBe(0);
});
