import type { ConsoleSession } from './console-sessions.ts'
import { type Html, html } from './html.ts'
import type { Form } from './read-form.ts'

/**
 * A page of a console. The page is read-only. `?format=json` returns `data` as JSON, and `?format=events` is the event
 * stream with which an open page updates its parts (see {@link live}).
 */
export type ConsolePage<D = unknown> = {
  /** `/` for the first page. The other paths begin with `/console/`. */
  readonly path: string
  /** Text of the link in the navigation, of the `h1` and of the window title. */
  readonly title: string
  /** The page whose link in the navigation is marked. Default: the page itself, which then has a link. */
  readonly parent?: string
  /** True: an open page does not update its content. */
  readonly isStatic?: true
  /** True: only signed-in operators can see the page. The page is then static too. */
  readonly isPrivate?: true
  /** Targets of forms on the page. Default: none. */
  readonly formTargets?: readonly string[]
  /** Returns the data of the page, which JSON can represent. undefined: the response is 404. */
  data(query: URLSearchParams): D | undefined | Promise<D | undefined>
  /**
   * Returns the content of `main` below the `h1`.
   * @param session undefined if nobody is signed in. Never undefined for a private page.
   */
  render(data: D, query: URLSearchParams, session?: ConsoleSession): Html
  /** Returns the `h1`. Default: `title`. */
  heading?(data: D): string
  /**
   * Called when a browser opens the page with live updates. The returned function is called at the end of these updates.
   * Use this function to record data only while a page shows this data.
   */
  watch?(): () => void
}

/** A form on a private page that changes state. The form has a field with the token of {@link formTokenField}. */
export type ConsoleForm = {
  /** Target of the form. Begins with `/console/`. */
  readonly path: string
  /** @returns the path of the next page, and a text on this page. */
  submit(
    form: Form,
    session: ConsoleSession,
    request: { readonly clientAddress: string },
  ): Promise<{ readonly location: string; readonly notice: string }>
}

/** Name of the field with the form token. */
export const FORM_TOKEN = 'form_token'

/** The hidden field with which a form proves that it came from a page of the session. */
export function formTokenField({ formToken }: ConsoleSession): Html {
  return html`<input type="hidden" name="${FORM_TOKEN}" value="${formToken}">`
}

/** Marks a part of a page that the page replaces while it is open. The name is unique in the page. */
export function live(name: string, content: Html): Html {
  return html`<div data-live="${name}">${content}</div>`
}
