import { syncBuiltinESMExports } from 'node:module'
import v8 from 'node:v8'
import t from 'tap'
import { disablePretenuring } from '../../../platform/process/disable-pretenuring.ts'

t.test('disablePretenuring() turns off allocation-site pretenuring in V8', async (t) => {
  const set = t.capture(v8, 'setFlagsFromString', v8.setFlagsFromString)
  syncBuiltinESMExports()
  disablePretenuring()
  t.match(set(), [{ args: ['--no-allocation-site-pretenuring'], returned: undefined }])
  set.restore()
  syncBuiltinESMExports()
})
