import { sanitise } from '../../core/model/sanitise.js';
import type { Pick, PickHead, PickTotals } from '../../core/operations/pick.js';
import type { View } from '../base-command.js';
import { type Column, table } from '../output/table.js';
import type { Collected } from './stream.js';

/** Above this many picks a person wants the distribution, not the list. */
export const listedPicks = 1000;
const shortSequence = 20;

/** The result for people: where each key goes or the sequence, then how it adds up, then what a change moved. */
export async function pickText(
  { head, picks, totals }: Collected,
  view: View,
  options: { explain: boolean },
): Promise<string> {
  const blocks: string[] = [];
  const keyed = picks.some((pick) => pick.hash !== null);
  if (options.explain) blocks.push(...picks.map((pick) => explain(pick, head)));
  else if (keyed) blocks.push(await table(keyColumns(picks), picks, view));
  else if (picks.length > 0) blocks.push(sequences(picks));
  // One pick, or a sequence that is counted at a glance, speaks for itself.
  const alone = options.explain || keyed ? 1 : shortSequence;
  if (picks.length === 0 || picks.length > alone) {
    blocks.push(await table(distributionColumns(totals), totals.distribution, view));
  }
  if (totals.moved !== null) {
    const moves = totals.moves.length > 0 ? await table(moveColumns, totals.moves, view) : '';
    blocks.push(`Keys moved: ${totals.moved}\n${moves}`);
  }
  return blocks.join('\n');
}

/** One line a service; the key does not matter to these policies. */
function sequences(picks: readonly Pick[]): string {
  const services = [...new Set(picks.map((pick) => pick.service))];
  const line = (service: string | null) => {
    const own = picks.filter((pick) => pick.service === service);
    return sanitise(own.map((pick) => pick.address).join(' '));
  };
  if (services.length < 2) return `${line(services[0] ?? null)}\n`;
  return services.map((service) => `${sanitise(service ?? '')}: ${line(service)}\n`).join('');
}

function keyColumns(picks: readonly Pick[]): Column<Pick>[] {
  const some = (test: (pick: Pick) => boolean, column: Column<Pick>) => (picks.some(test) ? [column] : []);
  return [
    { title: 'KEY', value: (pick) => pick.key || '""' },
    ...some((pick) => pick.service !== null, { title: 'SERVICE', value: (pick) => pick.service ?? '' }),
    { title: 'ADDRESS', value: (pick) => pick.address },
    ...some((pick) => pick.movedFrom !== null, { title: 'MOVED FROM', value: (pick) => pick.movedFrom ?? '-' }),
    { title: 'HASH', value: (pick) => pick.hash ?? '-', dropOrder: 2 },
    ...some((pick) => pick.point !== null, { title: 'POINT', value: (pick) => pick.point ?? '-', dropOrder: 3 }),
    ...some((pick) => pick.point !== null, {
      title: 'VNODE',
      value: (pick) => String(pick.virtualNode ?? '-'),
      align: 'right',
      dropOrder: 4,
    }),
    ...some((pick) => pick.next.length > 0, { title: 'NEXT', value: (pick) => pick.next.join(', '), dropOrder: 1 }),
  ];
}

function distributionColumns(totals: PickTotals): Column<PickTotals['distribution'][number]>[] {
  const ofServices = totals.distribution.some((row) => row.service !== null);
  return [
    ...(ofServices ? [{ title: 'SERVICE', value: (row: { service: string | null }) => row.service ?? '' }] : []),
    { title: 'ADDRESS', value: (row) => row.address },
    { title: 'PICKS', value: (row) => String(row.picks), align: 'right' },
    { title: 'SHARE', value: (row) => `${(row.share * 100).toFixed(1)}%`, align: 'right' },
  ];
}

const moveColumns: Column<PickTotals['moves'][number]>[] = [
  { title: 'FROM', value: (move) => move.from },
  { title: 'TO', value: (move) => move.to },
  { title: 'KEYS', value: (move) => String(move.keys), align: 'right' },
];

/** Why a key is where it is, and what would move it. */
function explain(pick: Pick, head: PickHead): string {
  const service = pick.service === null ? '' : ` of ${pick.service}`;
  const lines =
    pick.hash === null
      ? [`${pick.address}${service}: ${head.policy} looks at no key; it picks by its own state.`]
      : [`${JSON.stringify(pick.key)} -> ${pick.address}${service}`, `  hash          ${pick.hash}  ${hashName(head)}`];
  if (pick.point !== null) lines.push(...ringLines(pick, pick.point, head));
  else if (pick.hash !== null) lines.push(...ruleLines(pick, head));
  if (pick.movedFrom !== null) lines.push(`  moved from    ${pick.movedFrom}, its owner before the change`);
  return `${lines.map(sanitise).join('\n')}\n`;
}

function ringLines(pick: Pick, point: string, { policy, ring }: PickHead): string[] {
  const virtualNode = ring === 'crc32' ? `${pick.virtualNode}${pick.address}` : `${pick.address}${pick.virtualNode}`;
  const wrapped =
    point < (pick.hash ?? '') ? 'the first of the ring, as none follows the hash' : 'the first from the hash on';
  return [
    `  ring point    ${point}  ${wrapped}`,
    `  virtual node  ${pick.virtualNode} of ${pick.address}, hashed as ${JSON.stringify(virtualNode)}`,
    ...heirLines(pick, 'keys of other instances stay where they are'),
    '  if one joins  it takes the key only when a virtual node of its own falls from the hash up to the ring point',
    ...(policy === 'bounded_load' ? ['  if it is full the call goes to the next owner that has room'] : []),
  ];
}

function heirLines({ next }: Pick, others: string): string[] {
  const [heir] = next;
  return [
    `  next owners   ${next.length > 0 ? next.join(', ') : 'none'}`,
    `  if it leaves  ${heir === undefined ? 'nobody has the key' : `the key goes to ${heir}; ${others}`}`,
  ];
}

/** For policies without a ring. */
function ruleLines(pick: Pick, { policy }: PickHead): string[] {
  if (policy === 'maglev') {
    return [
      '  instance      the one in the slot of the table that the hash modulo its size gives',
      '  a change      moves the keys of who leaves, an equal share to who joins, and few keys between the others',
    ];
  }
  if (policy === 'rendezvous') {
    return [
      '  instance      the highest of the scores that this hash and each address give, in proportion to the weights',
      ...heirLines(pick, 'keys of other instances stay where they are'),
      '  if one joins  it takes the key only when its own score is higher',
    ];
  }
  const rule = policy === 'hash' ? 'the number of instances' : 'the total weight';
  return [
    `  instance      the hash modulo ${rule}, counted in order of address`,
    '  a change      of the set or of a weight moves most keys; --with and --without show how many',
  ];
}

function hashName({ policy, ring }: PickHead): string {
  const isCrc32 = ring === 'crc32' || policy === 'hash' || policy === 'weighted_hash';
  return isCrc32 ? '(CRC-32, IEEE)' : '(MurmurHash3 x64-128, first 64 bits, seed 0)';
}
