import type { DashboardEnd, DashboardOptions } from './options.js';

/** Stands in until the screen is merged. */
export async function showDashboard(options: DashboardOptions): Promise<DashboardEnd> {
  const source = await options.open();
  const frame = source.frame();
  await source.close();
  return { how: 'ended', frame, commands: [] };
}
