import { execFileSync } from 'node:child_process'
import t from 'tap'
import { splitWords } from '../../../../cli/commands/playground/split-words.ts'

t.test('splits a command line as the shell does', async (t) => {
  for (const text of [
    'GET /api/courses',
    '  GET\t/a\n',
    'GET \\\n /a',
    `--claim 'a=b c'`,
    `--claim a="b \\"c\\" \\\\ \\d"`,
    `a'b c'"d e"f`,
    `''`,
    `a "" b`,
    'a\\ b',
  ]) {
    const expected = execFileSync('sh', ['-c', `printf '%s\\0' ${text.trim()}`], { encoding: 'utf8' })
    t.same(splitWords(text), { words: expected.split('\0').slice(0, -1) }, text)
  }
  t.same(splitWords(' \n'), { words: [] })
})

t.test('reports a quotation mark without a partner', async (t) => {
  for (const text of [`a 'b`, `a "b`, `"a\\"`]) t.match(splitWords(text), { wrong: /has no partner/ }, text)
})
