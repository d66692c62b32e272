// Runs several test files in this process, one after the other. Each file gets its own `t`, a subtest of the root test
// of tap. At the end of each file, writes a line with JSON to file descriptor 3.
// scripts/run-tests.js starts this script, and sets TEST_BATCH to the paths of the files, in JSON.
import { writeSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import root from 'tap'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const files = JSON.parse(process.env.TEST_BATCH ?? '[]')
delete process.env.TEST_BATCH // the tests start processes with this environment
const timeout = Number(process.env.TAP_TIMEOUT) * 1_000
root.setTimeout(0) // each file has its own timeout

const urlOf = (file) => pathToFileURL(resolve(ROOT, file)).href
const testUrls = new Set(files.map(urlOf))
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'tap' || !testUrls.has(context.parentURL)) return next(specifier, context)
    const { href } = new URL(`test-of-file.js?${encodeURIComponent(context.parentURL)}`, import.meta.url)
    return { url: href, format: 'module', shortCircuit: true }
  },
})

for (const file of files) {
  const begin = performance.now()
  let ofFile
  const { ok } = await root.test(file, { timeout }, async (t) => {
    ofFile = t
    // The folders of t.testdir() and the captured logs have the same names as in a separate process.
    process.argv[1] = resolve(ROOT, file)
    t.testdirName = resolve(ROOT, '.tap/fixtures', file.replace(/[^\w.-]+/g, '-'))
    globalThis[Symbol.for('scopegate.test-of-file')] = t
    await import(urlOf(file))
  })
  const { pass: passed, fail: failed } = ofFile.counts
  const seconds = (performance.now() - begin) / 1_000
  writeSync(3, `${JSON.stringify({ file, ok, results: ofFile.count, passed, failed, seconds })}\n`)
}
