import { connect } from 'node:net';

/** Adapter on node:net: healthy when `address` (`host:port`) accepts a connection, which is closed at once. */
export function probeTcp(address: string, signal: AbortSignal): Promise<string> {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  const port = Number(address.slice(colon + 1));
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new Error('no answer in time'));
    const socket = connect({ host, port });
    const onAbort = () => settle(() => reject(new Error('no answer in time')));
    const settle = (tell: () => void) => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      tell();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('error', (error) => settle(() => reject(error)));
    socket.on('connect', () => {
      // Nobody listens, and yet it connects: the kernel drew this very port as the source (simultaneous open).
      const itself = socket.localPort === socket.remotePort && socket.localAddress === socket.remoteAddress;
      settle(() => (itself ? reject(new Error(`connect ECONNREFUSED ${address}`)) : resolve('accepts connections')));
    });
  });
}
