import { styleText } from 'node:util'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import type { Finding } from './checks.ts'

const MARKS = { ok: ['✓', 'green'], warning: ['!', 'yellow'], fault: ['✗', 'red'] } as const

/** Formats a finding for a terminal: the check, the observation, and the recommended change. */
export function renderFinding(finding: Finding, colour: boolean): string {
  const { level, check } = finding
  // The examined server can control parts of this text.
  const [where, says] = [visibleText(finding.where), visibleText(finding.says)]
  const cure = finding.cure === undefined ? undefined : visibleText(finding.cure)
  const [mark, tint] = MARKS[level]
  const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
    colour ? styleText(style, text, { validateStream: false }) : text
  const line = `${paint(tint, mark)} ${paint('bold', check.padEnd(18))} ${says}\n`
  if (cure === undefined) return line
  return `${line}  ${paint('dim', where)}\n  ${cure}\n`
}

export function renderSum(findings: readonly Finding[]): string {
  const number = (level: Finding['level']): number => findings.filter((one) => one.level === level).length
  const [faults, warnings] = [number('fault'), number('warning')]
  if (faults === 0 && warnings === 0) return `healthy: ${findings.length} checks\n`
  const parts = [
    ...(faults === 0 ? [] : [`${faults} ${faults === 1 ? 'fault' : 'faults'}`]),
    ...(warnings === 0 ? [] : [`${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`]),
  ]
  return `${parts.join(', ')} in ${findings.length} checks\n`
}
