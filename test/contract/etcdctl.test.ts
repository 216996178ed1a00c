import { spawn } from 'node:child_process';
import { afterEach, describe, expect, test } from 'vitest';
import { missing, onEveryTarget } from './targets.js';

const program = process.env.LBCTL_TEST_ETCDCTL || 'etcdctl';
const skip = missing('etcdctl', process.env.LBCTL_TEST_ETCDCTL);

describe.skipIf(skip)(skip ? 'etcdctl (skipped: not on PATH)' : 'etcdctl', () => {
  onEveryTarget((etcd) => {
    const running: Array<() => void> = [];
    afterEach(() => {
      for (const kill of running.splice(0)) kill();
    });

    const start = (args: string[], input = '') => {
      // Without a scheme: etcdctl 3.4 sends an endpoint with one as the HTTP/2 authority of maintenance calls, which
      // is malformed, and Node's HTTP/2 refuses it where Go's does not.
      const env = {
        PATH: process.env.PATH,
        ETCDCTL_API: '3',
        ETCDCTL_ENDPOINTS: etcd.endpoint.replace('http://', ''),
      };
      const child = spawn(program, args, { env });
      running.push(() => child.kill('SIGKILL'));
      let [out, err] = ['', ''];
      let wake = () => {};
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        out += text;
        wake();
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        err += text;
      });
      child.stdin.end(input);
      const exited = new Promise<number | null>((resolve) => {
        child.on('close', (code) => {
          resolve(code);
          wake();
        });
      });
      return {
        exited,
        output: () => out,
        errors: () => err,
        /** Resolves with the output as soon as it holds `text`. */
        async printed(text: string): Promise<string> {
          while (!out.includes(text)) {
            if (child.exitCode !== null) throw new Error(`etcdctl ended: ${out}${err}`);
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
          return out;
        },
      };
    };

    const etcdctl = async (args: string[], input?: string): Promise<string> => {
      const child = start(args, input);
      if ((await child.exited) !== 0) throw new Error(child.errors());
      return child.output();
    };

    test('put, get, del', async () => {
      const prefix = etcd.prefix();
      expect(await etcdctl(['put', `${prefix}a`, 'one'])).toBe('OK\n');
      expect(await etcdctl(['put', `${prefix}a`, 'two', '--prev-kv'])).toBe(`OK\n${prefix}a\none\n`);
      await etcdctl(['put', `${prefix}b`, 'three']);
      expect(await etcdctl(['get', prefix, '--prefix'])).toBe(`${prefix}a\ntwo\n${prefix}b\nthree\n`);
      expect(await etcdctl(['get', prefix, '--prefix', '--order=DESCEND', '--sort-by=KEY', '--limit=1'])).toBe(
        `${prefix}b\nthree\n`,
      );
      expect(await etcdctl(['get', `${prefix}b`, '--from-key', '--keys-only', '--limit=1'])).toBe(`${prefix}b\n\n`);
      expect(await etcdctl(['del', prefix, '--prefix'])).toBe('2\n');
    });

    test('txn', async () => {
      const key = `${etcd.prefix()}a`;
      const script = `version("${key}") = "0"\n\nput ${key} created\n\nget ${key}\n\n`;
      expect(await etcdctl(['txn'], script)).toBe('SUCCESS\n\nOK\n');
      expect(await etcdctl(['txn'], script)).toBe(`FAILURE\n\n${key}\ncreated\n`);
    });

    test('watch from a revision on, with the values before', async () => {
      const key = `${etcd.prefix()}a`;
      const { header } = JSON.parse(await etcdctl(['put', key, 'one', '-w', 'json']));
      const watch = start(['watch', key, `--rev=${header.revision}`, '--prev-kv']);
      expect(await watch.printed('one\n')).toBe(`PUT\n${key}\none\n`);
      await etcdctl(['put', key, 'two']);
      await watch.printed('two\n');
      await etcdctl(['del', key]);
      expect(await watch.printed('DELETE\n')).toContain(`PUT\n${key}\none\n${key}\ntwo\n`);
    });

    test('compaction, and a watch and a get of what it took', async () => {
      const key = `${etcd.prefix()}a`;
      const { header: first } = JSON.parse(await etcdctl(['put', key, 'one', '-w', 'json']));
      const { header: second } = JSON.parse(await etcdctl(['put', key, 'two', '-w', 'json']));
      expect(await etcdctl(['compact', String(second.revision)])).toBe(`compacted revision ${second.revision}\n`);
      const compacted = 'etcdserver: mvcc: required revision has been compacted';
      await expect(etcdctl(['get', key, `--rev=${first.revision}`])).rejects.toThrow(compacted);
      const watch = start(['watch', key, `--rev=${first.revision}`]);
      expect(await watch.exited).not.toBe(0);
      expect(watch.errors()).toContain('watch was canceled (etcdserver: mvcc: required revision has been compacted)');
    });

    test('lease: grant, keep-alive, time to live, list, revoke', async () => {
      const key = `${etcd.prefix()}a`;
      const granted = await etcdctl(['lease', 'grant', '60']);
      const id = /^lease ([0-9a-f]+) granted with TTL\(60s\)\n$/.exec(granted)?.[1] ?? granted;
      await etcdctl(['put', key, 'bound', `--lease=${id}`]);
      expect(await etcdctl(['lease', 'keep-alive', id, '--once'])).toBe(`lease ${id} keepalived with TTL(60)\n`);
      expect(await etcdctl(['lease', 'timetolive', id, '--keys'])).toMatch(
        new RegExp(
          `^lease ${id} granted with TTL\\(60s\\), remaining\\((59|60)s\\), attached keys\\(\\[${key}\\]\\)\n$`,
        ),
      );
      expect(await etcdctl(['lease', 'list'])).toContain(`${id}\n`);
      expect(await etcdctl(['lease', 'revoke', id])).toBe(`lease ${id} revoked\n`);
      expect(await etcdctl(['get', key])).toBe('');
      expect(await etcdctl(['lease', 'timetolive', id])).toBe(`lease ${id} already expired\n`);
      await expect(etcdctl(['lease', 'keep-alive', id, '--once'])).rejects.toThrow('requested lease not found');
    });

    test('member list, endpoint status and health, alarm list', async () => {
      expect(await etcdctl(['member', 'list'])).toMatch(
        new RegExp(`^[0-9a-f]+, started, \\S+, .*, ${etcd.endpoint}, false\n$`),
      );
      const [status] = JSON.parse(await etcdctl(['endpoint', 'status', '-w', 'json']));
      expect(status.Status.leader).toBe(status.Status.header.member_id);
      const health = start(['endpoint', 'health']);
      expect(await health.exited).toBe(0);
      // 3.4 says so on stderr, later ones on stdout.
      expect(health.output() + health.errors()).toContain('is healthy');
      expect(await etcdctl(['alarm', 'list'])).toBe('');
    });
  });
});
