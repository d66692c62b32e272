import t from 'tap'
import { codeClass } from '../../platform/http-labels.ts'

t.test('codeClass() returns the first digit of the status', async (t) => {
  t.strictSame([100, 101, 200, 299, 304, 404, 499, 500, 599].map(codeClass), [
    '1xx',
    '1xx',
    '2xx',
    '2xx',
    '3xx',
    '4xx',
    '4xx',
    '5xx',
    '5xx',
  ])
})
