/** Limits on the pages of other origins that may call a route from a browser. undefined: no limit. */
export type CorsRule = {
  readonly origins?: readonly string[]
  /** GET includes HEAD. */
  readonly methods?: readonly string[]
  /** Names of request headers in lower case. */
  readonly headers?: readonly string[]
}

export function allowsMethod(rule: CorsRule | undefined, method: string): boolean {
  const methods = rule?.methods
  return methods === undefined || methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
}

/** Returns whether a page of `origin` may call the route with `method`. */
export function allowsOrigin(
  rule: CorsRule | undefined,
  origin: string | undefined,
  method: string,
): boolean {
  const origins = rule?.origins
  return (
    (origins === undefined || (origin !== undefined && origins.includes(origin))) &&
    allowsMethod(rule, method)
  )
}

/** Returns whether a page may set a request header. `name` is in lower case. */
export function allowsHeader(rule: CorsRule | undefined, name: string): boolean {
  return rule?.headers === undefined || rule.headers.includes(name)
}
