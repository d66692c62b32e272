import { BootError } from '../../../platform/diagnostics/boot-error.ts'

const MAX_STEPS = 12
const TIMEOUT_MS = 10_000

/**
 * Signs in at the pages of a development server, and allows the requested scopes. Works without JavaScript.
 * @returns the parameters of the redirect to the client.
 * @throws {BootError} if the account does not exist, or the pages are unknown.
 */
export async function openPages(
  start: URL,
  account: { readonly username: string; readonly password: string },
): Promise<URLSearchParams> {
  const cookies = new Map<string, string>()
  let url = start
  let form: URLSearchParams | undefined
  let hasSignedIn = false
  for (let step = 0; step < MAX_STEPS; step++) {
    const response = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { body: form }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=;]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const html = await response.text()
    const location = response.headers.get('location')
    if (location !== null) {
      url = new URL(location, url)
      if (url.origin !== start.origin) return url.searchParams
      form = undefined
      continue
    }
    const consent = readForm(html, '/consent')
    const next = consent ?? readForm(html, '/sign-in')
    if (next === undefined)
      throw failed(
        `${url.pathname} responded with ${response.status} and a page without a sign-in or consent form`,
      )
    form = next.fields
    if (consent === undefined) {
      if (hasSignedIn)
        throw failed(
          `the server rejects the sign-in of ${account.username}: it is not a development server, or it limits sign-in attempts`,
        )
      hasSignedIn = true
      form.set('username', account.username)
      form.set('password', account.password)
    }
    url = new URL(next.action, url)
  }
  throw failed('the sign-in has too many pages')
}

/**
 * Finds the form that posts to a path with this ending. Returns the hidden fields of the form, and every checkbox as
 * checked.
 */
function readForm(
  html: string,
  ending: string,
): { readonly action: string; readonly fields: URLSearchParams } | undefined {
  for (const [, action = '', inner = ''] of html.matchAll(
    /<form method="post" action="([^"]*)"[^>]*>(.*?)<\/form>/gs,
  )) {
    if (!action.endsWith(ending)) continue
    const fields = new URLSearchParams()
    for (const [input] of inner.matchAll(/<input [^>]*>/g)) {
      const [, name] = / name="([^"]*)"/.exec(input) ?? []
      if (name !== undefined && / type="(?:hidden|checkbox)"/.test(input))
        fields.set(name, / value="([^"]*)"/.exec(input)?.[1] ?? '')
    }
    return { action, fields }
  }
  return undefined
}

function failed(text: string): BootError {
  return new BootError('ERR_TOKEN', `scopegate token: the authorization server returned no token: ${text}`)
}
