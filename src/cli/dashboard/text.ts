import type { Frame, Row } from '../../core/dashboard/frame.js';
import { formatDuration } from '../../core/model/duration.js';
import { sanitise } from '../../core/model/sanitise.js';
import { columns } from '../../ui/dashboard/columns.js';
import type { View } from '../base-command.js';
import { type Column, table } from '../output/table.js';

/** The first column tells rows apart, and stays. A trend is for who looks on. */
const shown = columns.filter(({ title }) => title !== 'TREND');
/** A table of rows, as every verb prints it that shows how instances do. */
export const rowColumns: ReadonlyArray<Column<Row>> = shown.map(({ title, value, align }, index) => ({
  title,
  value: (row) => value(row),
  ...(align === 'right' && { align }),
  ...(index > 0 && { dropOrder: index }),
}));

/** A frame where nothing can be drawn: what it is of, what is remarkable, and the table. */
export async function frameText(frame: Frame, { style, width }: Pick<View, 'style' | 'width'>): Promise<string> {
  const { at, service, context, policy, source, observers, view, skew, staleForMs, notices } = frame;
  const words = [
    at,
    sanitise([service, context].filter((word) => word !== '').join(' on ')),
    policy === null ? '' : sanitise(policy),
    `${source}${observers === null ? '' : ` of ${observers}`}${view === null ? '' : `, ${sanitise(view)}`}`,
    skew === null ? '' : `skew ${skew.toFixed(2)}`,
  ].filter((word) => word !== '');
  const stale = staleForMs === null ? '' : `  ${style.red(`STALE ${formatDuration(staleForMs)}`)}`;
  const remarks = notices.map((notice) => `${style.yellow(`! ${sanitise(notice)}`)}\n`).join('');
  const rows = frame.rows.length === 0 ? '' : await table(rowColumns, frame.rows, { style, width });
  return `${style.dim(words.join('  '))}${stale}\n${remarks}${rows}`;
}
