import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { readErrorPages, runErrorPage } from '../fixtures/error-pages.ts'

const ROOT = findPackageRoot()
const PAGES = readErrorPages()
/** Numbers of error codes that exist for several kinds of files. The code begins with a letter for the kind of file. */
const NUMBERED = /^(?:0\d\d|1[01]\d)$/

/**
 * Codes that a service reports only when it starts, because the checks need secrets or keys. Their pages have no
 * example.
 */
const FOUND_AT_START = ['C301', 'C302', 'C306', 'C315', 'C320', 'C322', 'C350']

/** Returns every error code that the source contains. */
function codesOfTheSource(): ReadonlySet<string> {
  const texts = ['gateway', 'authorization-server', 'policy-engine', 'platform', 'cli', 'oauth'].flatMap(
    (folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => readFileSync(join(ROOT, folder, name), 'utf8')),
  )
  const found = texts.flatMap((text) => [
    ...[...text.matchAll(/'([PCNTO]\d{3})'/g)].map(([, code = '']) => code),
    ...[...text.matchAll(/'(\d{3})'|letter\}(\d{3})`/g)]
      .map(([, number = '', after]) => after ?? number)
      .filter((number) => NUMBERED.test(number))
      .map((number) => `P${number}`),
  ])
  return new Set(found)
}

t.test(
  'every error code in the source has a page and a line in the index, and every page describes an existing code',
  async (t) => {
    const codes = PAGES.map(({ code }) => code)
    const source = codesOfTheSource()
    t.same([...source].filter((code) => !codes.includes(code)).toSorted(), [], 'codes without a page')
    t.same(
      codes.filter((code) => !source.has(code) && !source.has(code.replace(/^C(?=[01])/, 'P'))),
      [],
      'pages without a code',
    )
    const index = readFileSync(join(ROOT, 'docs/errors/README.md'), 'utf8')
    const lines = [...index.matchAll(/^\| \[([A-Z]\d{3})\]\(\1\.md\) \| (.+) \|$/gm)].map(
      ([, code, title]) => [code, title],
    )
    t.same(
      lines,
      PAGES.map(({ code, title }) => [code, title]),
    )
  },
)

for (const page of PAGES.filter(({ code }) => !FOUND_AT_START.includes(code)))
  t.test(
    `the example of ${page.code}.md causes only this error, with the output that the page shows`,
    async (t) => {
      const found = await runErrorPage(page, t.testdir({}))
      t.same([...new Set(found.codes)], [page.code])
      t.equal(found.output, page.output)
    },
  )

const CORRECTED = PAGES.filter(({ correction }) => correction.length > 0)
t.ok(CORRECTED.length > 0)

for (const page of CORRECTED)
  t.test(`the corrected example of ${page.code}.md has no problem`, async (t) => {
    const found = await runErrorPage({ ...page, blocks: page.correction }, t.testdir({}))
    t.same(found.output, '')
  })
