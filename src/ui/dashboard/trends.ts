/** How many values are kept of each row: as many as the column is wide. */
export const trendLength = 12;

type Values = readonly (number | null)[];

/** The last calls per second of each row. Rows that are gone are forgotten, so it never outgrows the table. */
export type Trends = ReadonlyMap<string, Values>;

export function recordTrends(
  trends: Trends,
  rows: readonly { readonly id: string; readonly callsPerSecond: number | null }[],
): Trends {
  return new Map(
    rows.map(({ id, callsPerSecond }) => {
      return [id, [...(trends.get(id) ?? []).slice(1 - trendLength), callsPerSecond]] as const;
    }),
  );
}
