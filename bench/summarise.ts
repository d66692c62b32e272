export type Summary = { readonly min: number; readonly median: number; readonly max: number }

/** Requires one or more figures. If the number of figures is even, the median is the mean of the two middle figures. */
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
