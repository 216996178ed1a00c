import { describe, expect, it } from 'vitest';
import { Renderings } from '../../../../src/core/stats/export/renderings.js';
import { ManualClock } from '../../../support/manual-clock.js';

/** Renderings that take `costMs` each, and when each began. */
function rendering(costMs: number) {
  const clock = new ManualClock();
  const subject = new Renderings(clock);
  const startMs = clock.monotonic();
  const began: string[] = [];
  const ask = (key: string) =>
    subject.text(key, () => {
      began.push(`${key} at ${clock.monotonic() - startMs}`);
      clock.holdUp(costMs);
      return `${key} ${began.length}`;
    });
  return { clock, subject, began, ask };
}

describe('a text', () => {
  it('is made once for all who ask within 90 ms', async () => {
    const { clock, ask, began } = rendering(0);
    expect(String(await ask('a'))).toBe('a 1');
    await clock.advance(89);
    const texts = await Promise.all(Array.from({ length: 300 }, () => ask('a')));
    expect(new Set(texts.map(String))).toEqual(new Set(['a 1']));
    await clock.advance(1);
    expect(String(await ask('a'))).toBe('a 2');
    expect(began).toHaveLength(2);
  });

  it('takes a tenth of the time at most, however many texts are asked for', async () => {
    const { clock, ask, began } = rendering(50);
    const texts = ['a', 'b', 'c'].map(ask);
    await clock.advance(0);
    // Within the pause this is what there is.
    expect(String(await ask('a'))).toBe('a 1');
    await clock.advance(2000);
    expect((await Promise.all(texts)).map(String)).toEqual(['a 1', 'b 2', 'c 3']);
    expect(began).toEqual(['a at 0', 'b at 500', 'c at 1000']);
  });

  it('is made anew when something has changed, in its turn', async () => {
    const { clock, subject, ask, began } = rendering(10);
    await ask('a');
    subject.changed();
    const waiting = ask('a');
    // What has not been made yet will tell of this.
    subject.changed();
    expect(ask('a')).toBe(waiting);
    await clock.advance(100);
    expect(String(await waiting)).toBe('a 2');
    expect(began).toEqual(['a at 0', 'a at 100']);
  });

  it('that cannot be made is told to who asked, and the next is made', async () => {
    const { clock, subject, ask } = rendering(0);
    const broken = subject.text('b', () => {
      throw new Error('broken');
    });
    await expect(broken).rejects.toThrow('broken');
    expect(String(await ask('a'))).toBe('a 1');
    expect(clock.pending).toBe(0);
  });

  it('is refused when 64 others are waited for', async () => {
    const { clock, ask } = rendering(1);
    const asked = Array.from({ length: 65 }, (_, index) => ask(`${index}`));
    expect(asked.map((text) => text === null)).toEqual([...new Array(64).fill(false), true]);
    await clock.advance(1000);
    expect(String(await ask('again'))).toMatch(/^again/);
  });
});
