import { parse } from 'yaml'

/** Characters of a plain text. All other texts are quoted, so that readers need not know the rules of YAML. */
const PLAIN = /^[\w/.$()+~^;][^\n\t"'{}[\]#&*!|>%@`\\]*\*{0,2}$/u

/** Formats a scalar on one line: plain where it is safe everywhere, else in double quotes. */
export function writeScalar(data: unknown, source: string, place: 'block' | 'flow' | 'key'): string {
  if (typeof data === 'string') return isPlain(data, place) ? data : quote(data)
  if (typeof data === 'number') return source
  return data === null || data === undefined ? 'null' : String(data)
}

/** Formats a multi-line text as a literal block. Undefined when parsing the block would change the text. */
export function writeLiteral(data: string, indent: string): readonly string[] | undefined {
  if (!/^[^\s][^\r\t]*\n/u.test(data) || /[^\P{C}\n]|[ ](\n|$)|\n\n+$/u.test(data)) return undefined
  const body = data.replace(/\n$/, '').split('\n')
  const lines = body.map((line) => (line === '' ? '' : `${indent}${line}`))
  return [data.endsWith('\n') ? '|' : '|-', ...lines]
}

function isPlain(text: string, place: 'block' | 'flow' | 'key'): boolean {
  if (!PLAIN.test(text) || /: |:$| $/.test(text) || /[\p{C}\u2028\u2029]/u.test(text)) return false
  if (place !== 'block' && text.includes(',')) return false
  if (place === 'key' && /[?]/.test(text)) return false
  return parse(text, { version: '1.2', schema: 'core', logLevel: 'silent' }) === text
}

function quote(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ud800-\udfff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
