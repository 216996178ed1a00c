import { maskable } from '../dialects/mask.js';
import { LbctlError } from '../model/errors.js';
import type { Instance, Strategy } from '../model/instance.js';

/** How to take out what lbctl does not own; `auto` decides where it can be known. */
export const strategyChoices = ['auto', 'managed', 'mask', 'delete'] as const;
/** How to take out what lbctl does not own; `auto` decides where it can be known. */
export type StrategyChoice = (typeof strategyChoices)[number];

export interface Chosen {
  readonly strategy: Strategy;
  /** For people: whose registration it is, and on what the strategy depends. */
  readonly why: string;
}

const kinds: Readonly<Record<Instance['dialect'], string>> = {
  gozero: 'a go-zero server',
  kratos: 'a kratos server',
  endpoint: "a server of etcd's gRPC naming",
  json: 'a server of the json registry',
  unknown: 'something that lbctl does not know',
};

const maskedBecause: Readonly<Record<Instance['dialect'], string>> = {
  gozero: 'works if every client is go-zero v1.10.2 or newer; older ones go on calling it',
  kratos: 'kratos clients let go of an instance without endpoints',
  endpoint: 'naming clients let go of an address that is none',
  json: '',
  unknown: '',
};

const deletedBecause: Readonly<Record<Instance['dialect'], string>> = {
  gozero: 'works if the server is older than go-zero v1.9.0; newer ones put their key back at once',
  kratos: 'kratos servers do not look after their key while its lease lives',
  endpoint: 'naming servers do not look after their key while its lease lives',
  json: 'json servers do not look after their key while its lease lives',
  unknown: '',
};

/**
 * How one registration is taken out. What lbctl or this library registered is always `managed`, whatever is asked for: its
 * publisher would undo anything else. See docs/pausing.md for what was seen of each.
 * @throws NOT_MANAGED when nothing works, or when only somebody who knows the fleet can choose.
 */
export function chooseStrategy(instance: Instance, asked: StrategyChoice): Chosen {
  const { dialect, owner, lease } = instance;
  if (owner) return { strategy: 'managed', why: 'registered by lbctl: its publisher takes itself out and says so' };
  const kind = kinds[dialect];
  if (asked === 'managed') throw refused(instance, `it was not registered by lbctl: it looks like ${kind}`);
  if (dialect === 'unknown') throw refused(instance, 'its value is no address in any layout');
  const mask = { strategy: 'mask', why: `${kind}: ${maskedBecause[dialect]}` } as const;
  const remove = { strategy: 'delete', why: `${kind}: ${deletedBecause[dialect]}` } as const;
  if (asked === 'mask' && !maskable.has(dialect)) {
    throw refused(instance, `${kind} has no value that its clients would let go of`, ['--strategy delete']);
  }
  if (asked === 'mask') return mask;
  if (lease === null) return { strategy: 'delete', why: 'a key without a lease: no process would put it back' };
  if (asked === 'delete' || dialect === 'json') return remove;
  if (dialect !== 'gozero') return mask;
  throw refused(instance, 'it looks like a go-zero server, and etcd does not tell which versions are about', [
    '--strategy mask, if every client is go-zero v1.10.2 or newer: older ones go on calling it.',
    '--strategy delete, if the server is older than v1.9.0: newer ones put their key back at once.',
    'LBCTL_STRATEGY=mask (or delete) says it once for a fleet.',
  ]);
}

function refused({ service, address }: Instance, why: string, suggestions: readonly string[] = []): LbctlError {
  return new LbctlError('NOT_MANAGED', `${address} of ${service} cannot be taken out like that: ${why}`, {
    suggestions: [
      ...suggestions,
      `Registered through lbctl register ${service} ${address} -- CMD (or this library), lbctl pauses and resumes it.`,
    ],
  });
}
