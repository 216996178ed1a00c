import type { Row } from '../../core/dashboard/frame.js';
import { sanitise } from '../../core/model/sanitise.js';
import { header, notices, summary } from './header.js';
import { helpLines } from './help.js';
import { bodyHeight, frameHeight, isTiny } from './layout.js';
import type { Look } from './look.js';
import { detailOf } from './reducer.js';
import type { State } from './state.js';
import { tableLines } from './table.js';
import { cut, wrap } from './text.js';

/** The screen as lines: at most one fewer than the terminal has, none wider than it. */
export function render(state: State, look: Look): string[] {
  const { size } = state;
  if (isTiny(size)) return [tinyLine(state, look)];
  const body = bodyOf(state, look).slice(0, bodyHeight(state));
  const blanks = Array.from({ length: bodyHeight(state) - body.length }, () => '');
  const lines = [
    ...header(state, look),
    ...notices(state, look),
    ...body,
    ...withHints(blanks, state, look),
    footer(state, look),
  ];
  const dialog = question(state, look);
  const height = frameHeight(size);
  return [
    ...lines.slice(0, Math.max(0, height - Math.max(1, dialog.length))),
    ...(dialog.length > 0 ? dialog : lines.slice(-1)),
  ].slice(0, height);
}

function bodyOf(state: State, look: Look): string[] {
  const { columns } = state.size;
  const { mode } = state;
  if (mode.kind === 'help') return helpLines(columns, look).slice(mode.scroll);
  if (mode.kind !== 'detail') return tableLines(state, look);
  return detailOf(state, mode.id)
    .slice(mode.scroll)
    .map(({ text, isTitle }) => {
      const shown = cut(sanitise(text), columns, look.width);
      return isTitle ? look.style.bold(shown) : shown;
    });
}

/** Hints stand below the table as far as there is room for all of them and a blank line. */
function withHints(blanks: readonly string[], state: State, look: Look): string[] {
  const isTable = state.mode.kind !== 'help' && state.mode.kind !== 'detail';
  if (!isTable || state.hints.length === 0 || blanks.length <= state.hints.length) return [...blanks];
  const hints = state.hints.map((hint) => look.style.dim(cut(sanitise(hint), state.size.columns, look.width)));
  return [...blanks.slice(state.hints.length), ...hints];
}

/** The last line: what is asked, what happened, what can be done. */
function footer(state: State, look: Look): string {
  const { style, width } = look;
  const { columns } = state.size;
  const shown = (text: string) => cut(sanitise(text), columns, width);
  if (state.message !== null)
    return state.message.isError ? style.red(shown(state.message.text)) : shown(state.message.text);
  if (state.mode.kind === 'filter') return shown(`/${state.filter}▏  Enter keeps it, Esc takes it back`);
  if (state.running !== null) return style.yellow(shown(`${state.running}…`));
  if (state.mode.kind === 'detail') return style.dim(shown('Esc back  ↑↓ scroll  ? keys'));
  if (state.mode.kind === 'help') return style.dim(shown('Esc back  ↑↓ scroll'));
  return style.dim(shown('? keys  Enter more  / filter  s sort  space freeze  q quit'));
}

/** The question before something is done: always with the whole command. */
function question({ mode, size }: State, look: Look): string[] {
  if (mode.kind !== 'confirm') return [];
  const fitted = (text: string) => wrap(sanitise(text), size.columns, look.width);
  const verb = `${mode.action[0]?.toUpperCase()}${mode.action.slice(1)}`;
  return [
    ...fitted(`${verb} ${name(mode.row)}? The same as`).map((line) => look.style.bold(line)),
    ...fitted(mode.command),
    ...fitted('y does it, any other key does not').map((line) => look.style.yellow(line)),
  ];
}

function name(row: Row): string {
  return row.name === '' || row.name === row.address ? row.address : `${row.address} (${row.name})`;
}

function tinyLine(state: State, look: Look): string {
  const isSaying = state.message !== null || state.mode.kind === 'filter' || state.running !== null;
  return isSaying ? footer(state, look) : summary(state, look);
}
