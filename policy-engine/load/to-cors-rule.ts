import type { CorsEntry } from '../format/cors-entry.ts'
import type { CorsRule } from './cors-rule.ts'

/** Converts the validated `cors` of a policy to a frozen rule. Returns undefined if it has no limit. */
export function toCorsRule(entry: CorsEntry | undefined): CorsRule | undefined {
  const origins = entry?.origins?.includes('*') === true ? undefined : entry?.origins
  const { methods, headers } = entry ?? {}
  if (origins === undefined && methods === undefined && headers === undefined) return undefined
  return Object.freeze({
    ...(origins === undefined ? {} : { origins: Object.freeze([...origins]) }),
    ...(methods === undefined ? {} : { methods: Object.freeze([...methods]) }),
    ...(headers === undefined ? {} : { headers: Object.freeze(headers.map((name) => name.toLowerCase())) }),
  })
}
