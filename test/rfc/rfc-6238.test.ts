import t from 'tap'
import { verifyTotp } from '../../authorization-server/accounts/totp.ts'

const secret = Buffer.from('12345678901234567890')
/** Appendix B: the time and the last six digits of the code for SHA-1. */
const CODES = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
] as const
const verify = (code: string, nowSeconds: number, lastStep?: number) =>
  verifyTotp({ secret, code, lastStep, nowSeconds })

t.test('§4 of RFC 6238: a code is valid in its time step of 30 seconds', async (t) => {
  for (const [seconds, code] of CODES) {
    t.equal(verify(code, seconds), Math.floor(seconds / 30))
    t.equal(verify(`${code.slice(0, 3)} ${code.slice(3)}`, seconds), Math.floor(seconds / 30))
    for (const typed of ['', '12345', `${code}0`, 'abcdef', '٠٠٥٩٢٤'])
      t.equal(verify(typed, seconds), undefined)
  }
})

t.test('§5.2 of RFC 6238: a code is valid one step earlier and one step later, and only once', async (t) => {
  for (const [seconds, code] of CODES) {
    const step = Math.floor(seconds / 30)
    for (const drift of [-30, 30]) t.equal(verify(code, seconds + drift), step)
    for (const drift of [-60, 60]) t.equal(verify(code, seconds + drift), undefined)
    t.equal(verify(code, seconds, step - 1), step)
    t.equal(verify(code, seconds, step), undefined)
  }
})
