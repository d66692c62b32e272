import type { HeaderRulesEntry } from '../format/header-schemas.ts'
import type { HeaderChanges, HeaderRules, HeaderValue } from './header-rules.ts'

/** Converts the validated `headers` of a policy to frozen rules. Header names are in lower case. */
export function toHeaderRules(headers: HeaderRulesEntry | undefined): HeaderRules | undefined {
  if (headers === undefined) return undefined
  return Object.freeze({ request: toChanges(headers.request), response: toChanges(headers.response) })
}

/** Returns the values sorted by name, with names in lower case, so that equal requirements have equal results. */
export function toHeaderValues(values: Readonly<Record<string, string>> | undefined): readonly HeaderValue[] {
  const pairs = Object.entries(values ?? {}).map(([name, value]) =>
    Object.freeze({ name: name.toLowerCase(), value }),
  )
  return Object.freeze(pairs.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
}

function toChanges(changes: HeaderRulesEntry['request']): HeaderChanges {
  return Object.freeze({
    set: toHeaderValues(changes?.set),
    add: toHeaderValues(changes?.add),
    remove: Object.freeze((changes?.remove ?? []).map((name) => name.toLowerCase()).toSorted()),
  })
}
