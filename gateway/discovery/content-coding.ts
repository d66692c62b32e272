import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Representation } from './discovery-document.ts'

/** Content codings of documents, the preferred coding first. */
const CODINGS = ['br', 'gzip'] as const
type Coding = (typeof CODINGS)[number]

/** Compression saves few bytes of a smaller document. The response then fits into one packet without compression. */
const MIN_BYTES = 1024
/** Higher levels of Brotli take several times as long, and save a few percent (docs/decisions/0093). */
const BROTLI_QUALITY = 9
const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i

const compressions: Readonly<Record<Coding, (body: string) => Promise<Buffer>>> = {
  br: (body) =>
    promisify(brotliCompress)(body, {
      params: {
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: Buffer.byteLength(body),
      },
    }),
  gzip: (body) => promisify(gzip)(body, { level: constants.Z_BEST_COMPRESSION }),
}

/** A document in one content coding. The entity tag exists before the content is compressed. */
export type CodedDocument = {
  readonly etag: string
  /** Headers of a 304 response. Names and values alternate. */
  readonly headers: readonly string[]
  /**
   * Compresses the content on the first call, outside of the event loop. Later calls return the same content. Never
   * rejects: if the compression fails, the content has no coding.
   */
  readonly content: () => CodedContent | Promise<CodedContent>
}

/** `headers` includes the headers of the content. */
export type CodedContent = { readonly headers: readonly string[]; readonly body: string | Buffer }

type Variants = Readonly<Record<Coding | 'identity', CodedDocument>>

/** The variants live as long as their document. */
const variantsOf = new WeakMap<Representation, Variants>()

/**
 * Returns the variant of a document to send. If the client accepts no variant, the result has no content coding.
 * RFC 9110 section 12.4.1 permits this result.
 * @param acceptEncoding the header of the request.
 */
export function chooseVariant(document: Representation, acceptEncoding: string | undefined): CodedDocument {
  let variants = variantsOf.get(document)
  if (variants === undefined) {
    variants = createVariants(document)
    variantsOf.set(document, variants)
  }
  return variants[acceptEncoding === undefined ? 'identity' : chooseCoding(acceptEncoding)]
}

function createVariants({ headers, body, etag }: Representation): Variants {
  const isCompressed = Buffer.byteLength(body) >= MIN_BYTES
  const common = isCompressed ? withVary(headers) : headers
  const identity = variant(common, etag, body)
  if (!isCompressed) return { identity, br: identity, gzip: identity }
  const coded = (coding: Coding): CodedDocument => {
    const codedTag = `${etag.slice(0, -1)}-${coding}"`
    const base = replaceHeader(common, 'etag', codedTag)
    let content: CodedContent | Promise<CodedContent> | undefined
    return {
      ...variant(base, codedTag, body),
      content() {
        content ??= compressions[coding](body).then(
          (bytes) => {
            const length = replaceHeader(base, 'content-length', String(bytes.length))
            content = { headers: [...length, 'content-encoding', coding], body: bytes }
            return content
          },
          () => {
            content = undefined
            return identity.content()
          },
        )
        return content
      },
    }
  }
  return { identity, br: coded('br'), gzip: coded('gzip') }
}

function variant(headers: readonly string[], etag: string, body: string): CodedDocument {
  const content = { headers, body }
  return {
    etag,
    headers: headers.filter((_, at) => !headers[at - (at % 2)]?.startsWith('content-')),
    content: () => content,
  }
}

function withVary(headers: readonly string[]): readonly string[] {
  const at = headers.indexOf('vary')
  return at === -1
    ? [...headers, 'vary', 'accept-encoding']
    : replaceHeader(headers, 'vary', `${headers[at + 1]}, accept-encoding`)
}

function replaceHeader(headers: readonly string[], name: string, value: string): readonly string[] {
  return headers.map((part, at) => (at % 2 === 1 && headers[at - 1] === name ? value : part))
}

/**
 * Returns the coding with the highest weight. A member with an invalid weight is ignored. A coding without a member has
 * the weight of `*`. `identity` without both is acceptable, but has the lowest weight.
 */
function chooseCoding(acceptEncoding: string): Coding | 'identity' {
  const weights = readWeights(acceptEncoding)
  const others = weights.get('*')
  let best: Coding | 'identity' = 'identity'
  let bestWeight = weights.get('identity') ?? 0
  for (const coding of CODINGS.toReversed()) {
    const weight = weights.get(coding) ?? others ?? 0
    if (weight > 0 && weight >= bestWeight) {
      best = coding
      bestWeight = weight
    }
  }
  return best
}

function readWeights(acceptEncoding: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const member of acceptEncoding.split(',')) {
    const [name = '', ...parameters] = member.split(';').map((part) => part.trim())
    const weight = parameters.length === 0 ? '1' : WEIGHT.exec(parameters[0] as string)?.[1]
    if (weight === undefined || parameters.length > 1) continue
    // RFC 9110 section 8.4.1.3.
    const coding = name.toLowerCase().replace(/^x-gzip$/, 'gzip')
    // A repeated coding has its lowest weight.
    weights.set(coding, Math.min(Number(weight), weights.get(coding) ?? 1))
  }
  return weights
}
