import { parsePathTemplate } from '../match/path-template.ts'

/** Builds the path that an upstream is asked for from what a request's path held. */
export type Rewrite = (params: Readonly<Record<string, string>>) => string

/**
 * Compiles the path of a policy's `rewrite`. Parameters are put in as they stand in the canonical path, never decoded;
 * `**` is what the route's own `**` met, down to a trailing slash.
 * @throws {Error} on a malformed template: `loadPolicies` finds that before, with its place.
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
