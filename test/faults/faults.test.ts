/**
 * Every fault of docs/etcd.md on real processes. One file, so that the figures of all of them end in one table; the cases
 * are in cases/. One alone: npx vitest run --project faults -t 'hung by SIGSTOP'
 */
import { afterAll } from 'vitest';
import { etcdVersion } from '../support/etcd-process.js';
import { figures } from './run.js';

import './cases/ends.js';
import './cases/tampering.js';
import './cases/cuts.js';
import './cases/outages.js';
import './cases/clusters.js';

afterAll(async () => {
  process.stdout.write(figures.table(await etcdVersion()));
});
