import { type Html, html } from './html.ts'

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
  /** Targets of forms on the page. Default: none. */
  readonly formTargets?: readonly string[]
  /** Returns the data of the page, which JSON can represent. undefined: the response is 404. */
  data(query: URLSearchParams): D | undefined | Promise<D | undefined>
  /** Returns the content of `main` below the `h1`. */
  render(data: D, query: URLSearchParams): Html
  /** Returns the `h1`. Default: `title`. */
  heading?(data: D): string
  /**
   * Called when somebody opens the page with live updates. The returned function is called at the end of these updates.
   * Use this function to record data only while a page shows this data.
   */
  watch?(): () => void
}

/** Marks a part of a page that the page replaces while it is open. The name is unique in the page. */
export function live(name: string, content: Html): Html {
  return html`<div data-live="${name}">${content}</div>`
}
