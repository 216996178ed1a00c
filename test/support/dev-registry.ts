import { connect } from '../../src/core/etcd/connection.js';
import type { Etcd, Operation } from '../../src/core/etcd/port.js';
import { type Live, start } from './cli.js';

/** `lbctl dev` on a free port, and a connection of the test's own to put things into it. */
export interface DevRegistry {
  readonly endpoint: string;
  readonly env: { readonly LBCTL_ENDPOINTS: string };
  readonly process: Live;
  readonly etcd: Etcd;
  put(entries: Readonly<Record<string, string | Buffer>>, lease?: bigint): Promise<void>;
  remove(...keys: string[]): Promise<void>;
  close(): Promise<void>;
}

export async function startDevRegistry(): Promise<DevRegistry> {
  const registry = start(['dev', '--listen', '127.0.0.1:0'], { timeoutMs: 900_000 });
  const [endpoint] = await registry.waitFor(/http:\/\/127\.0\.0\.1:\d+(?=\n)/);
  const etcd = await connect({ endpoints: [endpoint] });
  const write = async (operations: readonly Operation[]) => {
    for (let from = 0; from < operations.length; from += 100) {
      await etcd.txn({ success: operations.slice(from, from + 100) });
    }
  };
  return {
    endpoint,
    env: { LBCTL_ENDPOINTS: endpoint },
    process: registry,
    etcd,
    put: (entries, lease) =>
      write(
        Object.entries(entries).map(([key, value]) => ({ put: key, value, ...(lease !== undefined && { lease }) })),
      ),
    remove: (...keys) => write(keys.map((key) => ({ delete: { key } }))),
    async close() {
      await etcd.close();
      registry.child.kill('SIGTERM');
      await registry.ended;
    },
  };
}
