import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { createPageAudit, type PageAudit, SCHEMES } from '../../../fixtures/audit-page.ts'
import { recordPageFaults } from '../../../fixtures/page-faults.ts'
import { shrinkPng } from '../../../fixtures/shrink-png.ts'
import { chrome, tab } from './browser.ts'
import { createVisit, PAGE_STATES, type PageState } from './page-states.ts'

const IMAGES = join(findPackageRoot(), 'docs', 'images')
const MAX_IMAGE_BYTES = 60_000

const german = await chrome.newContext({ javaScriptEnabled: false, locale: 'de' })
t.teardown(() => german.close())

const visits = await Promise.all(
  (
    [
      { page: tab, locale: 'en' },
      { page: await german.newPage(), locale: 'de' },
    ] as const
  ).map(async ({ page, locale }) => {
    const faults = recordPageFaults(page.context())
    return { faults, visit: createVisit(page, locale), audit: await createPageAudit(page) }
  }),
)

for (const state of PAGE_STATES)
  t.test(
    `${state.name}: accessible in each language, color scheme and window, and by keyboard`,
    async (t) => {
      for (const { audit, faults, visit } of visits) {
        const { locale, page } = visit
        if (state.keepsCookies !== true) await page.context().clearCookies()
        faults.length = 0
        await state.open(visit)
        const [key, values] = typeof state.heading === 'string' ? [state.heading] : state.heading
        await page.getByRole('heading', { level: 1, name: visit.say(key, values), exact: true }).waitFor()
        t.same(await audit.findFaults(locale), [], `${locale}: in each color scheme and window`)
        if (locale === 'en') {
          await checkPictures(t, state, audit) // before a control has the ring of the keyboard
          t.same(await audit.findKeyboardFaults(), [], 'by keyboard')
        }
        const unexpected = faults.filter((fault) => !/status of [45]\d\d/.test(fault))
        t.same(unexpected, [], `${locale}: faults: ${unexpected.join('; ') || 'none'}`)
        await state.check?.(t, visit, audit)
      }
    },
  )

/** Checks the pictures of a state in docs/images/. With the environment variable DOCS_IMAGES, takes them first. */
async function checkPictures(t: Test, { picture }: PageState, audit: PageAudit): Promise<void> {
  if (picture === undefined) return
  for (const scheme of SCHEMES) {
    const file = join(IMAGES, `${picture}-${scheme}.png`)
    if (process.env['DOCS_IMAGES'] !== undefined) {
      mkdirSync(IMAGES, { recursive: true })
      writeFileSync(file, shrinkPng(await audit.takePicture(scheme)))
    }
    t.ok(
      existsSync(file) && statSync(file).size <= MAX_IMAGE_BYTES,
      `${picture}-${scheme}.png exists and is small`,
    )
  }
}
