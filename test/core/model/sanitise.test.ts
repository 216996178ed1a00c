import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sanitise, sanitiseLines } from '../../../src/core/model/sanitise.js';

/** Anything, with the dangerous parts much more often than chance would have it. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code)),
      fc.integer({ min: 0x2000, max: 0x206f }).map((code) => String.fromCharCode(code)),
      fc.integer({ min: 0xd800, max: 0xdfff }).map((code) => String.fromCharCode(code)),
      fc.constantFrom('\x1b[2J', '\x1b]0;title\x07', '\x9b31m', '\u202e', '\ufeff', '\u{e0041}'),
    ),
  )
  .map((parts) => parts.join(''));

function isDangerous(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return true;
  if (code >= 0xd800 && code <= 0xdfff) return true;
  if ((code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e)) return true;
  return (
    (code >= 0x2060 && code <= 0x206f && code !== 0x2065) ||
    code === 0xfeff ||
    code === 0x061c ||
    code === 0xe0001 ||
    (code >= 0xe0020 && code <= 0xe007f)
  );
}

test('no control character, bidi override, invisible one or half of a character survives', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      expect([...sanitise(text)].filter(isDangerous)).toEqual([]);
    }),
  );
});

test('what is harmless is shown as it is', () => {
  for (const text of ['10.0.0.1:8080', 'Zürich', '日本', 'a\\b', '👍', 'é']) expect(sanitise(text)).toBe(text);
});

test('each danger is shown as what it was', () => {
  expect(sanitise('a\nb\tc\rd')).toBe('a\\nb\\tc\\rd');
  expect(sanitise('\x1b[31mred\x1b[0m')).toBe('\\x1b[31mred\\x1b[0m');
  expect(sanitise('\x9b31m')).toBe('\\x9b31m');
  expect(sanitise('user\u202egnp.exe')).toBe('user\\u202egnp.exe');
  expect(sanitise('\u{e0041}')).toBe('\\u{e0041}');
});

test('a byte that was not UTF-8 is shown as that byte', () => {
  expect(sanitise('a\udcffb\udc80')).toBe('a\\xffb\\x80');
  expect(sanitise('\ud800')).toBe('\\ud800');
});

test('lines of our own stay lines', () => {
  expect(sanitiseLines('first\nsecond\x07')).toBe('first\nsecond\\x07');
});
