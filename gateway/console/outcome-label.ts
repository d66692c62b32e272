import type { Html } from '../../platform/pages/html.ts'
import { type PageState, stateText } from '../../platform/pages/state-text.ts'
import type { Outcome } from './decision-summary.ts'

const STATES: Partial<Record<Outcome, PageState>> = {
  allow: 'ok',
  deny: 'wrong',
  reject: 'wrong',
  challenge: 'notice',
  report: 'notice',
}

export function outcomeLabel(outcome: Outcome): Html | string {
  const state = STATES[outcome]
  return state === undefined ? outcome : stateText(state, outcome)
}
