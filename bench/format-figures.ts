import type { Figure } from './figure.ts'
import { formatGoal } from './format-goal.ts'
import { summarise } from './summarise.ts'

/**
 * Formats the minimum, the median and the maximum of each figure for a terminal. Also compares the median with the
 * target.
 */
export function formatFigures(figures: readonly Figure[]): string[] {
  if (figures.length === 0) return []
  const labels = figures.map(({ name, unit }) => `${name} (${unit})`)
  const width = Math.max(...labels.map((label) => label.length))
  const lines = figures.map(({ found, goal }, index) => {
    const { min, median, max } = summarise(found)
    const columns = [min, median, max].map((figure) => figure.toFixed(2).padStart(10)).join('')
    return `  ${labels[index]?.padEnd(width)}${columns}${formatGoal(median, goal)}`
  })
  return [`  ${''.padEnd(width)}       min    median       max`, ...lines]
}
