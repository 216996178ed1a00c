import type { DirectTarget } from '../target.js';
import type { Source } from './source.js';

/** A fixed list: told once each time it is opened. */
export function directSource(target: DirectTarget): Source {
  const instances = [...new Set(target.addresses)].map((address) => ({ address }));
  return {
    open(sink) {
      let isOpen = true;
      queueMicrotask(() => {
        if (isOpen) sink.found(instances, '');
      });
      return () => {
        isOpen = false;
      };
    },
  };
}
