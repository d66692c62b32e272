import { type PathTemplate, readPathTemplate } from './path-template.ts'

/**
 * Number of times that an upstream may decode a path. The second time covers upstreams behind a proxy that decodes too.
 */
const DECODINGS = 2
/** Characters at which some servers end a segment: path parameters, and encoded delimiters. */
const SEGMENT_END = /[;?#\0]/
/** Servers interpret a path without these characters in only one way, apart from upper and lower case. */
const SEVERAL_READINGS = /[%;]|\.(?:\/|$)/
/** Represents a parameter in the text of a template. Canonical paths cannot contain this character. */
const PARAMETER = '\u0001'

/** Options for comparisons with prefixes. */
export type FoldOptions = {
  /** Whether `/api/billing.json` counts as `/api/billing`. Some frameworks read the suffix as a format. */
  readonly suffixes: boolean
}

/**
 * Returns the segments of a path as tolerant upstreams can read them. Such an upstream ignores case, path parameters
 * (`;x`), dots and spaces at the end of a segment, and empty segments. It decodes percent-encoding once or twice, and
 * then resolves dot segments.
 * @returns one list of segments for each number of decodings. The last list is completely decoded.
 */
export function readingsOf(path: string): readonly (readonly string[])[] {
  const readings = [foldedSegments(path)]
  let decoded = path
  while (readings.length <= DECODINGS && decoded.includes('%')) {
    decoded = decodeOnce(decoded)
    readings.push(foldedSegments(decoded))
  }
  return readings
}

/** Returns the folded and decoded segments of a path prefix. `/` has no segments. */
export function foldedPrefix(prefix: string): readonly string[] {
  return readingsOf(prefix).at(-1) ?? []
}

function foldedSegments(path: string): readonly string[] {
  const segments: string[] = []
  for (const part of path.split(/[/\\]/)) {
    const end = part.search(SEGMENT_END)
    const own = end === -1 ? part : part.slice(0, end)
    if (own === '..') segments.pop()
    else if (trimmed(own) !== '') segments.push(foldCase(trimmed(own)))
  }
  return segments
}

/** Removes dots and spaces at the end. A regular expression would need quadratic time for many dots. */
function trimmed(segment: string): string {
  let end = segment.length
  while (end > 0 && (segment[end - 1] === '.' || segment[end - 1] === ' ')) end -= 1
  return segment.slice(0, end)
}

/** Folds upper and lower case. The conversion to upper case also makes letters such as U+017F and `s` equal. */
function foldCase(segment: string): string {
  return segment.normalize('NFKC').toUpperCase().toLowerCase()
}

/** Decodes percent-encoding. Never throws, because tolerant upstreams accept invalid UTF-8. */
function decodeOnce(path: string): string {
  return path.replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) =>
    Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'),
  )
}

/**
 * Returns whether paths of a template lie at or below a prefix, for at least one reading of a tolerant upstream.
 * @param template readings of a template: `templateReadings()`.
 * @param prefix the result of `foldedPrefix()`.
 */
export function foldedRelation(
  { readings, below }: TemplateReadings,
  prefix: readonly string[],
  { suffixes }: FoldOptions,
): 'always' | 'sometimes' | 'never' {
  let strongest: 'sometimes' | 'never' = 'never'
  for (const segments of readings) {
    const relation = relationOf(segments, below, prefix, suffixes)
    if (relation === 'always') return relation
    if (relation === 'sometimes') strongest = relation
  }
  return strongest
}

export type TemplateReadings = {
  readonly readings: readonly (readonly string[])[]
  readonly below: boolean
}

export function templateReadings(template: PathTemplate | string): TemplateReadings {
  const { segments, below } = typeof template === 'string' ? readPathTemplate(template) : template
  const path = segments.map((one) => `/${'parameter' in one ? PARAMETER : one.literal}`).join('')
  return { readings: readingsOf(path), below }
}

/**
 * Compares one reading of a template with a prefix. A parameter matches one segment or none, because tolerant upstreams
 * drop segments such as `;x` and `%20`.
 */
function relationOf(
  segments: readonly string[],
  below: boolean,
  prefix: readonly string[],
  suffixes: boolean,
): 'always' | 'sometimes' | 'never' {
  let sure = true
  // Possible numbers of prefix segments that the template matches so far.
  let matched: readonly number[] = [0]
  for (const own of segments) {
    if (matched.includes(prefix.length)) break
    if (own === PARAMETER) {
      sure = false
      matched = [...new Set(matched.flatMap((count) => [count, count + 1]))]
    } else
      matched = matched
        .filter((count) => isSame(own, prefix[count], suffixes && count === prefix.length - 1))
        .map((count) => count + 1)
  }
  if (matched.includes(prefix.length)) return sure ? 'always' : 'sometimes'
  return below && matched.length > 0 ? 'sometimes' : 'never'
}

/** Returns whether the segments of a path begin with a prefix. */
function isAtOrBelow(segments: readonly string[], prefix: readonly string[], suffixes: boolean): boolean {
  return prefix.every((literal, at) => {
    const own = segments[at]
    return own !== undefined && isSame(own, literal, suffixes && at === prefix.length - 1)
  })
}

function isSame(segment: string, literal: string | undefined, suffixes: boolean): boolean {
  return segment === literal || (suffixes && segment.startsWith(`${literal}.`))
}

/**
 * Returns a function that checks a canonical path. The function returns true if a tolerant upstream can read the path
 * as one of the prefixes, or as a path below a prefix. A path without unusual characters needs only one comparison for
 * each prefix.
 */
export function isBelowAnyFolded(
  prefixes: readonly string[],
  { suffixes }: FoldOptions,
): (path: string) => boolean {
  const folded = prefixes.map(foldedPrefix)
  const plain = folded.map((segments) => `/${segments.join('/')}`)
  const ends = suffixes ? './' : '/'
  const isBelow = (path: string): boolean =>
    plain.some(
      (prefix) =>
        prefix === '/' ||
        (path.startsWith(prefix) &&
          (path.length === prefix.length || ends.includes(path[prefix.length] ?? ''))),
    )
  return (path) =>
    SEVERAL_READINGS.test(path)
      ? readingsOf(path).some((segments) => folded.some((prefix) => isAtOrBelow(segments, prefix, suffixes)))
      : isBelow(path.toLowerCase())
}
