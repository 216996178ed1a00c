import { columns } from './columns.js';
import type { ActionName } from './options.js';

/** What a key asks for. */
export type Command =
  | { readonly kind: 'move'; readonly by: number | 'page' | '-page' | 'first' | 'last' }
  | { readonly kind: 'enter' | 'back' | 'filter' | 'next-column' | 'reverse' | 'freeze' | 'next-view' }
  | { readonly kind: 'faster' | 'slower' | 'show-command' | 'help' | 'quit' | 'interrupt' | 'suspend' | 'redraw' }
  | { readonly kind: 'sort'; readonly column: string }
  | { readonly kind: 'act'; readonly action: ActionName };

export interface KeyBinding {
  /** As `Input` names them. */
  readonly keys: readonly string[];
  /** As people read them. */
  readonly shown: string;
  readonly words: string;
  readonly command: Command;
}

const move = (by: Extract<Command, { kind: 'move' }>['by']): Command => ({ kind: 'move', by });
const act = (action: ActionName): Command => ({ kind: 'act', action });

/** The one table of keys: what the dashboard obeys is what `?` shows. */
export const keyBindings: readonly KeyBinding[] = [
  { keys: ['up', 'k'], shown: '↑ k', words: 'one row up', command: move(-1) },
  { keys: ['down', 'j'], shown: '↓ j', words: 'one row down', command: move(1) },
  { keys: ['pageup'], shown: 'PgUp', words: 'one screen up', command: move('-page') },
  { keys: ['pagedown'], shown: 'PgDn', words: 'one screen down', command: move('page') },
  { keys: ['g', 'home'], shown: 'g Home', words: 'the first row', command: move('first') },
  { keys: ['G', 'end'], shown: 'G End', words: 'the last row', command: move('last') },
  { keys: ['enter'], shown: 'Enter', words: 'more about the instance', command: { kind: 'enter' } },
  { keys: ['escape'], shown: 'Esc', words: 'back; in the table: no filter', command: { kind: 'back' } },
  { keys: ['/'], shown: '/', words: 'filter by address, id, zone, state, health', command: { kind: 'filter' } },
  { keys: ['s'], shown: 's', words: 'sort by the next column', command: { kind: 'next-column' } },
  ...columns.flatMap(({ key, title }): KeyBinding[] =>
    key === undefined
      ? []
      : [{ keys: [key], shown: key, words: `sort by ${title}`, command: { kind: 'sort', column: title } }],
  ),
  { keys: ['R'], shown: 'R', words: 'reverse the order', command: { kind: 'reverse' } },
  { keys: ['space'], shown: 'Space', words: 'freeze the figures, or let them go on', command: { kind: 'freeze' } },
  { keys: ['+', '='], shown: '+', words: 'refresh more often', command: { kind: 'faster' } },
  { keys: ['-'], shown: '-', words: 'refresh less often', command: { kind: 'slower' } },
  { keys: ['o'], shown: 'o', words: 'through the next client; after the last: all', command: { kind: 'next-view' } },
  { keys: ['p'], shown: 'p', words: 'pause the instance (with --write)', command: act('pause') },
  { keys: ['u'], shown: 'u', words: 'resume it (with --write)', command: act('resume') },
  { keys: ['d'], shown: 'd', words: 'drain it (with --write)', command: act('drain') },
  { keys: ['y'], shown: 'y', words: 'show the command that does the same', command: { kind: 'show-command' } },
  { keys: ['?'], shown: '?', words: 'these keys', command: { kind: 'help' } },
  { keys: ['ctrl-l'], shown: 'Ctrl-L', words: 'draw the screen again', command: { kind: 'redraw' } },
  { keys: ['ctrl-z'], shown: 'Ctrl-Z', words: 'suspend; fg comes back', command: { kind: 'suspend' } },
  { keys: ['q'], shown: 'q', words: 'quit', command: { kind: 'quit' } },
  { keys: ['ctrl-c'], shown: 'Ctrl-C', words: 'quit', command: { kind: 'interrupt' } },
];

const commands = new Map(keyBindings.flatMap(({ keys, command }) => keys.map((key) => [key, command] as const)));

export function commandOf(key: string): Command | undefined {
  return commands.get(key);
}
