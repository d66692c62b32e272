/**
 * Finds the word that the author probably meant.
 * @returns the nearest of `words`, or undefined when every word is too different. The limit is one edit per four
 * characters, plus one.
 */
export function suggest(typed: string, words: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  const wanted = fold(typed)
  for (const word of words) {
    const limit = Math.max(1, Math.floor(Math.max(typed.length, word.length) / 4) + 1)
    if (Math.abs(typed.length - word.length) > limit) continue
    const distance = editDistance(wanted, fold(word))
    if (distance <= limit && distance < bestDistance && distance < word.length) {
      best = word
      bestDistance = distance
    }
  }
  return best
}

/** Normalizes case and separators, so that differences in case and separators do not count as edits. */
function fold(text: string): string {
  return text
    .slice(0, 200)
    .toLowerCase()
    .replace(/[-_. ]/g, '-')
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbors each cost one. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1)
      }
      row.push(cost)
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}
