import type { HeaderChanges, HeaderRules, HeaderValue } from '../load/policy-route.ts'
import { foldHeaderName } from '../match/header-kind.ts'

export type HeaderEdit = {
  readonly drops: (lowerName: string) => boolean
  /** Headers to append: name, value, name, value. */
  readonly appended: readonly string[]
}

/** Compiles the changes of a policy to request headers or to response headers. Returns undefined without changes. */
export function compileHeaderEdit(
  rules: HeaderRules | undefined,
  direction: 'request' | 'response',
): HeaderEdit | undefined {
  const changes: HeaderChanges | undefined = rules?.[direction]
  if (changes === undefined) return undefined
  const dropped = new Set([...changes.remove, ...changes.set.map(({ name }) => name)])
  const appended = Object.freeze([...changes.set, ...changes.add].flatMap(toPair))
  if (dropped.size === 0 && appended.length === 0) return undefined
  return Object.freeze({
    // Removes all spellings of a name, because some servers fold names and read `x_plan` as `X-Plan`.
    drops: (name: string) => dropped.has(name) || dropped.has(foldHeaderName(name)),
    appended,
  })
}

/** Returns a copy of the headers with the changes. @param headers name, value, name, value. */
export function editHeaders(headers: readonly string[], edit: HeaderEdit): string[] {
  const edited: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string
    if (!edit.drops(name.toLowerCase())) edited.push(name, headers[i + 1] as string)
  }
  edited.push(...edit.appended)
  return edited
}

function toPair({ name, value }: HeaderValue): readonly string[] {
  return [name, value]
}
