/** What stock etcd3 and a first prototype of the guards did under these faults, and what is measured now. */
const known = {
  'drop before the backlog': { stock: '1 of 6 events', prototype: '6 of 6' },
  'compaction while away': { stock: 'dead, 0 of 20', prototype: '20 of 20' },
  '6 MB backlog': { stock: '1 of 7', prototype: '6 of 6' },
  'etcd restarted with an empty store': { stock: '9 of 60', prototype: 'all, 3.8 s after healthy' },
  'one of 3 members hung for 25 s': { stock: 'silent 25 s, lease lost', prototype: 'gap <= 6.7 s, lease kept' },
  'leader killed': { stock: '2.2 s', prototype: '1.2 s' },
  'close with a watch and a lease open': { stock: 'never exits', prototype: '1 ms / <= 3.5 s' },
  'etcd down for 3 s': { stock: '', prototype: '' },
  'etcd down for 20 s, TTL 5 s': { stock: '', prototype: '' },
  'etcd down for 10 s, TTL 2 s': { stock: '', prototype: '' },
  'etcd hung for 15 s': { stock: '', prototype: '' },
  'key deleted by somebody': { stock: '', prototype: '' },
  'lease revoked by somebody': { stock: '', prototype: '' },
  'SIGTERM of a publisher': { stock: '', prototype: '' },
  'kill -9 of a publisher': { stock: '', prototype: '' },
} as const;

export type Fault = keyof typeof known;

export class Figures {
  readonly #measured = new Map<Fault, string>();

  record(fault: Fault, figure: string): void {
    this.#measured.set(fault, figure);
  }

  table(etcdVersion: string): string {
    const head = ['fault', 'stock etcd3', 'prototype', 'measured now'];
    const rows = [head];
    for (const [fault, figure] of this.#measured)
      rows.push([fault, known[fault].stock, known[fault].prototype, figure]);
    const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    const lines = rows.map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
    return `\nFigures on etcd ${etcdVersion}\n${lines.map((line) => `  ${line}\n`).join('')}`;
  }
}

export function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
