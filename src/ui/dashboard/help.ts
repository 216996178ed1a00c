import { keyBindings } from './keys.js';
import type { Look } from './look.js';
import { cut } from './text.js';

/** What `?` shows. */
export function helpLines(columns: number, { style, width }: Look): string[] {
  const widest = Math.max(...keyBindings.map(({ shown }) => width(shown)));
  return keyBindings.map(({ shown, words }) => {
    const key = shown + ' '.repeat(widest - width(shown));
    return `${style.bold(key)}  ${cut(words, columns - widest - 2, width)}`;
  });
}
