/** Minimum, median and maximum of figures. */
export type Summary = { readonly min: number; readonly median: number; readonly max: number }

/** Summarises one or more figures. The median of an even number of figures is the mean of the middle two. */
export function summarise(figures: readonly number[]): Summary {
  const sorted = figures.toSorted((a, b) => a - b)
  const at = (index: number): number => sorted[index] ?? Number.NaN
  const middle = (sorted.length - 1) / 2
  return {
    min: at(0),
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    max: at(sorted.length - 1),
  }
}
