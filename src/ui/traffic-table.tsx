import { Box, Text } from 'ink';
import { formatDuration } from '../core/model/duration.js';
import type { TrafficRow, TrafficView } from '../core/model/traffic.js';

interface Column {
  readonly title: string;
  readonly width: number;
  readonly value: (row: TrafficRow) => string;
}

const percent = (fraction: number | null) => (fraction === null ? '-' : `${(fraction * 100).toFixed(1)}%`);

/** In order of importance: a narrow terminal drops columns from the right. */
const columns: readonly Column[] = [
  { title: 'ADDRESS', width: 18, value: (row) => row.address },
  { title: 'STATE', width: 8, value: (row) => row.admin },
  { title: 'CALLS', width: 8, value: (row) => String(row.calls) },
  { title: 'SHARE', width: 8, value: (row) => percent(row.share) },
  { title: 'ERR%', width: 8, value: (row) => percent(row.errorRate) },
  { title: 'AVG', width: 9, value: (row) => (row.averageMs === null ? '-' : `${row.averageMs.toFixed(1)}ms`) },
  { title: 'WEIGHT', width: 8, value: (row) => (row.weight === null ? '-' : String(row.weight)) },
  { title: 'INFLIGHT', width: 10, value: (row) => String(row.inFlight) },
  { title: 'ZONE', width: 6, value: (row) => row.zone || '-' },
  { title: 'NAME', width: 12, value: (row) => row.name },
];

/** Which columns fit; the first always does. */
export function fittingColumns(width: number): readonly Column[] {
  let used = 0;
  return columns.filter((column, index) => {
    used += column.width;
    return index === 0 || used <= width;
  });
}

/** One frame: a header, a row an instance, what to try. Never more than `rows - 1` lines, which would wipe scrollback. */
export function TrafficTable(props: { view: TrafficView; width: number; rows: number; hints: readonly string[] }) {
  const { view, width, rows, hints } = props;
  const shown = fittingColumns(width);
  const room = Math.max(0, rows - 1 - 2);
  const instances = view.rows.slice(0, room);
  const left = Math.max(0, room - instances.length);
  return (
    <Box flexDirection="column" width={width}>
      <Text bold wrap="truncate">
        {`${view.service}  ${view.policy}  ${formatDuration(view.elapsedMs)}  registry ${view.endpoint}`}
      </Text>
      <Text dimColor wrap="truncate">
        {shown.map((column) => column.title.padEnd(column.width)).join('')}
      </Text>
      {instances.map((row) => (
        <Text key={row.address} wrap="truncate" {...colourOf(row)}>
          {shown.map((column) => column.value(row).padEnd(column.width)).join('')}
        </Text>
      ))}
      {hints.slice(0, left).map((hint) => (
        <Text key={hint} dimColor wrap="truncate">
          {hint}
        </Text>
      ))}
    </Box>
  );
}

function colourOf(row: TrafficRow): { color?: string; dimColor?: boolean } {
  if (row.admin !== 'up') return { dimColor: true };
  if ((row.errorRate ?? 0) > 0.05) return { color: 'red' };
  return {};
}
