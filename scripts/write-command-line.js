// Writes the part of docs/command-line.md that lists verbs anew; a test says when it is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatReference } from '../cli/format-reference.ts'
import { VERBS } from '../cli/verbs.ts'

const FILE = join(dirname(fileURLToPath(import.meta.url)), '..', 'docs', 'command-line.md')
const PART = /(?<=<!-- verbs: written by npm run docs:verbs -->\n\n).*(?=\n\n<!-- end of verbs -->)/s
writeFileSync(
  FILE,
  readFileSync(FILE, 'utf8').replace(PART, () => formatReference(VERBS)),
)
