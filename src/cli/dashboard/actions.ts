import type { Row } from '../../core/dashboard/frame.js';
import type { Etcd } from '../../core/etcd/port.js';
import { LbctlError } from '../../core/model/errors.js';
import type { ActionName, Actions } from '../../ui/dashboard/options.js';
import { drainDefaults, drainRequest } from '../drain/flags.js';
import { type ConnectionFlagValues, connectionFlags } from '../flags.js';
import type { Lifetime } from '../lifetime.js';
import { followDefaults, followWithin, whoAmI } from '../steering/steering.js';
import { standingStrategy, takeOutDefaults, takeOutRequest } from '../steering/take-out.js';

export interface ActionSettings {
  /** Known once the source is open: a recording brings its own. */
  service(): string;
  /** As etcd was reached. */
  readonly endpoints: readonly string[];
  readonly flags: ConnectionFlagValues;
  /** How this program is called in a shell. */
  readonly program: string;
  /** Null: it only looks. */
  readonly connect: (() => Promise<Etcd>) | null;
  readonly lifetime: Lifetime;
}

const defaultEndpoint = '127.0.0.1:2379';
/** A drain waits for a minute, and writes before and after it. */
const longestMs = 90_000;

/** What the keys p, u and d do: the same as the verbs. */
export function dashboardActions(settings: ActionSettings): Actions {
  const command = (action: ActionName, row: Row) => commandLine(action, row, settings);
  const { connect } = settings;
  if (connect === null) return { command };
  return {
    command,
    run: async (action, row, signal) => {
      const bounded = AbortSignal.any([signal, settings.lifetime.signal, AbortSignal.timeout(longestMs)]);
      return act(await connect(), action, selectorOf(row), settings, bounded);
    },
  };
}

async function act(
  etcd: Etcd,
  action: ActionName,
  selector: string,
  { service, lifetime }: ActionSettings,
  signal: AbortSignal,
): Promise<string> {
  const request = { service: service(), selectors: [selector], by: whoAmI(process.env), signal };
  const follow = { confirmWithinMs: followWithin(followDefaults) };
  if (action === 'drain') {
    const { drainInstances } = await import('../../core/operations/drain/drain.js');
    const { drainPorts } = await import('../drain/ports.js');
    // Its progress has no place on a screen that is drawn: what came of it is told at the end.
    const { ports } = drainPorts({ lifetime, killAfterMs: 0, isStructured: true }, () => {});
    const flags = { ...drainDefaults, strategy: standingStrategy(process.env) };
    const drain = { ...drainRequest(flags, signal), ...request, command: null, verb: 'drain' } as const;
    return wordsOf(await drainInstances(etcd, drain, ports));
  }
  if (action === 'pause') {
    const { pauseInstances } = await import('../../core/operations/pause.js');
    const flags = { ...takeOutDefaults, strategy: standingStrategy(process.env) };
    return wordsOf(await pauseInstances(etcd, { ...request, ...takeOutRequest(flags), ...follow }));
  }
  const { resumeInstances } = await import('../../core/operations/resume.js');
  return wordsOf(await resumeInstances(etcd, { ...request, ...follow }));
}

/** @throws the error that is in it */
function wordsOf(result: {
  readonly instances: readonly { readonly address: string; readonly state: string; readonly condition: string }[];
  readonly error: LbctlError | null;
}): string {
  if (result.error) throw result.error;
  if (result.instances.length === 0) throw new LbctlError('NOT_FOUND', 'It is not there any more');
  return result.instances.map(({ address, state, condition }) => `${address} is ${state}: ${condition}`).join('; ');
}

function commandLine(action: ActionName, row: Row, { service, endpoints, flags, program }: ActionSettings): string {
  const reached = endpoints.join(',');
  const isDefault = reached === '' || reached.replace(/^http:\/\//, '') === defaultEndpoint;
  const connection = isDefault ? [] : ['--endpoints', reached];
  for (const name of Object.keys(connectionFlags) as (keyof ConnectionFlagValues)[]) {
    const value = flags[name];
    if (value === true) connection.push(`--${name}`);
    else if (typeof value === 'string') connection.push(`--${name}`, withoutPassword(name, value));
  }
  const words = [action, service() || 'SERVICE', selectorOf(row), ...connection];
  return `${program} ${words.map(quoted).join(' ')}`;
}

/** A value that cannot be read has no address; its key is a selector as well. */
function selectorOf(row: Row): string {
  return row.address || row.id;
}

function withoutPassword(name: string, value: string): string {
  return name === 'user' ? value.split(':', 1).join('') : value;
}

/** For a POSIX shell. Control characters would act on the terminal it is shown on: they are cut out. */
function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replace(/\p{Cc}/gu, '').replaceAll("'", `'\\''`)}'`;
}
