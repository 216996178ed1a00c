import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import { BaseCommand, type Outcome } from '../cli/base-command.js';
import { outputFlags } from '../cli/flags.js';
import { keysOf, withoutKeys } from '../cli/pick-keys.js';
import { canStream, type KeyBatches, streamPicks, writeOut } from '../cli/pick-stream.js';
import { listedPicks, pickText } from '../cli/pick-text.js';
import { policyNames } from '../core/balancer/policies.js';
import { ringFlavours } from '../core/hashing/ring.js';
import { systemRng } from '../core/model/clock.js';
import { LbctlError } from '../core/model/errors.js';
import { type Pick, Picker } from '../core/operations/pick.js';
import { parseNodes } from '../core/operations/pick-nodes.js';

const list = { multiple: true, multipleNonGreedy: true } as const;

export default class PickCommand extends BaseCommand {
  static override summary = 'Show which instance gets a key, and why: hash, ring point, virtual node, next owners.';
  static override description =
    'Without SERVICE every service is asked, a row each. With --nodes no etcd is needed. Many keys (--keys-file) give ' +
    'the distribution, and with --with or --without how many of them a change moves.';
  static override examples = [
    '<%= config.bin %> pick user.rpc --key user:42 --explain',
    '<%= config.bin %> pick user.rpc --keys-file keys.txt --without 10.0.0.7:8080',
    '<%= config.bin %> pick --nodes A=5,B=1,C=1 --policy smooth_weighted_round_robin -n 7',
  ];
  static override args = { SERVICE: Args.string({ description: 'The service to pick from.', ignoreStdin: true }) };
  static override flags = {
    key: Flags.string({ ...list, summary: 'A key to hash, taken literally; may be repeated.' }),
    'keys-file': Flags.string({ summary: 'A file of keys, one a line; - reads stdin.', helpValue: 'FILE' }),
    policy: Flags.string({
      summary: `One of ${policyNames.join(', ')}; weighted_round_robin means the smooth one.`,
      default: 'consistent_hash',
    }),
    ring: Flags.option({ options: ringFlavours, summary: 'The ring of consistent_hash. [default: gozero]' })(),
    count: Flags.integer({ char: 'n', summary: 'How many picks, for each key.', default: 1, min: 1, max: 10_000_000 }),
    nodes: Flags.string({
      ...list,
      summary: 'Pick from these nodes instead of a service.',
      helpValue: 'NODE[=WEIGHT],…',
    }),
    with: Flags.string({ ...list, summary: 'Pick as if these nodes had joined.', helpValue: 'NODE[=WEIGHT],…' }),
    without: Flags.string({ ...list, summary: 'Pick as if these nodes had left.', helpValue: 'NODE,…' }),
    explain: Flags.boolean({ summary: 'Say in words why each key is where it is, and what would move it.' }),
    ...outputFlags('table', 'wide', 'json', 'yaml', 'ndjson', 'address'),
  };

  protected async perform(): Promise<Outcome | number> {
    const { args, flags } = await this.parse(PickCommand);
    const picker = new Picker({
      policy: flags.policy,
      ...(flags.ring && { ring: flags.ring }),
      weightedRing: flags.nodes !== undefined,
      groups: [{ service: null, nodes: parseNodes(flags.nodes ?? [], '--nodes') }],
      joining: flags.with ? parseNodes(flags.with, '--with') : [],
      leaving: flags.without ? parseNodes(flags.without, '--without').map((node) => node.address) : [],
      rng: systemRng,
    });
    for (const warning of picker.warnings) this.tell(`Warning: ${warning}`);
    const hasKeys = flags.key !== undefined || flags['keys-file'] !== undefined;
    if (picker.keyed && !hasKeys) {
      throw new LbctlError('USAGE', `${picker.head.policy} needs a key`, {
        suggestions: ['Give --key KEY or --keys-file FILE, or a --policy without keys.'],
      });
    }
    const keys = hasKeys ? keysOf(flags.key ?? [], flags['keys-file']) : withoutKeys(flags.count);
    const times = hasKeys ? flags.count : 1;
    const format = this.format;
    if (!canStream(format)) return this.collect(picker, keys, times, flags.explain);
    await streamPicks(picker, keys, { format, times, write: writeOut });
    return 0;
  }

  /** For people and YAML: both need everything before the first line. */
  private async collect(picker: Picker, keys: KeyBatches, times: number, explain: boolean): Promise<Outcome> {
    const limit = this.format === 'yaml' ? Number.POSITIVE_INFINITY : listedPicks;
    let picks: Pick[] = [];
    let count = 0;
    for await (const batch of keys) {
      for (const key of batch) {
        count += times;
        if (count <= limit) picks.push(...picker.pick(key, times));
        else picker.tally(key, times);
      }
    }
    if (count > limit) {
      picks = [];
      this.tell(`${count} picks: only how they add up is shown; -o ndjson lists every one.`);
    }
    const { head } = picker;
    const totals = picker.totals();
    return {
      document: { ...head, picks, ...totals },
      text: (view) => pickText({ head, picks, totals }, view, { explain }),
    };
  }
}
