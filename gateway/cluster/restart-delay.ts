const FIRST_MS = 100
const MOST_MS = 10_000

/**
 * How long to wait before a worker that ended by itself is started again: not at all after the first time, then twice
 * as long each time. Milliseconds.
 * @param failures how often in a row it ended soon after its start.
 */
export function restartDelayMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(MOST_MS, FIRST_MS * 2 ** (failures - 1))
}
