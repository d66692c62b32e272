import t from 'tap'
import { codeClass, methodLabel } from '../../platform/http-labels.ts'

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

t.test('methodLabel() returns the method, or _OTHER for a method without its own label', async (t) => {
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'])
    t.equal(methodLabel(method), method)
  for (const method of ['PROPFIND', 'get', '']) t.equal(methodLabel(method), '_OTHER')
})
