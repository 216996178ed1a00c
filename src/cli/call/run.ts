import { noInstances } from '../../core/discovery/no-instances.js';
import { readService } from '../../core/discovery/read.js';
import type { Etcd, EtcdSettings } from '../../core/etcd/port.js';
import { Caller, type CallerOptions } from '../../core/grpc/calls/caller.js';
import { methodOf } from '../../core/grpc/calls/definition.js';
import { definitionsOfProto } from '../../core/grpc/calls/describe.js';
import { type CallMethod, healthCheck } from '../../core/grpc/calls/method.js';
import { type ClientSettings, clientOptions } from '../../core/grpc/client/client-options.js';
import { ClientState } from '../../core/grpc/policies/client-state.js';
import { observationsEnded } from '../../core/grpc/resolvers/observation.js';
import { inRotation } from '../../core/grpc/resolvers/rotation.js';
import { formatTarget, parseTarget } from '../../core/grpc/target.js';
import { systemClock } from '../../core/model/clock.js';
import { LbctlError } from '../../core/model/errors.js';
import { type CallFigures, CallStatistics, runCalls } from '../../core/operations/call.js';
import type { Lifetime } from '../lifetime.js';
import type { Progress } from './progress.js';
import type { CallRequest } from './request.js';

/** What one policy did; the JSON contract of `call`. */
export interface CallResult extends CallFigures {
  readonly policy: string;
  readonly service: string;
  readonly method: string;
}

export interface CallSurroundings {
  readonly lifetime: Lifetime;
  /** Settings, and a connection to look instances up with; `endpoints` before those of flags and environment. */
  etcd(endpoints?: readonly string[]): Promise<{ readonly settings: EtcdSettings; readonly connection: Etcd }>;
  tell(line: string): void;
  readonly progress: Progress;
}

/** Connections are waited for this long; then the calls say themselves what is wrong. */
const connectMs = 5000;

interface Destination {
  readonly target: string;
  readonly etcd?: Omit<EtcdSettings, 'endpoints'>;
}

/**
 * Calls `service` (a name in etcd, or a target) under each policy, all at the same time, each with connections of its own.
 * @throws NO_INSTANCE with similar names, USAGE, NOT_FOUND, CHECK_FAILED, ETCD_*.
 */
export async function callService(
  service: string,
  request: CallRequest,
  surroundings: CallSurroundings,
): Promise<{ readonly results: readonly CallResult[]; readonly error: LbctlError | null }> {
  const { lifetime, tell } = surroundings;
  const to = await destination(service, surroundings);
  const method = await chooseMethod(to, request);
  const runs = request.policies.map((policy) => prepare(to, policy, method, request, lifetime.signal));
  const close = () => {
    for (const { caller } of runs) caller.close();
  };
  lifetime.signal.addEventListener('abort', close, { once: true });
  // However this ends: a record that stayed behind would hold up drains until its lease runs out.
  lifetime.defer(() => {
    close();
    return observationsEnded();
  });
  try {
    await Promise.all(runs.map(({ caller }) => caller.isReady(Math.max(connectMs, request.timeoutMs))));
    lifetime.signal.throwIfAborted();
    // From here on there is something to tell when the run is cut short; before, a signal ends the process at once.
    lifetime.finishByItself();
    surroundings.progress.start(runs);
    const results = await Promise.all(runs.map(async (run) => resultOf(await run.go(), run, service)));
    if (results.some(({ outcomes }) => method === healthCheck && 'UNIMPLEMENTED' in outcomes)) {
      surroundings.progress.stop();
      tell('UNIMPLEMENTED is taken for a sign of life: there is no health service. Name a method with --method.');
    }
    return { results, error: lifetime.signal.aborted ? null : failureOf(results, runs) };
  } finally {
    surroundings.progress.stop();
    lifetime.signal.removeEventListener('abort', close);
    for (const { caller } of runs) caller.close();
  }
}

async function destination(service: string, surroundings: CallSurroundings): Promise<Destination> {
  if (service.includes('://')) {
    const target = parseTarget(service);
    if (target.scheme !== 'etcd' && target.scheme !== 'discov') return { target: service };
    return lookedUp(target.key, await surroundings.etcd(target.hosts), surroundings.lifetime.signal);
  }
  return lookedUp(service, await surroundings.etcd(), surroundings.lifetime.signal);
}

/** @throws NO_INSTANCE, ETCD_* */
async function lookedUp(
  service: string,
  { settings, connection }: { readonly settings: EtcdSettings; readonly connection: Etcd },
  signal: AbortSignal,
): Promise<Destination> {
  // grpc-js would say of an empty service what it says of one that is down; and the names that may have been meant are here.
  const view = await readService(connection, service, { signal });
  if (view.instances.length === 0) throw await noInstances(connection, service);
  if (inRotation(view.instances).length === 0) {
    throw new LbctlError('NO_INSTANCE', `No instance of ${service} is in rotation: there is nobody to call`, {
      suggestions: [`lbctl list ${service}`, `lbctl resume ${service} --all`],
    });
  }
  const target = formatTarget({ scheme: 'etcd', hosts: settings.endpoints, key: service });
  return { target, etcd: settings };
}

async function chooseMethod(to: Destination, request: CallRequest): Promise<CallMethod> {
  if (request.method !== null) {
    const { name, proto, importPaths, data } = request.method;
    const definitions =
      proto === null
        ? await byReflection(to, name, Math.max(connectMs, request.timeoutMs))
        : await definitionsOfProto(proto, importPaths);
    return methodOf(definitions, name, data);
  }
  return healthCheck;
}

async function byReflection(to: Destination, method: string, timeoutMs: number): ReturnType<typeof definitionsOfProto> {
  const { definitionsByReflection } = await import('../../core/grpc/calls/reflection.js');
  return definitionsByReflection(
    to.target,
    optionsOf(to, { policy: 'round_robin', observe: false }),
    method,
    timeoutMs,
  );
}

function optionsOf({ etcd }: Destination, settings: ClientSettings): CallerOptions['options'] {
  return {
    ...clientOptions({ ...settings, ...(etcd && { etcd }) }),
    // Each policy has connections of its own: shared ones would be warm for the second.
    'grpc.use_local_subchannel_pool': 1,
  };
}

interface Run {
  readonly policy: string;
  readonly state: ClientState;
  readonly caller: Caller;
  readonly method: CallMethod;
  readonly statistics: CallStatistics;
  go(): Promise<number>;
}

function prepare(to: Destination, policy: string, method: CallMethod, request: CallRequest, signal: AbortSignal): Run {
  const statistics = new CallStatistics();
  const state = new ClientState({
    // To a policy UNIMPLEMENTED is a failure, and an instance without health service would be left out for it.
    answers: method.answers,
    onAttempt: ({ address, code, latencyMs }) => {
      const isError = code !== 0 && !method.answers.includes(code);
      // What the interruption cut short says nothing about the instance.
      if (!signal.aborted || !isError) statistics.attempt(address, isError, latencyMs);
    },
  });
  const options = optionsOf(to, {
    policy,
    state,
    observe: 'lbctl-call',
    ...(request.retry && { retry: { methods: [method.path.slice(1)] } }),
  });
  const caller = new Caller({
    target: to.target,
    options,
    method,
    timeoutMs: request.timeoutMs,
    metadata: request.metadata,
  });
  const call = (number: number) => {
    const key = request.key?.replaceAll('{n}', String(number));
    return caller.call(key === undefined ? [] : [['x-lb-hash-key', key]]);
  };
  const go = () => runCalls(request.plan, call, statistics, { clock: systemClock, signal });
  return { policy, state, caller, method, statistics, go };
}

function resultOf(durationMs: number, { policy, statistics, method }: Run, service: string): CallResult {
  return { policy, service, method: method.path.slice(1), ...statistics.figures(Math.round(durationMs)) };
}

function failureOf(results: readonly CallResult[], runs: readonly Run[]): LbctlError | null {
  const errors = results.reduce((sum, result) => sum + result.errors, 0);
  if (errors === 0) return null;
  const calls = results.reduce((sum, result) => sum + result.calls, 0);
  const words = runs.map(({ statistics }) => statistics.lastFailure).find((failure) => failure !== '');
  const [service] = results.map((result) => result.service);
  return new LbctlError(
    'CHECK_FAILED',
    `${errors} of ${calls} calls failed${words ? `, the last one with: ${words}` : ''}`,
    {
      suggestions: [
        ...(words?.includes('Protocol error')
          ? ['What listens there does not speak gRPC (the instances of `lbctl demo` do not).']
          : []),
        ...(service?.includes('://') ? [] : [`lbctl list ${service} --probe`]),
      ],
    },
  );
}
