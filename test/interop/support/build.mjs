import { buildInterop } from '../../../scripts/interop.mjs';

/** Before the first test: the programs' paths, for `inject('programs')`. */
export default function setup({ provide }) {
  const programs = buildInterop();
  if (!programs) process.stderr.write('  no Go here: interop with go-zero, kratos and etcd naming is skipped\n');
  provide('programs', programs);
}
