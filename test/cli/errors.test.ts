import { expect, test } from 'vitest';
import { asksForJson, renderError, toLbctlError } from '../../src/cli/errors.js';
import { LbctlError } from '../../src/core/model/errors.js';

test.each([
  [['list', '--json'], true],
  [['list', '-o', 'json'], true],
  [['list', '-ojson'], true],
  [['list', '--output=ndjson'], true],
  [['list', '-o', 'yaml'], false],
  [['register', 'a', '--', 'cmd', '--json'], false],
  [['list', '-o'], false],
])('%j asks for JSON: %s', (argv, expected) => {
  expect(asksForJson(argv)).toBe(expected);
});

test('an error names what happened, why, and what helps', () => {
  const error = new LbctlError('ETCD_UNREACHABLE', 'No etcd at 127.0.0.1:1', {
    cause: new Error('connect ECONNREFUSED'),
    suggestions: ['lbctl dev'],
  });
  expect(renderError(error, { json: false })).toBe(
    'Error: No etcd at 127.0.0.1:1\nCause: connect ECONNREFUSED\n  → lbctl dev\n',
  );
  expect(JSON.parse(renderError(error, { json: true }))).toEqual({
    schemaVersion: 1,
    error: {
      code: 'ETCD_UNREACHABLE',
      message: 'No etcd at 127.0.0.1:1',
      exitCode: 4,
      suggestions: ['lbctl dev'],
    },
  });
});

test('text from etcd in an error cannot reach the terminal raw', () => {
  const error = new LbctlError('ETCD_REJECTED', 'said \x1b]0;owned\x07', { cause: new Error('\u202e') });
  expect(renderError(error, { json: false })).toBe('Error: said \\x1b]0;owned\\x07\nCause: \\u202e\n');
});

test('a line end from etcd cannot forge a line of ours', () => {
  const error = new LbctlError('NOT_FOUND', 'no x\nError: y', {
    cause: new Error('z\n  → rm'),
    suggestions: ['10.0.0.1:80 (id 3\n  → rm -rf ~)'],
  });
  expect(renderError(error, { json: false })).toBe(
    'Error: no x\\nError: y\nCause: z\\n  → rm\n  → 10.0.0.1:80 (id 3\\n  → rm -rf ~)\n',
  );
});

test('a cause that the message holds already is not repeated', () => {
  const error = new LbctlError('ETCD_CERTIFICATE', 'not signed (unable to verify)', {
    cause: new Error('14 unable to verify'),
  });
  expect(renderError(error, { json: false })).toBe('Error: not signed (unable to verify)\n');
});

test('what oclif says about flags that ours are not is left out', () => {
  const error = Object.assign(
    new Error('Missing 1 required arg:\nservice\n\nNote: --meta allows multiple values.\nUse "--"'),
    {
      oclif: { exit: 2 },
    },
  );
  expect(toLbctlError(error, 'watch')).toMatchObject({ code: 'USAGE', message: 'Missing 1 required arg:\nservice' });
});

test('a fault of ours is INTERNAL', () => {
  expect(toLbctlError(new TypeError('x is not a function'), 'list').code).toBe('INTERNAL');
  expect(toLbctlError('text', undefined).message).toBe('Unexpected: text');
});
