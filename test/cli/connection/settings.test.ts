import { expect, test } from 'vitest';
import { resolveSettings } from '../../../src/cli/connection/settings.js';
import { LbctlError } from '../../../src/core/model/errors.js';

function files(content: Record<string, string>) {
  return async (path: string): Promise<Buffer> => {
    const text = content[path];
    if (text === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`);
    return Buffer.from(text);
  };
}

async function refused(flags: Parameters<typeof resolveSettings>[0], env = {}, content = {}): Promise<LbctlError> {
  const error = await resolveSettings(flags, env, files(content)).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(LbctlError);
  expect((error as LbctlError).code).toBe('USAGE');
  return error as LbctlError;
}

const yaml = `
Name: user.rpc
etcd:
  HOSTS: ["10.0.0.1:2379", "\${SECOND}"]
  Key: user.rpc
  User: svc
  pass: \${PASS}
  CACertFile: /ca.pem
  insecureskipverify: true
`;

test('nothing set: the local etcd, with short timeouts', async () => {
  const { etcd, warnings } = await resolveSettings({}, {}, files({}));
  expect(etcd).toEqual({ endpoints: ['127.0.0.1:2379'], dialTimeoutMs: 2000, commandTimeoutMs: 5000 });
  expect(warnings).toEqual([]);
});

test('flag, then LBCTL_*, then ETCDCTL_*, then the service config, then the default; empty means unset', async () => {
  const content = { '/svc.yaml': yaml, '/ca.pem': 'CA' };
  const endpointsOf = async (flag: string[] | undefined, lbctl: string, etcdctl: string, config: string) => {
    const env = {
      LBCTL_ENDPOINTS: lbctl,
      ETCDCTL_ENDPOINTS: etcdctl,
      LBCTL_SERVICE_CONFIG: config,
      SECOND: 'b:1',
      PASS: 'p',
    };
    return (await resolveSettings({ endpoints: flag }, env, files(content))).etcd.endpoints;
  };
  expect(await endpointsOf(['f:1', ' g:2, h:3,'], 'l:1', 'e:1', '/svc.yaml')).toEqual(['f:1', 'g:2', 'h:3']);
  expect(await endpointsOf([''], 'l:1', 'e:1', '/svc.yaml')).toEqual(['l:1']);
  expect(await endpointsOf(undefined, '', 'e:1', '/svc.yaml')).toEqual(['e:1']);
  expect(await endpointsOf(undefined, '', '', '/svc.yaml')).toEqual(['10.0.0.1:2379', 'b:1']);
  expect(await endpointsOf(undefined, '', '', '')).toEqual(['127.0.0.1:2379']);
});

test('a go-zero yaml gives account and TLS too, in any letter case, with variables filled in', async () => {
  const read = files({ '/svc.yaml': yaml, '/ca.pem': 'CA' });
  const env = { SECOND: 'b:1', PASS: 's3cret: #"' };
  const { etcd } = await resolveSettings({ 'service-config': '/svc.yaml' }, env, read);
  expect(etcd.auth).toEqual({ user: 'svc', password: 's3cret: #"' });
  expect(etcd.tls).toEqual({ ca: Buffer.from('CA'), skipVerify: true });
});

test('the password of a service file is never sent for another user', async () => {
  const env = { SECOND: 'b:1', PASS: 'p', LBCTL_USER: 'alice' };
  const error = await refused({ 'service-config': '/svc.yaml' }, env, { '/svc.yaml': yaml, '/ca.pem': 'CA' });
  expect(error.message).toContain('alice');
});

test('a password comes from a file or the environment; on the command line it is taken with a warning', async () => {
  const read = files({ '/pw': 'pa:ss\n' });
  const auth = async (flags: object, env: object) => (await resolveSettings(flags, { ...env }, read)).etcd.auth;
  expect(await auth({ user: 'root', 'password-file': '/pw' }, {})).toEqual({ user: 'root', password: 'pa:ss' });
  expect(await auth({ user: 'root' }, { LBCTL_PASSWORD: 'x' })).toEqual({ user: 'root', password: 'x' });
  expect(await auth({}, { ETCDCTL_USER: 'root:a:b' })).toEqual({ user: 'root', password: 'a:b' });
  expect(await auth({}, { ETCDCTL_USER: 'root', ETCDCTL_PASSWORD: 'y' })).toEqual({ user: 'root', password: 'y' });
  const { etcd, warnings } = await resolveSettings({ user: 'root:visible' }, {}, read);
  expect(etcd.auth).toEqual({ user: 'root', password: 'visible' });
  expect(warnings).toHaveLength(1);
  expect(warnings.join()).not.toContain('visible');
});

test('TLS: a CA alone is enough; a certificate needs its key', async () => {
  const read = files({ '/ca': 'CA', '/cert': 'CERT', '/key': 'KEY' });
  expect((await resolveSettings({ cacert: '/ca' }, {}, read)).etcd.tls).toEqual({ ca: Buffer.from('CA') });
  const mutual = { cacert: '/ca', cert: '/cert', 'tls-key': '/key' };
  expect((await resolveSettings(mutual, {}, read)).etcd.tls).toEqual({
    ca: Buffer.from('CA'),
    cert: Buffer.from('CERT'),
    key: Buffer.from('KEY'),
  });
  expect((await resolveSettings({}, { ETCDCTL_INSECURE_SKIP_TLS_VERIFY: 'true' }, read)).etcd.tls).toEqual({
    skipVerify: true,
  });
  expect((await refused({ cert: '/cert' }, {}, { '/cert': 'CERT' })).message).toContain('--tls-key');
});

test('an account inside an endpoint is refused without repeating the password', async () => {
  expect((await refused({ endpoints: ['http://root:s3cret@a:2379'] })).message).not.toContain('s3cret');
});

test('files that cannot be read and durations that are none are usage errors', async () => {
  expect((await refused({ cacert: '/nowhere/ca.pem' })).message).toContain('/nowhere/ca.pem');
  expect((await refused({ 'service-config': '/nowhere.yaml' })).message).toContain('/nowhere.yaml');
  expect((await refused({ 'service-config': '/a' }, {}, { '/a': 'Name: x' })).message).toContain('no Etcd block');
  expect((await refused({ 'service-config': '/a' }, {}, { '/a': '{' })).message).toContain('not yaml');
  expect((await refused({ 'dial-timeout': '5' })).message).toContain('--dial-timeout "5"');
  expect((await refused({}, { ETCDCTL_COMMAND_TIMEOUT: '0' })).message).toContain('--command-timeout "0"');
  expect((await refused({ user: 'root', 'password-file': '/pw' }, {}, { '/pw': '\n' })).message).toContain('empty');
});
