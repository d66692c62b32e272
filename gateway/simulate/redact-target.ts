/**
 * Replaces the value of each `access_token` in the query of a request target, so that no output contains a token. Finds
 * each spelling of the name that the gateway rejects.
 */
export function redactTarget(target: string): string {
  const start = target.indexOf('?')
  if (start === -1) return target
  const query = target
    .slice(start + 1)
    .split('&')
    .map(redactParameter)
  return `${target.slice(0, start)}?${query.join('&')}`
}

function redactParameter(parameter: string): string {
  return new URLSearchParams(parameter).has('access_token') ? 'access_token=[cut]' : parameter
}
