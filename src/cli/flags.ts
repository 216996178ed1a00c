import * as Flags from '@oclif/core/flags';
import { LbctlError } from '../core/model/errors.js';
import { type DialectName, dialectNames } from '../core/model/instance.js';

export const outputFormats = ['table', 'wide', 'json', 'yaml', 'ndjson', 'address'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** `-o` with the formats that the verb can write, and `--json` for `-o json`. */
export function outputFlags(...formats: OutputFormat[]) {
  return {
    output: Flags.string({
      char: 'o',
      summary: `How to write the result: ${formats.join(', ')}.`,
      helpValue: 'FORMAT',
      options: formats,
      default: async () => 'table',
      helpGroup: 'OUTPUT',
    }),
    json: Flags.boolean({ summary: 'Short for -o json.', helpGroup: 'OUTPUT' }),
  };
}

/** @throws USAGE when `--json` and another format are asked for at once. */
export function formatOf(flags: { output?: string | undefined; json?: boolean | undefined }): OutputFormat {
  const output = outputFormats.find((format) => format === flags.output) ?? 'table';
  if (!flags.json) return output;
  if (output !== 'table' && output !== 'json' && output !== 'ndjson') {
    throw new LbctlError('USAGE', `--json and -o ${output} ask for two formats at once`, {
      suggestions: ['Leave one of them out.'],
    });
  }
  return output === 'table' ? 'json' : output;
}

const helpGroup = 'CONNECTION';

/** How to reach etcd. Read by settings.ts, which also knows the environment and the files behind each of them. */
export const connectionFlags = {
  endpoints: Flags.string({
    summary: 'etcd endpoints, comma separated. [env: LBCTL_ENDPOINTS, ETCDCTL_ENDPOINTS; default: 127.0.0.1:2379]',
    helpValue: 'HOST:PORT',
    multiple: true,
    multipleNonGreedy: true,
    helpGroup,
  }),
  user: Flags.string({ summary: 'User name for etcd. [env: LBCTL_USER, ETCDCTL_USER]', helpValue: 'NAME', helpGroup }),
  'password-file': Flags.string({
    summary: 'File with the password. [env: LBCTL_PASSWORD_FILE, or the password in LBCTL_PASSWORD, ETCDCTL_PASSWORD]',
    helpValue: 'FILE',
    helpGroup,
  }),
  cacert: Flags.string({
    summary: 'CA that signed the server certificate; turns TLS on. [env: LBCTL_CACERT, ETCDCTL_CACERT]',
    helpValue: 'FILE',
    helpGroup,
  }),
  cert: Flags.string({
    summary: 'Client certificate. [env: LBCTL_CERT, ETCDCTL_CERT]',
    helpValue: 'FILE',
    helpGroup,
  }),
  'tls-key': Flags.string({
    summary: 'Key of the client certificate. [env: LBCTL_TLS_KEY, ETCDCTL_KEY]',
    helpValue: 'FILE',
    helpGroup,
  }),
  'insecure-skip-tls-verify': Flags.boolean({
    summary: 'TLS without checking the server certificate. [env: LBCTL_INSECURE_SKIP_TLS_VERIFY, ETCDCTL_…]',
    helpGroup,
  }),
  'dial-timeout': Flags.string({
    summary: 'How long one endpoint may take to connect. [default: 2s; env: LBCTL_DIAL_TIMEOUT, ETCDCTL_DIAL_TIMEOUT]',
    helpValue: 'DURATION',
    helpGroup,
  }),
  'command-timeout': Flags.string({
    summary: 'How long one call may take. [default: 5s; env: LBCTL_COMMAND_TIMEOUT, ETCDCTL_COMMAND_TIMEOUT]',
    helpValue: 'DURATION',
    helpGroup,
  }),
  'service-config': Flags.string({
    summary: 'A go-zero yaml: its Etcd block gives endpoints, account and TLS. [env: LBCTL_SERVICE_CONFIG]',
    helpValue: 'FILE',
    helpGroup,
  }),
};

export interface ConnectionFlagValues {
  readonly endpoints?: readonly string[] | undefined;
  readonly user?: string | undefined;
  readonly 'password-file'?: string | undefined;
  readonly cacert?: string | undefined;
  readonly cert?: string | undefined;
  readonly 'tls-key'?: string | undefined;
  readonly 'insecure-skip-tls-verify'?: boolean | undefined;
  readonly 'dial-timeout'?: string | undefined;
  readonly 'command-timeout'?: string | undefined;
  readonly 'service-config'?: string | undefined;
}

/** Forces one reading of the values of a service, where recognising it goes wrong. */
export const dialectFlag = {
  dialect: Flags.custom<DialectName>({
    summary: 'Read every value in this layout instead of recognising it.',
    options: dialectNames,
    parse: async (text) => dialectNames.find((name) => name === text) ?? 'gozero',
  })(),
};
