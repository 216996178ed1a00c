// Builds the Go programs of test/interop into .cache/interop, each under a name that holds the hash of its sources.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { quietStep, root, which } from './steps.mjs';

const sources = path.join(root, 'test/interop');
const folder = path.join(root, '.cache/interop');

/** Without Kubernetes, go-zero has a third fewer packages to compile. */
const goZero = (version, ...tags) => ({
  module: 'gozero',
  args: [`-modfile=go-${version}.mod`, `-tags=${['no_k8s', ...tags].join()}`],
});
const programs = {
  'gozero-1.10.3': goZero('1.10.3'),
  'gozero-1.9.2': goZero('1.9.2', 'before_1_10'),
  'gozero-1.8.5': goZero('1.8.5', 'before_1_10'),
  kratos: { module: 'kratos', args: [] },
  naming: { module: 'naming', args: [] },
  promlint: { module: 'promlint', args: [] },
};
// Unoptimised code compiles in two thirds of the time. Not `all`: the standard library is shared with other builds.
const quick = ['github.com', 'google.golang.org', 'go.opentelemetry.io', 'go.etcd.io', 'go.uber.org', 'gopkg.in'].map(
  (host) => `-gcflags=${host}/...=-N -l`,
);

/** The paths of the programs by name, built when they are not there; null where there is no Go. */
export function buildInterop() {
  if (!which('go')) return null;
  mkdirSync(folder, { recursive: true });
  const built = {};
  for (const [name, { module, args }] of Object.entries(programs)) {
    const binary = path.join(folder, `${name}-${hashOf(module, args)}`);
    built[name] = binary;
    if (existsSync(binary)) continue;
    for (const old of readdirSync(folder)) {
      if (old.startsWith(`${name}-`)) rmSync(path.join(folder, old));
    }
    const output = `${binary}.new`;
    const go = ['build', '-buildvcs=false', ...quick, '-ldflags=-s -w', ...args, '-o', output, '.'];
    quietStep(`build ${name}`, 'go', go, { cwd: path.join(sources, module) });
    quietStep(`keep ${name}`, 'mv', [output, binary]);
  }
  return built;
}

function hashOf(module, args) {
  const hash = createHash('sha256').update(args.join(' '));
  for (const part of ['echo', module]) {
    for (const file of readdirSync(path.join(sources, part)).sort()) {
      hash.update(`${file}\0`).update(readFileSync(path.join(sources, part, file)));
    }
  }
  return hash.digest('hex').slice(0, 12);
}
