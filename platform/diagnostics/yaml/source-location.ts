import type { SourceLocation } from '../diagnostic.ts'
import type { YamlRange } from './yaml-locations.ts'

type Found = Pick<SourceLocation, 'line' | 'column' | 'length' | 'text'>

const MAX_LINE = 10_000 // UTF-16 code units; a longer line, such as JSON without line breaks, is not shown

/**
 * Creates a function that converts ranges of a text into source locations. Lines end with LF or CRLF. Columns count
 * characters, not UTF-16 code units. The first access computes a location, because a check creates many locations and
 * prints few locations.
 */
export function createLocationFinder(
  text: string,
  file: string,
): (range: YamlRange | (() => YamlRange)) => SourceLocation {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (range) => {
    let found: Found | undefined
    // The range is released after the first access, because it holds a reference to the whole document.
    let wanted: typeof range | undefined = range
    const look = (): Found => {
      if (wanted !== undefined) found = find(text, starts, typeof wanted === 'function' ? wanted() : wanted)
      wanted = undefined
      return found as Found
    }
    return {
      file,
      get line() {
        return look().line
      },
      get column() {
        return look().column
      },
      get length() {
        return look().length
      },
      get text() {
        return look().text
      },
    }
  }
}

function find(text: string, starts: readonly number[], [start, end]: YamlRange): Found {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] ?? 0) <= start) low = middle
    else high = middle - 1
  }
  const lineStart = starts[low] ?? 0
  const line = text.slice(lineStart, (starts[low + 1] ?? text.length + 1) - 1).replace(/\r$/, '')
  const column = countCharacters(line.slice(0, start - lineStart)) + 1
  const length = countCharacters(line.slice(start - lineStart, end - lineStart))
  const shown = line.length > MAX_LINE ? undefined : line
  return { line: low + 1, column, length: Math.max(1, length), text: shown }
}

function countCharacters(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0)
}
