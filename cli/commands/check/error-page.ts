import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPackageRoot } from '../../../platform/process/package-root.ts'

/** Where the page of a code is, in the repository and in the installed package. */
export function errorPageAddress(code: string): string {
  return `docs/errors/${code}.md`
}

/** The page of a code; undefined when there is none, as in an image without documentation. */
export function readErrorPage(code: string): { readonly title: string; readonly text: string } | undefined {
  if (!/^[A-Z]\d{3}$/.test(code)) return undefined
  const file = join(findPackageRoot(), errorPageAddress(code))
  if (!existsSync(file)) return undefined
  const text = readFileSync(file, 'utf8')
  return { title: /^# \w+: (.+)$/m.exec(text)?.[1] ?? code, text }
}
