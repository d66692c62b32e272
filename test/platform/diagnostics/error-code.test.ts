import t from 'tap'
import { errorCode } from '../../../platform/diagnostics/error-code.ts'

t.test('errorCode() returns the code of a system error', async (t) => {
  t.equal(errorCode(Object.assign(new Error('x'), { code: 'EIO' })), 'EIO')
  t.equal(errorCode(new Error('x')), 'unknown error')
  t.equal(errorCode({ code: 'EIO' }), 'unknown error')
  t.equal(errorCode(undefined), 'unknown error')
})
