import { splitHostPort } from '../../dialects/address.js';
import { formatDuration } from '../../model/duration.js';
import type { Instance } from '../../model/instance.js';
import { neededOf } from '../minimum.js';
import { fleetOf } from '../plan.js';
import type { OperationResult } from '../result.js';
import type { CommandTarget, DrainRequest, DrainResult } from './request.js';

/** What would be done, address by address. */
export function plannedDrain(paused: OperationResult, request: DrainRequest, all: readonly Instance[]): DrainResult {
  const { service, command, health } = request;
  const instances = paused.instances.map((one) => {
    const steps = [
      one.condition,
      `wait for ${conditionNames(request).join(', ')}`,
      ...(command ? [`run ${command.join(' ')}`, `wait until it is back and healthy (${health})`, 'resume it'] : []),
    ];
    return { ...one, condition: steps.join('; then ') };
  });
  return { service, instances, guard: guardFigures(all, request, instances), outcome: 'planned', error: null };
}

function guardFigures(
  all: readonly Instance[],
  { minAvailable }: DrainRequest,
  leaving: readonly { readonly address: string }[],
): NonNullable<DrainResult['guard']> {
  const fleet = fleetOf(all);
  const left = fleet.up.filter(({ address }) => !leaving.some((one) => one.address === address));
  return { up: fleet.up.length, left: left.length, needed: neededOf(minAvailable, fleet.all.length) };
}

function conditionNames({ untilIdle, graceMs }: DrainRequest): string[] {
  return [
    'out',
    'observers',
    ...(untilIdle ? ['idle'] : []),
    ...(graceMs > 0 ? [`grace (${formatDuration(graceMs)})`] : []),
  ];
}

/** `{host} {port} {address} {id}` in the arguments of a command. */
export function fillPlaceholders(command: readonly string[], target: CommandTarget): string[] {
  const values = placeholders(target);
  return command.map((word) => word.replace(/\{(host|port|address|id)\}/g, (_, name: string) => values[name] ?? ''));
}

/** The host of an IPv6 address is without brackets. */
export function placeholders({ address, id }: CommandTarget): Record<string, string> {
  const { host, port } = splitHostPort(address);
  return { host, port: String(port ?? ''), address, id };
}
