/** Asks one worker after the other, until a worker replies. Returns undefined if no worker replies in time. */
export async function firstReply<W, T>(
  workers: readonly W[],
  ask: (worker: W) => Promise<T | undefined>,
): Promise<T | undefined> {
  for (const worker of workers) {
    const reply = await ask(worker)
    if (reply !== undefined) return reply
  }
  return undefined
}
