/** A reader such as `head -1` needs about a millisecond to close the pipe behind its line. */
const readersMomentMs = 50;

/**
 * Writes the first line, and the rest a moment later. A closed pipe shows itself only to a write: without the moment, all
 * lines of a snapshot are in the pipe before `head -1` has read one, and `watch | head -1` waits for the next event.
 */
export function firstLineFirst(write: (text: string) => void): (text: string) => void {
  let held: string[] | null = null;
  let isFirst = true;
  return (text) => {
    if (held) {
      held.push(text);
    } else if (isFirst) {
      isFirst = false;
      held = [];
      write(text);
      setTimeout(() => {
        const rest = held?.join('') ?? '';
        held = null;
        write(rest);
      }, readersMomentMs);
    } else {
      write(text);
    }
  };
}
