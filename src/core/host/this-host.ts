import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { type PortUse, portUse } from './tcp-table.js';

/** What a drain asks the machine it runs on. */
export interface HostPort {
  /** Whether a host (a name or an address without brackets) is this machine. */
  isThisHost(host: string): Promise<boolean>;
  /** Null where the platform has no such table. */
  portUse(port: number): Promise<PortUse | null>;
}

/** Adapter on node:os, node:dns and /proc. It sees the connections of its own network namespace. */
export const thisHost: HostPort = {
  async isThisHost(host) {
    const own = new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)));
    const addresses = await lookup(host, { all: true }).catch(() => []);
    return addresses.some(({ address }) => own.has(address) || /^127\./.test(address));
  },
  async portUse(port) {
    // tcp6 is missing where IPv6 is turned off.
    const tables = await Promise.all(
      ['/proc/net/tcp', '/proc/net/tcp6'].map((file) => readFile(file, 'utf8').catch(() => null)),
    );
    const [tcp, tcp6] = tables;
    return tcp === null || tcp === undefined ? null : portUse([tcp, tcp6 ?? ''], port);
  },
};
