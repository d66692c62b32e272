import { parsePathTemplate } from '../match/path-template.ts'

/** Builds the path of the upstream request from the path parameters of the request. */
export type Rewrite = (params: Readonly<Record<string, string>>) => string

/**
 * Compiles the path of a `rewrite`. Inserts parameters as in the canonical path, without decoding.
 * `**` inserts the text that `**` of the route matched, including a trailing slash.
 * @throws {Error} on a malformed template, which `loadPolicies()` reports earlier, with its location.
 */
export function compileRewrite(path: string): Rewrite {
  const template = parsePathTemplate(path)
  if ('problem' in template) throw new Error(`rewrite path "${path}": ${template.problem}`)
  const { segments, below } = template
  return (params) => {
    let built = ''
    for (const segment of segments)
      built += `/${'parameter' in segment ? (params[segment.parameter] ?? '') : segment.literal}`
    const rest = below ? params['**'] : undefined
    if (rest !== undefined) built += `/${rest}`
    return built === '' ? '/' : built
  }
}
