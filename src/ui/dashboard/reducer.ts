import type { Frame, Row } from '../../core/dashboard/frame.js';
import { columns } from './columns.js';
import { detailLines } from './detail.js';
import type { Input } from './input.js';
import { type Command, commandOf, keyBindings } from './keys.js';
import { bodyHeight, isTiny, tableHeight } from './layout.js';
import type { ActionName, DashboardEnd } from './options.js';
import { keepCursor, visibleRows } from './rows.js';
import type { Mode, Size, State } from './state.js';
import { recordTrends } from './trends.js';

export type Event =
  | { readonly kind: 'input'; readonly input: Input }
  /** `isSample`: it came with the refresh, and is a point of the trend. */
  | { readonly kind: 'frame'; readonly frame: Frame; readonly isSample: boolean }
  /** The source has no more to tell. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'size'; readonly size: Size }
  | { readonly kind: 'done'; readonly text: string; readonly isError: boolean };

/** What the world has to do. */
export type Effect =
  | { readonly kind: 'end'; readonly how: DashboardEnd['how'] }
  | { readonly kind: 'look'; readonly id: string | null }
  | { readonly kind: 'select'; readonly view: string | null }
  | { readonly kind: 'run'; readonly action: ActionName; readonly row: Row }
  | { readonly kind: 'suspend' | 'redraw' | 'refresh' };

/** What the reducer may ask. */
export interface Surroundings {
  command(action: ActionName, row: Row): string;
  readonly canAct: boolean;
  views(): readonly string[];
}

export interface Step {
  readonly state: State;
  readonly effects: readonly Effect[];
}

const intervalsMs = [100, 200, 500, 1000, 2000, 5000, 10_000];
const doing: Readonly<Record<ActionName, string>> = { pause: 'pausing', resume: 'resuming', drain: 'draining' };

/** One event, one new state. */
export function reduce(state: State, event: Event, around: Surroundings): Step {
  const { state: next, effects } = dispatch(state, event, around);
  return { state: settle(next), effects };
}

function dispatch(state: State, event: Event, around: Surroundings): Step {
  switch (event.kind) {
    case 'frame':
      return withFrame(event.isSample ? sampled(state, event.frame) : state, event.frame);
    case 'ended':
      return just({ ...state, isEnded: true });
    case 'size': {
      // A question of which the command cannot be read is no question.
      const mode: Mode = isTiny(event.size) && state.mode.kind === 'confirm' ? { kind: 'table' } : state.mode;
      return { state: { ...state, size: event.size, mode }, effects: [{ kind: 'redraw' }] };
    }
    case 'done':
      return { state: say({ ...state, running: null }, event.text, event.isError), effects: [{ kind: 'refresh' }] };
    case 'input':
      return onInput(state.message === null ? state : { ...state, message: null }, event.input, around);
  }
}

function onInput(state: State, input: Input, around: Surroundings): Step {
  if (state.mode.kind === 'filter') return typed(state, state.mode.before, input);
  // Pasted text is no series of keys: it could pause an instance.
  if (input.kind === 'paste') return just(say(state, 'Pasted text is only taken by the filter (/)'));
  const command = commandOf(input.key);
  switch (command?.kind) {
    case 'interrupt':
      return { state, effects: [{ kind: 'end', how: 'interrupted' }] };
    case 'suspend':
    case 'redraw':
      return { state, effects: [{ kind: command.kind }] };
  }
  if (state.mode.kind === 'confirm') return answered(state, state.mode, input.key);
  if (command === undefined) return just(state);
  if (command.kind === 'quit') return { state, effects: [{ kind: 'end', how: 'quit' }] };
  if (command.kind === 'freeze') return frozen(state);
  if (command.kind === 'faster') return just(refreshing(state, -1));
  if (command.kind === 'slower') return just(refreshing(state, 1));
  if (command.kind === 'act') return asked(state, command.action, around);
  if (command.kind === 'show-command') return just(showCommand(state, around));
  if (command.kind === 'next-view') return nextView(state, around);
  if (command.kind === 'help' && state.mode.kind !== 'help') {
    return just({ ...state, mode: { kind: 'help', scroll: 0, behind: state.mode } });
  }
  return state.mode.kind === 'table' ? inTable(state, command) : inPage(state, state.mode, command);
}

function inTable(state: State, command: Command): Step {
  switch (command.kind) {
    case 'move':
      return just(moved(state, command.by));
    case 'enter':
      if (state.cursor === null) return just(state);
      return {
        state: { ...state, mode: { kind: 'detail', id: state.cursor, scroll: 0 } },
        effects: [{ kind: 'look', id: state.cursor }, { kind: 'refresh' }],
      };
    case 'back':
      return just(reordered({ ...state, filter: '' }));
    case 'filter':
      return just({ ...state, mode: { kind: 'filter', before: state.filter } });
    case 'sort':
      return just(sorted(state, command.column));
    case 'next-column': {
      const sortable = columns.filter(({ key }) => key !== undefined);
      const at = sortable.findIndex(({ title }) => title === state.sort.column);
      return just(sorted(state, sortable[(at + 1) % sortable.length]?.title ?? null));
    }
    case 'reverse':
      return just(reordered({ ...state, sort: { ...state.sort, isReversed: !state.sort.isReversed } }));
    default:
      return just(state);
  }
}

/** The detail view and the help scroll; `?`, Enter and Esc leave them. */
function inPage(state: State, mode: Extract<Mode, { kind: 'detail' | 'help' }>, command: Command): Step {
  if (command.kind === 'move') {
    const page = bodyHeight(state);
    const by = { page, '-page': -page, first: -Infinity, last: Infinity }[command.by] ?? Number(command.by);
    return just({ ...state, mode: { ...mode, scroll: mode.scroll + by } });
  }
  if (mode.kind === 'help') {
    return just(command.kind === 'back' || command.kind === 'help' ? { ...state, mode: mode.behind } : state);
  }
  if (command.kind !== 'back' && command.kind !== 'enter') return just(state);
  return { state: { ...state, mode: { kind: 'table' } }, effects: [{ kind: 'look', id: null }] };
}

function typed(state: State, before: string, input: Input): Step {
  if (input.kind === 'paste') return just(filtered(state, state.filter + input.text.replace(/[\p{Cc}\s]+/gu, ' ')));
  const table: Mode = { kind: 'table' };
  switch (input.key) {
    case 'ctrl-c':
      return { state, effects: [{ kind: 'end', how: 'interrupted' }] };
    case 'ctrl-z':
      return { state, effects: [{ kind: 'suspend' }] };
    case 'ctrl-l':
      return { state, effects: [{ kind: 'redraw' }] };
    case 'enter':
      return just({ ...state, mode: table });
    case 'escape':
      return just(filtered({ ...state, mode: table }, before));
    case 'ctrl-u':
      return just(filtered(state, ''));
    case 'backspace':
      return just(filtered(state, [...state.filter].slice(0, -1).join('')));
    case 'space':
      return just(filtered(state, `${state.filter} `));
    case 'up':
      return just(moved(state, -1));
    case 'down':
      return just(moved(state, 1));
    default:
      return just([...input.key].length === 1 ? filtered(state, state.filter + input.key) : state);
  }
}

function asked(state: State, action: ActionName, around: Surroundings): Step {
  const row = rowUnderCursor(state);
  if (row === undefined) return just(say(state, `There is no instance to ${action}`));
  const command = around.command(action, row);
  const next = { ...state, asked: { id: row.id, action } };
  if (!around.canAct) return just(say(next, `Only with --write. In a shell: ${command}`));
  if (state.running !== null) return just(say(next, `One thing at a time: still ${state.running}`, true));
  if (isTiny(state.size)) return just(say(next, 'Too small to ask: enlarge the terminal', true));
  return just({ ...next, mode: { kind: 'confirm', action, row, command } });
}

function answered(state: State, mode: Extract<Mode, { kind: 'confirm' }>, key: string): Step {
  const table: State = { ...state, mode: { kind: 'table' } };
  // Whoever types something else does not answer this question: a later y must not either.
  if (key !== 'y' && key !== 'Y') return just(say(table, 'Nothing was done'));
  const running = `${doing[mode.action]} ${mode.row.address}`;
  return { state: { ...table, running }, effects: [{ kind: 'run', action: mode.action, row: mode.row }] };
}

function showCommand(state: State, around: Surroundings): State {
  const row = rowUnderCursor(state);
  if (row === undefined) return say(state, 'There is no instance to act on');
  const usual = row.state === 'paused' ? 'resume' : 'pause';
  const command = around.command(state.asked?.id === row.id ? state.asked.action : usual, row);
  return say({ ...state, commands: [...new Set([...state.commands, command])] }, command);
}

function nextView(state: State, around: Surroundings): Step {
  const views = around.views();
  if (state.frame === null || views.length === 0) return just(say(state, 'There are no clients to look through'));
  if (state.isFrozen) return just(say(state, 'Frozen: space lets it go on'));
  const view = views[views.indexOf(state.frame.view ?? '') + 1] ?? null;
  return { state, effects: [{ kind: 'select', view }, { kind: 'refresh' }] };
}

function frozen(state: State): Step {
  if (state.frame === null) return just(state);
  return { state: { ...state, isFrozen: !state.isFrozen }, effects: state.isFrozen ? [{ kind: 'refresh' }] : [] };
}

function refreshing(state: State, by: 1 | -1): State {
  const next =
    by > 0 ? intervalsMs.find((ms) => ms > state.intervalMs) : intervalsMs.findLast((ms) => ms < state.intervalMs);
  const intervalMs = next ?? state.intervalMs;
  // Points of a trend are equally far apart: it begins anew.
  const trends = intervalMs === state.intervalMs ? state.trends : new Map();
  return say({ ...state, intervalMs, trends }, `Refreshed every ${intervalMs / 1000}s`);
}

function moved(state: State, by: Extract<Command, { kind: 'move' }>['by']): State {
  const { visible } = state;
  const page = tableHeight(state);
  const steps = { page, '-page': -page, first: -visible.length, last: visible.length }[by] ?? Number(by);
  const at = visible.findIndex((row) => row.id === state.cursor);
  const to = Math.max(0, Math.min(visible.length - 1, at + steps));
  return { ...state, cursor: visible[to]?.id ?? null };
}

function sampled(state: State, frame: Frame): State {
  return { ...state, trends: recordTrends(state.trends, frame.rows) };
}

function withFrame(state: State, frame: Frame): Step {
  if (state.isFrozen) return just(state);
  const next = reordered({ ...state, frame, shownTrends: state.trends });
  const { mode } = state;
  if (mode.kind !== 'detail' || frame.rows.some((row) => row.id === mode.id)) return just(next);
  const address = state.frame?.rows.find((row) => row.id === mode.id)?.address ?? 'the instance';
  const table: State = { ...next, mode: { kind: 'table' } };
  return { state: say(table, `${address} has left`), effects: [{ kind: 'look', id: null }] };
}

function filtered(state: State, filter: string): State {
  return reordered({ ...state, filter });
}

function sorted(state: State, column: string | null): State {
  return reordered({ ...state, sort: { ...state.sort, column } });
}

/** What is visible, in what order, and where the cursor is then. */
function reordered(state: State): State {
  const visible = visibleRows(state.frame?.rows ?? [], state.filter, state.sort);
  return { ...state, visible, cursor: keepCursor(state.cursor, state.visible, visible) };
}

/** Scrolls no further than there is something, and so that the cursor is in sight. */
function settle(state: State): State {
  const { mode, visible } = state;
  if (mode.kind === 'detail' || mode.kind === 'help') {
    const lines = mode.kind === 'help' ? keyBindings.length : detailOf(state, mode.id).length;
    const scroll = Math.max(0, Math.min(mode.scroll, lines - bodyHeight(state)));
    return scroll === mode.scroll ? state : { ...state, mode: { ...mode, scroll } };
  }
  const height = tableHeight(state);
  const at = Math.max(
    0,
    visible.findIndex((row) => row.id === state.cursor),
  );
  const lowest = Math.max(0, visible.length - height);
  const offset = Math.min(lowest, Math.max(at - height + 1, Math.min(state.offset, at)));
  return offset === state.offset ? state : { ...state, offset };
}

/** The lines of the detail view. */
export function detailOf(state: State, id: string) {
  const row = state.frame?.rows.find((one) => one.id === id);
  if (row === undefined) return [];
  const detail = state.frame?.detail ?? null;
  return detailLines(row, detail?.id === id ? detail : null, state.shownTrends.get(id) ?? []);
}

function rowUnderCursor(state: State): Row | undefined {
  return state.visible.find((row) => row.id === state.cursor);
}

function say(state: State, text: string, isError = false): State {
  return { ...state, message: { text, isError } };
}

function just(state: State): Step {
  return { state, effects: [] };
}
