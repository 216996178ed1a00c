import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InputParser } from '../../../src/ui/dashboard/input.js';

const keysOf = (...chunks: readonly string[]) => {
  const parser = new InputParser();
  const inputs = [...chunks.flatMap((chunk) => parser.feed(chunk)), ...parser.flush()];
  return inputs.map((input) => (input.kind === 'key' ? input.key : `paste:${input.text}`));
};

describe('terminal input', () => {
  it.each([
    ['several keys in one chunk', ['jj\x1b[Bk\x1bOA'], ['j', 'j', 'down', 'k', 'up']],
    ['one key in several chunks', ['\x1b', '[', '5', '~'], ['pageup']],
    ['a lone ESC', ['\x1b'], ['escape']],
    ['ESC twice', ['\x1b\x1b'], ['escape', 'escape']],
    ['control keys', ['\x03\x1a\r\x7f '], ['ctrl-c', 'ctrl-z', 'enter', 'backspace', 'space']],
    ['characters outside ASCII', ['ü服😀'], ['ü', '服', '😀']],
    ['an unknown sequence: its letters are no keys', ['\x1b[1;5Dq\x1b[?62;4cj\x1bOPx\x1b[15~'], ['q', 'j', 'x']],
    ['a letter with Alt', ['\x1bdj'], ['j']],
    ['a mouse report', ['\x1b[<0;10;20Mj'], ['j']],
    ['the answer to a colour query', ['\x1b]11;rgb:dddd/pppp/qqqq\x07j'], ['j']],
    ['a sequence that broke off', ['\x1b[5\rj'], ['enter', 'j']],
    ['a paste', ['a\x1b[200~dy\x03\x1b[201~b'], ['a', 'paste:dy\x03', 'b']],
    ['a paste in pieces', ['\x1b[20', '0~d', 'y\x1b[20', '1~b'], ['paste:dy', 'b']],
  ])('%s', (_what, chunks, keys) => {
    expect(keysOf(...chunks)).toEqual(keys);
  });

  it('gives the same keys however the bytes were cut', () => {
    const piece = fc.constantFrom('j', 'ü', '\x1b[A', '\x1b[6~', '\x1bOB', '\x1b[1;2Z', '\x1b[200~dy\x1b[201~', '\r');
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1 }), fc.array(fc.nat(60)), (pieces, cuts) => {
        const whole = pieces.join('');
        const places = [0, ...cuts.filter((cut) => cut < whole.length).sort((a, b) => a - b), whole.length];
        const chunks = places.slice(1).map((end, index) => whole.slice(places[index], end));
        expect(keysOf(...chunks)).toEqual(keysOf(whole));
      }),
    );
  });

  it('never throws and never holds back a key for ever', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (noise) => {
        const parser = new InputParser();
        parser.feed(noise.replaceAll('\x1b[200~', ''));
        parser.flush();
        expect(parser.feed('j')).toEqual([{ kind: 'key', key: 'j' }]);
      }),
    );
  });
});
