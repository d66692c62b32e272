/** Returns a count with the form of its noun: `1 grant`, `2 grants`. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
