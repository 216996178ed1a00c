import type { Instance, Pause, Strategy } from '../model/instance.js';

export type RecordedPause = Pause & { readonly strategy: Strategy };

/** The pause on record for an address, given all that is there; what its own process did is no record of ours. */
export function recordedPause(instances: readonly Instance[]): RecordedPause | null {
  for (const { pause } of instances) {
    if (pause && pause.strategy !== 'withdrawn') return { ...pause, strategy: pause.strategy };
  }
  return null;
}

/** The same when somebody paused it for his own reasons, so that no drain and no roll may lift it. */
export function operatorsPause(instances: readonly Instance[]): RecordedPause | null {
  const pause = recordedPause(instances);
  return pause?.verb === 'pause' || pause?.verb === 'hold' ? pause : null;
}
