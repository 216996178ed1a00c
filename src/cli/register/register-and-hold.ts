import type { PublisherOptions } from '../../core/discovery/publisher-options.js';
import type { Etcd } from '../../core/etcd/port.js';
import { probeFor } from '../../core/health/probe.js';
import { describeTarget } from '../../core/health/target.js';
import { thisProcess } from '../../core/host/this-process.js';
import { systemClock } from '../../core/model/clock.js';
import type { Lifetime } from '../lifetime.js';
import { EtcdRegistration, type RegistrationChange } from './etcd-registration.js';
import { Hold } from './hold.js';
import { renderState } from './report.js';
import type { RegisterRequest } from './request.js';

export interface RegisterContext {
  readonly lifetime: Lifetime;
  /** Of lbctl. */
  readonly version: string;
  readonly json: boolean;
  readonly hasTerminal: boolean;
  /** Where state lines go. */
  readonly write: (text: string) => void;
}

/** Holds the registration that was asked for; resolves with the exit code. */
export async function registerAndHold(
  etcd: Etcd,
  request: RegisterRequest,
  command: readonly string[],
  context: RegisterContext,
): Promise<number> {
  const { service, address, health, drainDelayMs, killAfterMs, ttlSeconds } = request;
  const tell = ({ state, detail, key, lease }: RegistrationChange) => {
    const line = { time: new Date(systemClock.now()).toISOString(), state, service, address, key, lease, detail };
    context.write(renderState(line, ttlSeconds, context.json));
  };
  const options: PublisherOptions = {
    ...request,
    owner: { ...thisProcess(), version: context.version },
  };
  return new Hold(
    {
      command,
      probe: health && probeFor(health),
      target: health ? describeTarget(health) : '',
      drainDelayMs,
      killAfterMs,
      hasTerminal: context.hasTerminal,
    },
    {
      clock: systemClock,
      registration: new EtcdRegistration(etcd, options, tell),
      report: (state, detail) => tell({ state, detail, key: '', lease: 0n }),
      takeOver: (handler) => context.lifetime.takeOver(handler),
    },
  ).run();
}
