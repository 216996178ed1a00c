// Finds a real etcd for the tests, or installs one: LBCTL_TEST_ETCD, PATH, apt, or a build with Go.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { aptInstall } from './apt.mjs';
import { quietStep, root, which } from './steps.mjs';

/** The version that the slower suites are run against besides Debian's, where Go is there to build it. */
export const newestEtcd = '3.7.3';

/** The path of an etcd server. @throws when there is none and none can be installed. */
export function ensureEtcd() {
  const given = process.env.LBCTL_TEST_ETCD;
  if (given) {
    if (!existsSync(given)) throw new Error(`LBCTL_TEST_ETCD names ${given}, which is not there`);
    return given;
  }
  const found = which('etcd');
  if (found) return found;
  // etcdctl comes in the same package up to Debian 11, in etcd-client from Debian 12 on.
  const installed = aptInstall('etcd-server', 'etcd-client') && which('etcd');
  if (installed) return installed;
  if (which('go')) return buildEtcd(newestEtcd);
  throw new Error(
    'The tests need a real etcd and none was found or could be installed.\n' +
      '  Install one (apt-get install etcd-server, brew install etcd) or name one: LBCTL_TEST_ETCD=/path/to/etcd npm test',
  );
}

/** Builds an etcd server from its Go module into .cache/, once. */
export function buildEtcd(version) {
  const folder = path.join(root, '.cache', `etcd-${version}`);
  const binary = path.join(folder, 'etcd');
  if (existsSync(binary)) return binary;
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    path.join(folder, 'main.go'),
    'package main\n\nimport (\n\t"os"\n\n\t"go.etcd.io/etcd/server/v3/etcdmain"\n)\n\nfunc main() { etcdmain.Main(os.Args) }\n',
  );
  const go = (what, ...args) => quietStep(`${what} etcd ${version}`, 'go', args, { cwd: folder });
  if (!existsSync(path.join(folder, 'go.mod'))) go('start a module for', 'mod', 'init', 'etcd-for-tests');
  go('fetch', 'get', `go.etcd.io/etcd/server/v3@v${version}`);
  go('build', 'build', '-o', `${binary}.new`, '.');
  quietStep(`keep etcd ${version}`, 'mv', [`${binary}.new`, binary]);
  return binary;
}
