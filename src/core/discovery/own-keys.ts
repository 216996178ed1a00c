import type { Etcd } from '../etcd/port.js';
import { Follower } from './follow.js';
import type { DiscoveryPorts } from './ports.js';
import type { Written } from './registration.js';

/**
 * Follows what a publisher wrote, and names a key of it that is gone or hangs on another lease. A value that changed on
 * the same lease is left alone: that is how instances are masked. Null when there is nothing to follow.
 */
export function followWritten(
  etcd: Etcd,
  { key, metaKey, lease }: Written,
  inRotation: boolean,
  ports: DiscoveryPorts,
  damaged: (key: string) => void,
): Follower | null {
  const keys = [...(inRotation ? [key] : []), ...(metaKey === null ? [] : [metaKey])];
  if (keys.length === 0) return null;
  const intact = new Map(keys.map((one) => [one, false]));
  const follower = new Follower(
    etcd,
    { ranges: keys.map((one) => ({ key: one })), needed: [...keys.keys()] },
    {
      batch: ({ changes }) => {
        for (const change of changes) intact.set(change.key, change.kv?.lease === lease);
        const gone = keys.find((one) => !intact.get(one));
        if (gone !== undefined) damaged(gone);
      },
      stale: () => {},
      live: () => {},
    },
    ports,
  );
  // A user who may write these keys and not read them cannot notice; the lease still tells when all is gone.
  follower.startInTheEnd().catch(() => {});
  return follower;
}
