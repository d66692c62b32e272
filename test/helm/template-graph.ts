import { basename } from 'node:path'
import { readTemplates } from './template-mutants.ts'

/** A template file, or one named template of a file with the suffix `.tpl`. */
type Part = {
  readonly file: string
  readonly firstLine: number
  readonly text: string
  /** The strings that other templates contain if they use this part. */
  readonly names: readonly string[]
}

/**
 * Reads which templates use which other templates. A template uses another template if it contains the name of this
 * template, or of its file, in quotation marks.
 * @returns a function that takes a line and returns the files of which the line can change the output, and the files
 * that these files use.
 */
export function readTemplateGraph(chart: string): (file: string, line: number) => readonly string[] {
  const parts = readTemplates(chart).flatMap(({ file, template }) => divide(file, template))
  const usedBy = ({ text }: Part) => parts.filter(({ names }) => names.some((name) => text.includes(name)))
  const needs = parts.map((part) => ({ part, needed: findReachable(part, usedBy) }))
  return (file, line) => {
    const changed = parts.findLast((part) => part.file === file && part.firstLine <= line)
    const affected = needs.filter(({ needed }) => changed !== undefined && needed.has(changed))
    const files = affected.flatMap(({ needed }) => [...needed].map((one) => one.file))
    return [...new Set(files)].filter((one) => one.endsWith('.yaml'))
  }
}

/** Divides a file with the suffix `.tpl` before each named template. All other files are one part. */
function divide(file: string, template: string): readonly Part[] {
  const isLibrary = file.endsWith('.tpl')
  let firstLine = 1
  return (isLibrary ? template.split(/^(?=\{\{- define )/m) : [template]).map((text) => {
    const names = [...text.matchAll(/\{\{-? define ("[^"]+")/g)].map(([, name = '']) => name)
    if (!isLibrary) names.push(`"${basename(file, '.yaml')}"`, `"/${file}"`)
    const part = { file, firstLine, text, names }
    firstLine += text.split('\n').length - 1
    return part
  })
}

/** Returns `start`, and all items that `next` reaches from there. */
function findReachable<T>(start: T, next: (item: T) => readonly T[]): ReadonlySet<T> {
  const found = new Set([start])
  for (const item of found) for (const one of next(item)) found.add(one)
  return found
}
