import { type Html, html } from './html.ts'

/** `ok`: healthy. `notice`: degraded, or worth a look. `wrong`: requests fail. */
export type PageState = 'ok' | 'notice' | 'wrong'

/** Renders a text in the color of a state. The text must name the state, because some people do not see colors. */
export function stateText(state: PageState, text: string | number): Html {
  return html`<span class="state" data-state="${state}">${text}</span>`
}

/** Renders names with values. In a wide window, each value is beside its name. */
export function definitions(rows: readonly (readonly [name: string, value: Html | string])[]): Html {
  return html`<dl>${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}
