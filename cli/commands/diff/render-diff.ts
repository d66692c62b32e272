import { styleText } from 'node:util'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import type { Change, PolicyDiff } from './compare-policies.ts'
import type { Detail } from './compare-routes.ts'
import type { UpstreamChange } from './compare-upstreams.ts'

/** Number of changes of each kind. A change that widens and narrows access counts once for each kind. */
export type DiffCounts = Readonly<Record<ChangeKind, number>>

export const CHANGE_KINDS = ['widened', 'narrowed', 'changed', 'new', 'gone'] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

const MARKS = { changed: '~', new: '+', gone: '-' } as const
const MARK_COLOURS = { changed: 'yellow', new: 'green', gone: 'red' } as const
const LABEL_COLUMN = 78
const COMPARED_AS_TEXT = `${' '.repeat(15)}these conditions have too many combinations, so only their texts are compared`

/** Counts each change of an upstream as changed, because its effect depends on the routes that use it. */
export function countChanges(
  changes: readonly Change[],
  upstreams: readonly UpstreamChange[] = [],
): DiffCounts {
  const count = (test: (change: Change) => boolean) => changes.filter(test).length
  return {
    widened: count((one) => one.widened),
    narrowed: count((one) => one.narrowed),
    changed: count((one) => one.kind === 'changed' && !one.widened && !one.narrowed) + upstreams.length,
    new: count((one) => one.kind === 'new'),
    gone: count((one) => one.kind === 'gone'),
  }
}

/**
 * Formats the changes for callers: one line per route, one per detail, one per renamed route, the changes of upstreams,
 * and the number of changes of each kind.
 */
export function renderDiff(
  { changes, renamed }: PolicyDiff,
  options: { readonly colour: boolean; readonly upstreams?: readonly UpstreamChange[] },
): string {
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    options.colour ? styleText(style, text, { validateStream: false }) : text
  const lines = changes.flatMap((change) => [
    withLabel(
      `${paint(MARK_COLOURS[change.kind], MARKS[change.kind])} ${headline(change)}`,
      `${MARKS[change.kind]} ${headline(change)}`.length,
      statusText(change),
    ),
    ...change.details.map((detail) => {
      const text = visibleText(`    ${detail.what.padEnd(10)} ${detail.old}  ->  ${detail.now}`)
      const line = withLabel(text, text.length, paint('bold', labelOf(detail)))
      return detail.asWritten === true ? `${line}\n${COMPARED_AS_TEXT}` : line
    }),
  ])
  for (const { old, now } of renamed)
    lines.push(visibleText(`= ${now}   renamed from ${old}; nothing else changed`))
  for (const { kind, name, details } of options.upstreams ?? [])
    lines.push(
      `${paint(MARK_COLOURS[kind], MARKS[kind])} upstream ${visibleText(name)}`,
      ...details.map(({ key, old, now }) =>
        visibleText(`    ${key}  ${settingText(old)}  ->  ${settingText(now)}`),
      ),
    )
  const counts = countChanges(changes, options.upstreams)
  const summary = CHANGE_KINDS.filter((kind) => kind !== 'changed' || counts.changed > 0)
    .map((kind) => `${counts[kind]} ${kind}`)
    .join(', ')
  return `${lines.length === 0 ? 'nothing changes for callers\n' : `${lines.join('\n')}\n${summary}\n`}`
}

function settingText(value: unknown): string {
  return value === null ? '-' : [value].flat().join(', ')
}

function headline(change: Change): string {
  const { old, now, methods, path, partly, example } = change
  const name = now ?? old ?? ''
  const was = old !== undefined && now !== undefined && old !== now ? ` (was ${old})` : ''
  const headers = Object.entries(change.headers).map(([header, value]) => `${header}: ${value}`)
  const headerText = headers.length === 0 ? '' : ` (${headers.join(', ')})`
  const part = partly ? `, for example ${example.method} ${example.path}` : ''
  const owner =
    change.source === undefined ? '' : ` [${[change.source, change.owner].filter(Boolean).join(', ')}]`
  return visibleText(`${name}${was}${owner}   ${methods.join(', ')} ${path}${headerText}${part}`)
}

function statusText({ kind, statuses }: Change): string {
  if (kind === 'changed') return ''
  return `${kind === 'new' ? 'was' : 'now'} ${statuses.join(' or ')}`
}

function labelOf({ gains, loses }: Detail): string {
  return [gains ? ['WIDENED'] : [], loses ? ['NARROWED'] : []].flat().join(' and ')
}

function withLabel(text: string, length: number, label: string): string {
  return label === '' ? text : `${text}${' '.repeat(Math.max(2, LABEL_COLUMN - length))}${label}`
}
