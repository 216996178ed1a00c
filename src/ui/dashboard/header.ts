import type { Frame } from '../../core/dashboard/frame.js';
import { formatDuration } from '../../core/model/duration.js';
import { sanitise } from '../../core/model/sanitise.js';
import { sum } from '../../core/model/sum.js';
import { compact, percent } from './columns.js';
import { headerHeight, noticesHeight } from './layout.js';
import type { Look } from './look.js';
import type { State } from './state.js';
import { cut, shortTime } from './text.js';

interface Part {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

/** Whose figures, of what, how fresh. What warns comes first: a narrow terminal cuts at the right. */
export function header(state: State, look: Look): string[] {
  const { columns } = state.size;
  const { service, context } = state.frame ?? state.opening;
  const policy = state.frame?.policy ?? null;
  const first = [...flags(state, look), { text: service, paint: look.style.bold }];
  const registry = [{ text: context }, ...(policy === null ? [] : [{ text: policy }])];
  if (headerHeight(state.size) === 1) return [line([...first, ...figures(state), ...registry], columns, look)];
  return [line([...first, ...registry], columns, look), line(figures(state), columns, look)];
}

export function notices(state: State, look: Look): string[] {
  const all = state.frame?.notices ?? [];
  const height = noticesHeight(state);
  const more = all.length - height;
  return all.slice(0, height).map((notice, index) => {
    const rest = more > 0 && index === height - 1 ? ` (+${more} more)` : '';
    const text = cut(sanitise(`! ${notice}`), Math.max(0, state.size.columns - rest.length), look.width);
    return look.style.yellow(text + rest);
  });
}

/** All of it in one line, for a terminal that has no room for a table. */
export function summary(state: State, look: Look): string {
  const { service } = state.frame ?? state.opening;
  const name = { text: service, paint: look.style.bold };
  const parts: Part[] = flags(state, look);
  if (state.frame === null) return line([...parts, name, { text: 'opening…' }], state.size.columns, look);
  const { rows } = state.frame;
  const up = rows.filter((row) => row.state === 'up').length;
  const called = rows.filter((row) => row.callsPerSecond !== null);
  const rate = sum(called, (row) => row.callsPerSecond ?? 0);
  parts.push({ text: `${up}/${rows.length} up` });
  if (called.length > 0) parts.push({ text: `${compact(rate)}/s` });
  const failed = sum(called, (row) => (row.errorRate ?? 0) * (row.callsPerSecond ?? 0));
  if (rate > 0) parts.push({ text: `${percent(failed / rate)} err` });
  // Last: it is known, and what does not fit is cut.
  parts.push(name);
  return line(parts, state.size.columns, look);
}

function flags(state: State, { style }: Look): Part[] {
  const staleForMs = state.frame?.staleForMs ?? null;
  return [
    ...(staleForMs === null ? [] : [{ text: `STALE ${age(staleForMs)}`, paint: style.red }]),
    ...(state.opening.isReplay ? [{ text: replayed(state), paint: style.inverse }] : []),
    ...(state.isEnded && !state.opening.isReplay ? [{ text: 'ENDED', paint: style.inverse }] : []),
    ...(state.isFrozen ? [{ text: 'FROZEN', paint: style.inverse }] : []),
  ];
}

/** Nothing else tells a recording from what is happening now. */
function replayed({ frame, isEnded }: State): string {
  return ['REPLAY', ...(frame === null ? [] : [shortTime(frame.at)]), ...(isEnded ? ['ended'] : [])].join(' ');
}

function figures(state: State): Part[] {
  const { frame } = state;
  const texts = [source(state.opening, frame)];
  if (frame === null) texts.push('opening…');
  texts.push(`every ${state.intervalMs / 1000}s`);
  const { column, isReversed } = state.sort;
  // The column may be one that a narrow terminal has dropped.
  if (column !== null) texts.push(`sort ${column}${isReversed ? ', reversed' : ''}`);
  if (frame !== null) {
    if (frame.skew !== null) texts.push(`skew ${frame.skew.toFixed(2)}`);
    const shown = state.visible.length === frame.rows.length ? '' : `${state.visible.length} of `;
    texts.push(`${shown}${frame.rows.length} instance${frame.rows.length === 1 ? '' : 's'}`);
  }
  if (state.filter !== '') texts.push(`filter ${state.filter}`);
  return texts.map((text) => ({ text }));
}

function source(opening: State['opening'], frame: Frame | null): string {
  const kind = frame?.source ?? opening.source;
  if (frame === null || frame.observers === null || kind !== 'observers') return kind;
  if (frame.view !== null) return `observer ${frame.view} (one of ${frame.observers})`;
  return `${frame.observers} observer${frame.observers === 1 ? '' : 's'}`;
}

function age(ms: number): string {
  return formatDuration(Math.floor(ms / 1000) * 1000);
}

function line(parts: readonly Part[], columns: number, look: Look): string {
  let left = columns;
  let text = '';
  for (const part of parts) {
    const mark = text === '' ? '' : ' · ';
    if (left <= mark.length) break;
    const shown = cut(sanitise(part.text), left - mark.length, look.width);
    text += mark + (part.paint?.(shown) ?? shown);
    left -= mark.length + look.width(shown);
  }
  return text;
}
