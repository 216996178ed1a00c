/**
 * Everything that comes from etcd is untrusted: a value can carry sequences that recolour, retitle or rewrite a
 * terminal, or turn the reading direction around. Controls, format characters (bidi overrides, zero-width ones), line
 * separators and lone surrogates are shown as escapes. Bytes that were not UTF-8 arrive as U+DC80…U+DCFF
 * (core/etcd/key-text.ts) and are shown as the byte they were.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const plain = /^[\x20-\x7e]*$/;

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Safe on a terminal, and on one line. */
export function sanitise(text: string): string {
  return plain.test(text) ? text : text.replace(unsafe, escapeCharacter);
}

/** As `sanitise`, for text that has lines and holds nothing from etcd: there a line end could forge a line of ours. */
export function sanitiseLines(text: string): string {
  return text.split('\n').map(sanitise).join('\n');
}

function escapeCharacter(character: string): string {
  const known = short[character];
  if (known !== undefined) return known;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${hex(code - 0xdc00, 2)}`;
  if (code <= 0xff) return `\\x${hex(code, 2)}`;
  return code <= 0xffff ? `\\u${hex(code, 4)}` : `\\u{${hex(code, 1)}}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
