import { Box, Text } from 'ink';
import { formatDuration } from '../core/model/duration.js';
import type { TrafficRow, TrafficView } from '../core/model/traffic.js';
import { fittingColumns } from './traffic-columns.js';

/** One frame: a header, a row an instance, what to try. Never more than `rows - 1` lines, which would wipe scrollback. */
export function TrafficTable(props: { view: TrafficView; width: number; rows: number; hints: readonly string[] }) {
  const { view, width, rows, hints } = props;
  const shown = fittingColumns(width);
  const headerLines = 2;
  const room = Math.max(0, rows - 1 - headerLines);
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
