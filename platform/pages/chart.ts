import { type Html, html } from './html.ts'

/** Width of the picture for each value, and its height. The style of the page scales the picture. */
const HEIGHT = 40

/**
 * Draws values as bars, oldest first. The newest value is at the right edge. Values before the first one are empty.
 * @param options.slots number of bars of a complete chart.
 * @param options.label text for people who do not see the picture.
 */
export function barChart(
  values: readonly number[],
  { slots, label, state }: { readonly slots: number; readonly label: string; readonly state?: ChartState },
): Html {
  const shown = values.slice(-slots)
  const top = Math.max(...shown, 0)
  const path = shown.map((value, index) => bar(slots - shown.length + index, value, top)).join('')
  return html`<svg viewBox="0 0 ${slots} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}"><path class="area ${state ?? ''}" d="${path}"/><path class="base" d="M0 ${HEIGHT}h${slots}" vector-effect="non-scaling-stroke"/></svg>`
}

export type ChartState = 'wrong' | 'notice'

/** A positive value is always visible, also beside a much larger value. */
function bar(at: number, value: number, top: number): string {
  if (value <= 0 || top <= 0) return ''
  const height = Math.max(2, Math.round((value / top) * (HEIGHT - 2)))
  return `M${at} ${HEIGHT}v-${height}h1v${height}z`
}
