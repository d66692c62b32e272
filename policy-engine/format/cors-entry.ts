import type { Static } from 'typebox'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { open } from './common-schemas.ts'
import { HeaderName } from './header-schemas.ts'

/**
 * `*`, or an origin as browsers serialize it: in lower case, without a default port, and without a path or a slash at
 * the end. Source: HTML, origin.
 */
const ORIGIN =
  '^(?!http://[^/]*:80$|https://[^/]*:443$)(?:\\*|[a-z][a-z0-9+.-]*://(?:[a-z0-9_-]+(?:\\.[a-z0-9_-]+)*|\\[[0-9a-f:.]+\\])(?::[1-9][0-9]{0,4})?)$'

/** Schema of the `cors` of a route, of defaults or of a preset. */
export const CorsEntry = Type.Object(
  {
    origins: Type.Optional(
      Type.Array(
        Type.String({
          description: 'An origin such as https://app.example.com, or "*" for all origins.',
          pattern: ORIGIN,
          maxLength: 256,
          'x-is': 'an origin as browsers send it, such as https://app.example.com',
        }),
        {
          description:
            'The origins whose pages may call the route. Default: all. An empty list allows no page of another origin.',
          uniqueItems: true,
          maxItems: 64,
        },
      ),
    ),
    methods: Type.Optional(
      Type.Array(
        Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], {
          description: 'An HTTP method.',
        }),
        {
          description:
            'The methods that pages may use. Default: all methods of the route. GET includes HEAD.',
          uniqueItems: true,
        },
      ),
    ),
    headers: Type.Optional(
      Type.Array(HeaderName, {
        description: 'The request headers that pages may set. Default: all headers that a browser asks for.',
        uniqueItems: true,
        maxItems: 64,
      }),
    ),
  },
  {
    ...open,
    minProperties: 1,
    description:
      'Which pages of other origins may call the route from a browser. By default, every page may call the route: only a token authorizes a request, never a cookie. This key replaces cors of the defaults and of the preset as a whole.',
  },
)

export type CorsEntry = Static<typeof CorsEntry>

/** Explains why a text is not an origin, with a hint for its correction. Source: HTML, serialization of an origin. */
export function explainOrigin(value: string): { readonly message: string; readonly hint?: string } {
  if (value === 'null')
    return {
      message: '"null" is the origin of sandboxed pages and local files, so any page can have it',
      hint: 'name the origin of a page',
    }
  if (value.includes('*'))
    return {
      message: `${JSON.stringify(value)} is not an origin: origins have no wildcards`,
      hint: 'name each origin, or write "*" alone for all origins',
    }
  const url = URL.parse(value.includes('://') ? value : `https://${value}`)
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  const hint = isWeb && url.origin !== value ? { hint: `write ${url.origin}` } : {}
  const text = JSON.stringify(value)
  if (url === null || !isWeb) return { message: `${text} is not an origin, such as https://app.example.com` }
  if (!value.includes('://')) return { message: `${text} is not an origin: it has no scheme`, ...hint }
  if (/^[^:]+:\/\/[^/?#]*[/?#]/.test(value))
    return { message: `${text} is not an origin: an origin ends after the host and the port`, ...hint }
  return { message: `${text} is not an origin as browsers send it`, ...hint }
}
