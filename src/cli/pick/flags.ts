import type { RingFlavour } from '../../core/hashing/ring.js';
import { LbctlError } from '../../core/model/errors.js';
import { chosenPolicy } from '../../core/operations/pick.js';

interface PickFlags {
  readonly service?: string | undefined;
  readonly nodes?: readonly string[] | undefined;
  readonly with?: readonly string[] | undefined;
  readonly without?: readonly string[] | undefined;
  readonly policy: string;
  readonly ring?: RingFlavour | undefined;
  readonly hasKeys: boolean;
}

/** @throws USAGE for flags that contradict each other, before anybody is asked for anything. */
export function checkPickFlags(flags: PickFlags): void {
  const { policy, keyed } = chosenPolicy(flags.policy, flags.ring);
  if (keyed && !flags.hasKeys) {
    throw new LbctlError('USAGE', `${policy} picks by key, and none was given`, {
      suggestions: ['Give --key KEY or --keys-file FILE, or a --policy without keys.'],
    });
  }
  if (flags.nodes && flags.service !== undefined) {
    throw new LbctlError('USAGE', `Both the service "${flags.service}" and --nodes say what to pick from`, {
      suggestions: ['Leave one of them out.'],
    });
  }
  if ((flags.with || flags.without) && !flags.nodes && flags.service === undefined) {
    throw new LbctlError('USAGE', '--with and --without change one set, and every service was asked for', {
      suggestions: ['Name the service: lbctl list'],
    });
  }
}
