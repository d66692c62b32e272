import t from 'tap'
import { formatScript, parseSum } from '../../../bench/load/wrk-load.ts'

t.test('parseSum() rejects output without a sum', async (t) => {
  t.throws(() => parseSum('Requests/sec: 11482.70', 'wrk.lua:1: unexpected symbol'), {
    code: 'ERR_BENCH_LOAD',
    message: /unexpected symbol/,
  })
})

t.test('parseSum() reads the counts of the script', async (t) => {
  t.same(parseSum('Requests/sec: 11482.70\nSUM 90 4 3 2 2000500\n', ''), {
    right: 90,
    wrongStatus: 4,
    wrongBody: 3,
    broken: 2,
    elapsedMs: 2000.5,
  })
})

t.test('formatScript() quotes for Lua, and rejects text that would end the quotation', async (t) => {
  const target = { url: 'http://127.0.0.1/', headers: { accept: 'a"b' }, expectedBody: '{"a":[[1]]}' }
  t.match(formatScript(target), 'wrk.headers[ [==[accept]==] ] = [==[a"b]==]')
  t.match(formatScript(target), 'local expected = [==[{"a":[[1]]}]==]')
  t.throws(() => formatScript({ ...target, expectedBody: ']==] os.exit()' }), { code: 'ERR_BENCH_LOAD' })
})

t.test(
  'formatScript() sends the tokens cyclically, and sends no token without a list of tokens',
  async (t) => {
    const target = { url: 'http://127.0.0.1/', headers: {}, expectedBody: '{}' }
    t.notMatch(formatScript(target), 'function request()')
    const script = formatScript({ ...target, tokens: ['one', 'two'] })
    t.match(script, 'local tokens = { [==[one]==], [==[two]==] }')
    t.match(script, 'function request()')
    t.throws(() => formatScript({ ...target, tokens: [']==] os.exit()'] }), { code: 'ERR_BENCH_LOAD' })
  },
)
