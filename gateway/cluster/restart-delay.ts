const FIRST_MS = 100
const MOST_MS = 10_000

/**
 * Returns the delay before a crashed worker is restarted: 0 after the first crash, then doubled each time.
 * Milliseconds.
 * @param failures number of consecutive crashes soon after the start.
 */
export function restartDelayMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(MOST_MS, FIRST_MS * 2 ** (failures - 1))
}
