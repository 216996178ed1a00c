/** What a terminal sends, as the dashboard understands it. `key`: a character, or a name such as `up`. */
export type Input = { readonly kind: 'key'; readonly key: string } | { readonly kind: 'paste'; readonly text: string };

const named: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\b': 'backspace',
  '\x7f': 'backspace',
  '\x03': 'ctrl-c',
  '\x0c': 'ctrl-l',
  '\x15': 'ctrl-u',
  '\x1a': 'ctrl-z',
  ' ': 'space',
};

/** The end of an escape sequence, after `ESC [` or `ESC O`. */
const sequences: Readonly<Record<string, string>> = {
  A: 'up',
  B: 'down',
  H: 'home',
  F: 'end',
  '1~': 'home',
  '4~': 'end',
  '5~': 'pageup',
  '6~': 'pagedown',
  '7~': 'home',
  '8~': 'end',
};

const pasteStart = '\x1b[200~';
const pasteEnd = '\x1b[201~';
/** Nobody pastes a filter of this length: the end of the paste was lost. */
const longestPaste = 65_536;

/**
 * Terminal input to keys: several in one chunk, one in several chunks. Sequences that are unknown, with or without an
 * Alt in front, are swallowed whole, so that their letters are never taken for keys.
 */
export class InputParser {
  #rest = '';

  /** There is the start of something: an ESC key, or a sequence of which more is to come. */
  get isPending(): boolean {
    return this.#rest !== '';
  }

  feed(chunk: string): Input[] {
    const found: Input[] = [];
    let text = this.#rest + chunk;
    this.#rest = '';
    while (text !== '') {
      const taken = take(text);
      if (taken === null) {
        this.#rest = text.length > longestPaste ? '' : text;
        break;
      }
      text = text.slice(taken.length);
      if (taken.input) found.push(taken.input);
    }
    return found;
  }

  /** Nothing more came: a lone ESC was the key, anything else the torn start of a sequence. */
  flush(): Input[] {
    const rest = this.#rest;
    if (rest.startsWith(pasteStart)) return [];
    this.#rest = '';
    return rest === '\x1b' ? [{ kind: 'key', key: 'escape' }] : [];
  }
}

/** What `text` starts with; null when more has to come before it can be told. */
function take(text: string): { length: number; input?: Input } | null {
  const key = (name: string, length: number) => ({ length, input: { kind: 'key', key: name } as const });
  const first = String.fromCodePoint(text.codePointAt(0) ?? 0);
  if (first !== '\x1b') {
    const name = named[first] ?? (first < ' ' || (first >= '\x7f' && first < '\xa0') ? undefined : first);
    return name === undefined ? { length: 1 } : key(name, first.length);
  }
  if (text.startsWith(pasteStart)) {
    const end = text.indexOf(pasteEnd);
    if (end < 0) return null;
    return { length: end + pasteEnd.length, input: { kind: 'paste', text: text.slice(pasteStart.length, end) } };
  }
  if (text.length === 1) return null;
  if (text[1] === '\x1b') return key('escape', 1);
  if (text[1] === 'O') {
    if (text.length === 2) return null;
    const name = sequences[text[2] ?? ''];
    return name === undefined ? { length: 3 } : key(name, 3);
  }
  if (text[1] === '[') {
    // ECMA-48: parameters, intermediates, one final byte. Anything else broke off: only the start is dropped.
    const match = /^\x1b\[([\x30-\x3f]*[\x20-\x2f]*)([\x40-\x7e])?/.exec(text);
    if (match?.[2] === undefined) return text.length === match?.[0].length ? null : { length: match?.[0].length ?? 2 };
    const name = sequences[`${match[1]}${match[2]}`];
    return name === undefined ? { length: match[0].length } : key(name, match[0].length);
  }
  if ('PX^_]'.includes(text[1] ?? '')) {
    // A string sequence, such as the answer to a query: it ends with BEL or ST.
    const end = /\x07|\x1b\\/.exec(text.slice(2));
    return end === null ? null : { length: 2 + end.index + end[0].length };
  }
  // Alt with a character.
  return { length: 1 + String.fromCodePoint(text.codePointAt(1) ?? 0).length };
}
