import t from 'tap'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import { reportBootError } from '../../../platform/process/report-boot-error.ts'

t.test(
  'reportBootError() prints a BootError without its stack, and other errors with their stack',
  async (t) => {
    const report = (error: unknown) => {
      let text = ''
      const code = reportBootError(error, { write: (part) => (text += part) })
      return { code, text }
    }
    t.strictSame(report(new BootError('ERR_X', 'a message', { exitCode: 3 })), {
      code: 3,
      text: 'a message\n',
    })
    t.strictSame(report(new BootError('ERR_X', 'a message')), { code: 1, text: 'a message\n' })
    const defect = new TypeError('made up')
    const head = 'scopegate: an unexpected error, please report it:\n'
    t.strictSame(report(defect), { code: 1, text: `${head}${defect.stack}\n` })
    delete defect.stack
    t.strictSame(report(defect), { code: 1, text: `${head}made up\n` })
    t.strictSame(report('text'), { code: 1, text: `${head}text\n` })
  },
)

t.test('reportBootError() prints on standard error by default', async (t) => {
  const written = t.capture(process.stderr, 'write', () => true)
  t.equal(reportBootError(new BootError('ERR_X', 'a message')), 1)
  t.strictSame(
    written().map(({ args }) => args),
    [['a message\n']],
  )
})
