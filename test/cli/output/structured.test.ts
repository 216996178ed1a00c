import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { document, toJson, toNdjson, toYaml } from '../../../src/cli/output/structured.js';

test('int64 values are decimal strings, to the last digit', () => {
  const lease = { id: 7587862094053123457n };
  expect(JSON.parse(toJson(lease))).toEqual({ id: '7587862094053123457' });
  expect(toNdjson([lease, lease])).toBe('{"id":"7587862094053123457"}\n{"id":"7587862094053123457"}\n');
});

test('a document names its schema first', () => {
  expect(toJson(document({ service: 'a' }), 0)).toBe('{"schemaVersion":1,"service":"a"}');
});

const hostileText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\x9b31m', '\u202e', '\x1b[2J', '\u{e0041}', '\udcff', '---\n- a', '"', 'null', '1e3', 'a: b # c'),
);

test('JSON says the same as before and holds nothing that a terminal acts on', () => {
  fc.assert(
    fc.property(fc.dictionary(hostileText, hostileText), (value) => {
      const text = toJson(value, 0);
      expect(JSON.parse(text)).toEqual({ ...value });
      expect(text).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
    }),
  );
});

test('YAML says the same as the JSON, and a terminal is as safe', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ address: hostileText, metadata: fc.dictionary(fc.string(), hostileText) })),
      async (rows) => {
        const text = await toYaml({ rows, revision: 5n });
        expect(parse(text)).toEqual(JSON.parse(toJson({ rows, revision: 5n })));
        expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
      },
    ),
  );
});
