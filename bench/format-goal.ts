/**
 * Returns the end of a line: the target, and whether the median reached the target. Returns an empty text without a
 * target.
 */
export function formatGoal(median: number, goal: number | undefined): string {
  return goal === undefined ? '' : `   target <= ${goal}: ${median <= goal ? 'reached' : 'NOT REACHED'}`
}
