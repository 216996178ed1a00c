import { checkAddress } from '../dialects/address.js';
import { checkServiceName, instanceKey, type LayoutOptions } from '../dialects/layout.js';
import { LbctlError } from '../model/errors.js';
import type { DialectName, Owner } from '../model/instance.js';
import { maxWeight } from '../model/weight.js';
import { OverlayKeys } from './overlay.js';
import type { Draft } from './registration.js';

/** What a publisher registers, and how. */
export interface PublisherOptions extends Pick<LayoutOptions, 'prefixes'> {
  /** Name of the service, as its clients ask for it. */
  readonly service: string;
  /** What clients dial: see `figureOutListenOn`. */
  readonly address: string;
  /** Who registers; shown to operators. */
  readonly owner: Owner;
  /** The last segment of the key. Default: the lease id in decimal, new with each registration. */
  readonly id?: string;
  /** Whole seconds; default 10. How long a killed process stays listed. */
  readonly ttlSeconds?: number;
  /** Above 0, at most 100,000; default 1. */
  readonly weight?: number;
  /** Where it runs, for clients that prefer their own zone. Default: not told. */
  readonly zone?: string;
  /** Version of the service, for people. Default: not told. */
  readonly version?: string;
  /** Anything else about the instance. Default: nothing. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Default `gozero`. */
  readonly dialect?: DialectName;
  /** Take the address for oneself: other keys of it go, and other publishers of ours with it stop. */
  readonly exclusive?: boolean;
  /** The root of lbctl's own records. Default `lbctl/v1/`. */
  readonly overlayRoot?: string;
}

const mostSeconds = 86_400 * 365;

/** @throws USAGE for anything that cannot be registered. */
export function draftOf(options: PublisherOptions): Draft & { readonly ttlSeconds: number } {
  const {
    service,
    address,
    owner,
    id,
    ttlSeconds = 10,
    weight = 1,
    dialect = 'gozero',
    prefixes,
    overlayRoot,
  } = options;
  checkServiceName(service);
  const directory = instanceKey(dialect, service, '', prefixes ? { prefixes } : {});
  const { root } = new OverlayKeys(overlayRoot);
  if (directory.startsWith(root) || root.startsWith(directory)) {
    throw refuse(`service ${service}`, `lbctl keeps its own records below ${root}`, 'Choose another name.');
  }
  checkAddress(address);
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > mostSeconds) {
    throw refuse(`a TTL of ${ttlSeconds} seconds`, 'it takes whole seconds, at least 1', '--ttl 10 is usual.');
  }
  if (!(weight > 0 && weight <= maxWeight)) {
    throw refuse(`weight ${weight}`, `it must be above 0 and at most ${maxWeight}`, '--weight 1 is the default.');
  }
  if (id !== undefined && (id === '' || /[\s\p{Cc}/]/u.test(id))) {
    throw refuse(
      `id ${JSON.stringify(id)}`,
      'an id is one segment of a key, without blanks',
      'Leave --id out to use the lease id.',
    );
  }
  return {
    service,
    address,
    owner,
    id: id ?? null,
    ttlSeconds,
    weight,
    dialect,
    zone: options.zone ?? '',
    version: options.version ?? '',
    metadata: options.metadata ?? {},
    exclusive: options.exclusive ?? false,
    layout: { ...(prefixes ? { prefixes } : {}), ...(overlayRoot === undefined ? {} : { overlayRoot }) },
  };
}

function refuse(what: string, why: string, remedy: string): LbctlError {
  return new LbctlError('USAGE', `Cannot register with ${what}: ${why}`, { suggestions: [remedy] });
}
