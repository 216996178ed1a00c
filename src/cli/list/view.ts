import type { Instance } from '../../core/model/instance.js';
import type { View } from '../base-command.js';
import { leaseHex } from '../instance-document.js';
import { type Column, table } from '../output/table.js';
import { age, relativeTime } from '../output/time.js';

/** One row of `list` without a service. */
export interface ServiceSummary {
  readonly service: string;
  readonly dialects: readonly string[];
  readonly instances: number;
  readonly up: number;
  readonly paused: number;
  readonly permanent: number;
  readonly duplicates: number;
}

const unknown = '-';
const oneOrMore = (text: string) => (text === '' ? unknown : text);

const serviceColumns: ReadonlyArray<Column<ServiceSummary>> = [
  { title: 'SERVICE', value: (row) => row.service },
  { title: 'INSTANCES', value: (row) => String(row.instances), align: 'right' },
  {
    title: 'UP',
    value: (row) => String(row.up),
    align: 'right',
    paint: (row, style) => warnIf(row.up === 0, style.red),
  },
  {
    title: 'PAUSED',
    value: (row) => String(row.paused),
    align: 'right',
    dropOrder: 2,
    paint: (row, style) => warnIf(row.paused > 0, style.yellow),
  },
  {
    title: 'PERMANENT',
    value: (row) => String(row.permanent),
    align: 'right',
    dropOrder: 3,
    paint: (row, style) => warnIf(row.permanent > 0, style.yellow),
  },
  {
    title: 'DUPLICATES',
    value: (row) => String(row.duplicates),
    align: 'right',
    dropOrder: 4,
    paint: (row, style) => warnIf(row.duplicates > 0, style.yellow),
  },
  { title: 'DIALECTS', value: (row) => row.dialects.join(','), dropOrder: 1 },
];

export function servicesText(services: readonly ServiceSummary[], view: View): Promise<string> | string {
  return services.length === 0 ? '' : table(serviceColumns, services, view);
}

export function instancesText(instances: readonly Instance[], view: View): Promise<string> | string {
  if (instances.length === 0) return '';
  const columns = view.wide
    ? [...instanceColumns(view.nowMs), ...wideColumns(view.nowMs)]
    : instanceColumns(view.nowMs);
  // -o wide is for everything there is: it may wrap, it must not lose a column.
  return table(columns, instances, { style: view.style, width: view.wide ? undefined : view.width });
}

function instanceColumns(nowMs: number): ReadonlyArray<Column<Instance>> {
  return [
    { title: 'ADDRESS', value: (row) => oneOrMore(row.address) },
    { title: 'ID', value: (row) => row.id, dropOrder: 4 },
    {
      title: 'ADMIN',
      value: (row) => row.admin,
      paint: (row, style) => (row.admin === 'up' ? style.green : style.yellow),
    },
    {
      title: 'HEALTH',
      value: (row) => row.health,
      dropOrder: 3,
      paint: (row, style) => ({ healthy: style.green, unhealthy: style.red, unknown: style.dim })[row.health],
    },
    { title: 'WEIGHT', value: (row) => String(row.weight), align: 'right', dropOrder: 2 },
    { title: 'ZONE', value: (row) => oneOrMore(row.zone), dropOrder: 5 },
    { title: 'TTL', value: timeToLive, dropOrder: 6 },
    { title: 'AGE', value: (row) => age(row.since, nowMs), dropOrder: 7 },
    { title: 'DIALECT', value: (row) => row.dialect, dropOrder: 8 },
    { title: 'NOTES', value: (row) => notes(row, nowMs), dropOrder: 1, paint: (_row, style) => style.yellow },
  ];
}

function wideColumns(nowMs: number): ReadonlyArray<Column<Instance>> {
  return [
    { title: 'KEY', value: (row) => row.key },
    { title: 'LEASE', value: (row) => row.lease?.id.toString() ?? unknown },
    { title: 'LEASE HEX', value: (row) => (row.lease ? leaseHex(row.lease.id) : unknown) },
    { title: 'CREATE REVISION', value: (row) => String(row.createRevision) },
    { title: 'MOD REVISION', value: (row) => String(row.modRevision) },
    {
      title: 'OWNER',
      value: ({ owner }) => (owner ? `${owner.host}/${owner.pid} lbctl ${owner.version}` : unknown),
    },
    { title: 'VERSION', value: (row) => oneOrMore(row.version) },
    {
      title: 'METADATA',
      value: (row) =>
        oneOrMore(
          Object.entries(row.metadata)
            .map(([name, value]) => `${name}=${value}`)
            .join(' '),
        ),
    },
    {
      title: 'PAUSED',
      value: ({ pause }) => (pause ? `${pause.strategy}, ${relativeTime(pause.at, nowMs)}` : unknown),
    },
  ];
}

/** Seconds left / granted; `-` where there is no lease, or nobody asked. */
function timeToLive({ lease }: Instance): string {
  if (lease?.remainingSeconds === undefined) return unknown;
  return `${lease.remainingSeconds}s/${lease.ttlSeconds ?? '?'}s`;
}

function notes(instance: Instance, nowMs: number): string {
  const words: string[] = [...instance.notes];
  if (instance.pause) {
    const { by, reason, until } = instance.pause;
    const who = [by === '' ? '' : `by ${by}`, reason].filter((text) => text !== '').join(': ');
    words.push(`${who}${until ? ` (${untilText(until, nowMs)})` : ''}`);
  }
  return words.join(' ');
}

/** What is masked or deleted is resumed by the command that did it, if that still lives. */
function untilText(until: string, nowMs: number): string {
  const when = relativeTime(until, nowMs);
  return Date.parse(until) > nowMs ? `resumes ${when}` : `was to resume ${when}: overdue`;
}

function warnIf(condition: boolean, paint: (text: string) => string): ((text: string) => string) | undefined {
  return condition ? paint : undefined;
}
