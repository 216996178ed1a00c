const blocks = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** The last `width` values as blocks from 0 to the greatest of them, oldest first; what is unknown is blank. */
export function sparkline(values: readonly (number | null)[], width: number): string {
  const last = values.slice(Math.max(0, values.length - width));
  const greatest = last.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  const drawn = last.map((value) => {
    if (value === null) return ' ';
    const step = greatest > 0 ? Math.ceil((Math.max(0, value) / greatest) * blocks.length) - 1 : 0;
    return blocks[Math.max(0, step)];
  });
  return drawn.join('').padStart(width);
}
