import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import { BaseCommand, type Outcome } from '../cli/base-command.js';
import { type ConnectionFlagValues, connectionFlags, dialectFlag, outputFlags } from '../cli/flags.js';
import { checkPickFlags } from '../cli/pick/flags.js';
import { keysOf, withoutKeys } from '../cli/pick/keys.js';
import { canStream, collectPicks, streamPicks, writeOut } from '../cli/pick/stream.js';
import { listedPicks, pickText } from '../cli/pick/text.js';
import { policyNames } from '../core/balancer/policies.js';
import { ringFlavours } from '../core/hashing/ring.js';
import { systemRng } from '../core/model/clock.js';
import type { DialectName } from '../core/model/instance.js';
import { Picker, type PickGroup } from '../core/operations/pick.js';
import { parseNodes } from '../core/operations/pick-nodes.js';

const list = { multiple: true, multipleNonGreedy: true } as const;

export default class PickCommand extends BaseCommand {
  static override summary = 'Show which instance gets a key, and why: hash, ring point, virtual node, next owners.';
  static override description =
    'Without SERVICE every service is asked, a row each. With --nodes no etcd is needed. Many keys (--keys-file) give ' +
    'the distribution, and with --with or --without how many of them the change moves.';
  static override examples = [
    '<%= config.bin %> pick user.rpc --key user:42 --explain',
    '<%= config.bin %> pick user.rpc --keys-file keys.txt --without 10.0.0.7:8080',
    '<%= config.bin %> pick --nodes A=5,B=1,C=1 --policy smooth_weighted_round_robin -n 7',
  ];
  static override args = {
    service: Args.string({
      description: 'Pick from its instances in rotation; without it, every service.',
      ignoreStdin: true,
    }),
  };
  static override flags = {
    key: Flags.string({ ...list, summary: 'A key to hash, taken literally.' }),
    'keys-file': Flags.string({ summary: 'A file of keys, one a line; - reads stdin.', helpValue: 'FILE' }),
    policy: Flags.string({
      summary: `One of ${policyNames.join(', ')}; weighted_round_robin means the smooth one.`,
      default: 'consistent_hash',
    }),
    ring: Flags.option({ options: ringFlavours, summary: 'The ring of consistent_hash. [default: gozero]' })(),
    count: Flags.integer({ char: 'n', summary: 'How many picks, for each key.', default: 1, min: 1, max: 1_000_000 }),
    nodes: Flags.string({ ...list, summary: 'Pick from these instead of a service.', helpValue: 'NODE[=WEIGHT],…' }),
    with: Flags.string({ ...list, summary: 'Pick as if these had joined.', helpValue: 'NODE[=WEIGHT],…' }),
    without: Flags.string({ ...list, summary: 'Pick as if these had left.', helpValue: 'NODE,…' }),
    explain: Flags.boolean({ summary: 'Say in words why each key is where it is, and what would move it.' }),
    ...dialectFlag,
    ...outputFlags('table', 'json', 'yaml', 'ndjson', 'address'),
    ...connectionFlags,
  };

  protected async perform(): Promise<Outcome | number> {
    const { args, flags } = await this.parse(PickCommand);
    const hasKeys = flags.key !== undefined || flags['keys-file'] !== undefined;
    checkPickFlags({ service: args.service, hasKeys, ...flags });
    const joining = parseNodes(flags.with ?? [], '--with');
    const leaving = parseNodes(flags.without ?? [], '--without').map((node) => node.address);
    const groups = flags.nodes
      ? [{ service: null, nodes: parseNodes(flags.nodes, '--nodes') }]
      : await this.readGroups(args.service, flags, flags.dialect);
    const { policy, ring } = flags;
    const weightedRing = flags.nodes !== undefined;
    const picker = new Picker({
      policy,
      ...(ring && { ring }),
      weightedRing,
      groups,
      joining,
      leaving,
      rng: systemRng,
    });
    for (const warning of picker.warnings) this.tell(`Warning: ${warning}`);

    const keys = hasKeys ? keysOf(flags.key ?? [], flags['keys-file']) : withoutKeys(flags.count);
    const times = hasKeys ? flags.count : 1;
    if (canStream(this.format)) {
      await streamPicks(picker, keys, { format: this.format, times, write: writeOut });
      return 0;
    }
    const limit = this.format === 'yaml' ? Number.POSITIVE_INFINITY : listedPicks;
    const result = await collectPicks(picker, keys, { times, limit });
    const { head, picks, totals, count } = result;
    if (picks.length < count) this.tell(`${count} picks: only how they add up is shown; -o ndjson lists every one.`);
    return {
      document: { ...head, picks, ...totals },
      text: (view) => pickText(result, view, { explain: flags.explain }),
    };
  }
  private async readGroups(
    service: string | undefined,
    connection: ConnectionFlagValues,
    dialect: DialectName | undefined,
  ): Promise<PickGroup[]> {
    const etcd = await this.connect(connection);
    const { pickGroups } = await import('../cli/pick/groups.js');
    const tell = (line: string) => this.tell(line);
    return pickGroups(etcd, service, { ...(dialect && { dialect }), signal: this.lifetime.signal, tell });
  }
}
