import { matchesTemplate } from '../../policy-engine/match/path-template.ts'
import { ERRORS_PATH } from './error-pages.ts'
import { REFERENCE_PATH, SIGNED_IN_PATH } from './reference-page.ts'

export const LLMS_PATH = '/llms.txt'
export const ERROR_TEMPLATE = '/docs/errors/{code}'

/** One path for each page of the reference. The last path represents the pages of all error codes. */
const REFERENCE_PATHS = [REFERENCE_PATH, SIGNED_IN_PATH, ERRORS_PATH, `${ERRORS_PATH}/x`]
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
