import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const bin = fileURLToPath(new URL('../../bin/dev.js', import.meta.url));

test('bin/dev.js runs a verb from its source, with the same errors and exit codes', async () => {
  const run = promisify(execFile);
  const picked = await run(process.execPath, [
    bin,
    'pick',
    '--nodes',
    'A=5,B=1,C=1',
    '--policy',
    'weighted_round_robin',
    '-n',
    '7',
  ]);
  expect(picked.stdout).toBe('A A B A C A A\n');
  await expect(run(process.execPath, [bin, 'list', '--endpoints', '127.0.0.1:1'])).rejects.toMatchObject({ code: 4 });
});
