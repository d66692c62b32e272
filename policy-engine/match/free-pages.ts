import { matchesTemplate } from './path-template.ts'

export const REFERENCE_PATH = '/docs'
export const SIGNED_IN_PATH = '/docs/signed-in'
export const ERRORS_PATH = '/docs/errors'
export const LLMS_PATH = '/llms.txt'
export const ERROR_TEMPLATE = '/docs/errors/{code}'

const ERROR_PATH = `${ERRORS_PATH}/x`
/** One path for each page of the reference and for each redirect. `x` represents all error codes. */
const REFERENCE_PATHS = [
  SIGNED_IN_PATH,
  ...[REFERENCE_PATH, ERRORS_PATH, ERROR_PATH].flatMap((page) => [page, `${page}/`]),
]
/** Matches the templates that can match a page. Most templates of a policy do not match. */
const MAY_MATCH = /^\/(?:docs(?:\/|$)|llms\.txt(?:\/|$)|\{|\*\*$)/

export type FreePages = { readonly reference: boolean; readonly llms: boolean }

export const NO_PAGES: FreePages = Object.freeze({ reference: false, llms: false })

/**
 * Returns which pages policies leave to the gateway. The pages are not reserved paths: a policy that matches one of the
 * paths of the reference replaces the whole reference, so that no page refers to a path of an upstream.
 */
export function findFreePages(templates: Iterable<string>): FreePages {
  let reference = true
  let llms = true
  for (const template of templates) {
    if (!MAY_MATCH.test(template)) continue
    reference &&= !REFERENCE_PATHS.some((path) => matchesTemplate(path, template))
    llms &&= !matchesTemplate(LLMS_PATH, template)
  }
  return { reference, llms }
}

/** Matches the paths of the pages and of their redirects. Only redirects end with a slash. */
const PAGE = /^\/(?:docs(?:\/|\/signed-in|\/errors(?:\/[^/]+)?\/?)?|llms\.txt)$/

/** Returns whether the gateway can serve or redirect to a page at a canonical path that no route of a policy matches. */
export function isPagePath(path: string): boolean {
  return PAGE.test(path)
}

/** Returns whether policies leave the page or the redirect at a canonical path to the gateway. */
export function isFreePage(path: string, { reference, llms }: FreePages): boolean {
  return isPagePath(path) && (path === LLMS_PATH ? llms : reference)
}
