/**
 * Adds up all samples of a counter in a response of /metrics, for all label values. Source: Prometheus text exposition
 * format 0.0.4.
 */
export function sumSamples(scrape: string, counter: string): number {
  let sum = 0
  for (const line of scrape.split('\n')) {
    const after = line.slice(counter.length)
    if (!line.startsWith(counter) || !/^[{ ]/.test(after)) continue
    sum += Number(/ (\S+)(?: -?\d+)?$/.exec(line)?.[1])
  }
  return sum
}
