import { connect, createServer } from 'node:net';
import { networkInterfaces, platform } from 'node:os';
import { expect, it } from 'vitest';
import { portUse } from '../../../src/core/host/tcp-table.js';
import { thisHost } from '../../../src/core/host/this-host.js';
import { until } from '../../support/until.js';

const header = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const row = (local: string, remote: string, state: string) =>
  `   1: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000     0        0 12345 1 0000000000000000`;

it('counts established connections on the local port alone, IPv4 and IPv6, in whatever state the others are', () => {
  const tcp = [
    header,
    row('00000000:1F90', '00000000:0000', '0A'),
    row('0100007F:1F90', '0100007F:D431', '01'),
    // The client's end of the same connection, and others that are closing or somebody else's.
    row('0100007F:D431', '0100007F:1F90', '01'),
    row('0100007F:1F90', '0100007F:D432', '06'),
    row('0100007F:1F90', '0100007F:D433', '08'),
    row('0100007F:1F91', '0100007F:D434', '01'),
  ].join('\n');
  const tcp6 = [
    header,
    row('0000000000000000FFFF00000100007F:1F90', '0000000000000000FFFF00000100007F:D435', '01'),
  ].join('\n');
  expect(portUse([tcp, tcp6], 8080)).toEqual({ established: 2, listening: true });
  expect(portUse([tcp, tcp6], 8081)).toEqual({ established: 1, listening: false });
  expect(portUse(['', 'no table\n'], 8080)).toEqual({ established: 0, listening: false });
});

it.skipIf(platform() !== 'linux')('sees a real connection come and go', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  expect(await thisHost.portUse(port)).toEqual({ established: 0, listening: true });
  const client = connect(port, '127.0.0.1');
  await until(async () => (await thisHost.portUse(port))?.established === 1, 5000);
  client.destroy();
  await until(async () => (await thisHost.portUse(port))?.established === 0, 5000);
  server.close();
  await until(async () => (await thisHost.portUse(port))?.listening === false, 5000);
});

it('knows the addresses and names of this host, and none of another', async () => {
  const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  for (const host of ['127.0.0.1', '127.0.0.7', 'localhost', ...own.filter((address) => !address.startsWith('fe80'))]) {
    expect([host, await thisHost.isThisHost(host)]).toEqual([host, true]);
  }
  for (const host of ['203.0.113.9', 'no-such-host.invalid']) {
    expect([host, await thisHost.isThisHost(host)]).toEqual([host, false]);
  }
});
