import { LbctlError, messageOf } from '../model/errors.js';
import { tapCall } from './call-tap.js';
import type { Core } from './core.js';
import { classify, type Failure } from './errors.js';

export type Beat =
  | { readonly kind: 'alive' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly reason: string };

/**
 * One keep-alive in a short stream of its own: a long-lived stream to a hung member would keep the lease silent until
 * it expires. `onSent` is called when the request leaves.
 */
export async function beatOnce(
  core: Core,
  id: bigint,
  timeoutMs: number,
  signal: AbortSignal,
  onSent: () => void,
): Promise<Beat> {
  const { clock, balancer } = core;
  const host = balancer.choose();
  const link = host.begin('streams');
  const what = 'keep the lease alive';
  const context = { what, address: host.address, secure: host.endpoint.secure, user: core.user, waitedMs: timeoutMs };
  let cancel = () => {};
  let sentToken: string | null = null;
  let isOver = false;

  const exchange = async (): Promise<Beat | Failure> => {
    if (!(await link.settle(timeoutMs, clock))) return classify({ code: 4, details: 'Waiting for LB pick' }, context);
    const client = await link.etcd3();
    sentToken = (await core.tokens?.get()) ?? null;
    // A keep-alive that leaves after its time would renew a lease that the caller may have given up.
    if (isOver) return classify({ code: 1, details: 'called off' }, context);
    const tap = tapCall({ token: sentToken, requireLeader: true });
    const stream = await client.leaseClient.leaseKeepAlive({ ...tap.options, deadline: clock.now() + timeoutMs });
    cancel = tap.cancel;
    return new Promise((resolve) => {
      const failed = (details: string) => resolve(classify(tap.status() ?? { code: 14, details }, context));
      stream.on('data', ({ TTL }) => {
        resolve({ kind: Number(TTL) > 0 ? 'alive' : 'gone' });
        stream.end();
      });
      stream.on('error', (error) => failed(messageOf(error)));
      stream.on('end', () => failed('the server ended the stream'));
      if (isOver) return cancel();
      onSent();
      stream.write({ ID: String(id) });
    });
  };

  let giveUp: (failure: Failure) => void = () => {};
  const late = new Promise<Failure>((resolve) => {
    giveUp = resolve;
  });
  const timer = clock.timer(timeoutMs, () => giveUp(classify({ code: 4, details: 'Deadline exceeded' }, context)));
  const onAbort = () => giveUp(classify({ code: 1, details: 'called off' }, context));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const result = await Promise.race([exchange(), late]);
    if ('kind' in result) {
      balancer.praise(host);
      return result;
    }
    cancel();
    if (signal.aborted) return { kind: 'failed', reason: 'called off' };
    if (result.remedy === 'token' && sentToken !== null) core.tokens?.invalidate(sentToken);
    if (result.remedy === 'elsewhere') balancer.blame(host);
    if (result.silent) host.renew('streams');
    if (result.refused) host.refused();
    return { kind: 'failed', reason: result.error.message };
  } catch (error) {
    // The token could not be fetched.
    return { kind: 'failed', reason: error instanceof LbctlError ? error.message : messageOf(error) };
  } finally {
    isOver = true;
    timer.cancel();
    signal.removeEventListener('abort', onAbort);
    link.end();
  }
}
