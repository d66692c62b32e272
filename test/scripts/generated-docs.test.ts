import t from 'tap'
import { generatedPages, renderPage } from '../../scripts/generated-docs.ts'

for (const page of generatedPages())
  t.test(`${page.file} agrees with the code (npm run docs updates it)`, (t) => {
    const { is, shouldBe } = renderPage(page)
    t.equal(is, shouldBe)
    t.end()
  })

t.test('renderPage() throws when a page has no markers for a part', (t) => {
  t.throws(() => renderPage({ file: 'docs/policies.md', parts: { 'keys of nothing': '' } }), {
    message: /no generator writes|no markers for/,
  })
  t.end()
})
