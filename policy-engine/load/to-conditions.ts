import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { ConditionEntry } from '../format/condition-entry.ts'
import type { Condition, ConditionTest, Operand } from './condition.ts'
import { readOperand } from './read-operand.ts'

const NONE: readonly Condition[] = Object.freeze([])

/** Converts the validated `when` of a route to conditions. Frozen. */
export function toConditions(
  when: readonly ConditionEntry[] | undefined,
  options: { readonly index: number; readonly document: YamlDocument },
): readonly Condition[] {
  if (when === undefined) return NONE
  return Object.freeze(
    when.map((entry, position) => {
      const { file, line, column } = options.document.placeOf(['routes', options.index, 'when', position])
      const source = Object.freeze({ file, line: line ?? 1, column: column ?? 1 })
      return Object.freeze({ claim: entry.claim, test: Object.freeze(toTest(entry)), source })
    }),
  )
}

function toTest(entry: ConditionEntry): ConditionTest {
  if (entry.equals !== undefined) return { equals: toOperand(entry.equals) }
  if (entry.in !== undefined) return { in: Object.freeze(entry.in.map(toOperand)) }
  if (entry.matches !== undefined) return { matches: entry.matches }
  return { exists: entry.exists ?? true }
}

function toOperand(written: string | number | boolean): Operand {
  const operand = readOperand(written)
  if (typeof operand !== 'object') return operand
  if ('problem' in operand) throw new Error(operand.problem)
  return Object.freeze(operand)
}
