/** Formats a target, and whether the median reached the target, for the end of a line. Empty without a target. */
export function formatGoal(median: number, goal: number | undefined): string {
  return goal === undefined ? '' : `   target <= ${goal}: ${median <= goal ? 'reached' : 'NOT REACHED'}`
}
