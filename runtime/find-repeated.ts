/** @returns the position of the first item that equals an earlier one, or -1. */
export function findRepeated(items: readonly unknown[]): number {
  const seen = new Set<string>()
  return items.findIndex((one) => seen.size === seen.add(JSON.stringify(one)).size)
}
