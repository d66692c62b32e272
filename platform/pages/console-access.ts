import { type ConsolePage, formTokenField } from './console-page.ts'
import type { ConsoleSession, ConsoleSessions } from './console-sessions.ts'
import { type Html, html } from './html.ts'

/** How operators sign in to a console. */
export type ConsoleAccess = {
  /** Undefined: the configuration has no credential, so all private pages are closed. */
  readonly sessions: ConsoleSessions | undefined
  /** The setting of the credential, for the text of closed pages. */
  readonly setting: string
}

export const SIGN_IN_PATH = '/console/sign-in'
export const SIGN_OUT_PATH = '/console/sign-out'

/** Renders the form with which an operator signs out, or the link to the sign-in. */
export function accessLink(
  { sessions }: ConsoleAccess,
  session: ConsoleSession | undefined,
): Html | undefined {
  if (sessions === undefined) return undefined
  return session === undefined
    ? html`<p class="access"><a href="${SIGN_IN_PATH}">Sign in</a></p>`
    : html`<form class="access" action="${SIGN_OUT_PATH}" method="post">${formTokenField(session)}<button class="quiet" type="submit">Sign out</button></form>`
}

/** @param next path of the page after the sign-in. */
export function signInForm(next: string, fault: string | undefined): Html {
  return html`${fault !== undefined && html`<p class="wrong" role="alert">${fault}</p>`}
<form class="sign-in" action="${SIGN_IN_PATH}" method="post">
<input type="hidden" name="next" value="${next}">
<input type="text" name="username" value="operator" autocomplete="username" hidden>
<p><label for="token">Admin token</label><input type="password" id="token" name="token" required maxlength="1024" autocomplete="current-password" spellcheck="false"></p>
<p><button type="submit">Sign in</button></p>
</form>`
}

/** Returns a path of a page of this console, because other programs can also send `next`. Default: `/`. */
export function readNextPath(next: string, pages: readonly ConsolePage[]): string {
  const base = 'http://console.invalid'
  if (!URL.canParse(next, base)) return '/'
  const { origin, pathname, search } = new URL(next, base)
  return origin === base && pages.some(({ path }) => path === pathname) ? pathname + search : '/'
}
