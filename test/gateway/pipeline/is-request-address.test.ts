import t from 'tap'
import { isRequestAddress } from '../../../gateway/pipeline/is-request-address.ts'

const RULES = { method: 'GET', origin: 'https://api.test', limitBytes: 8_192 }

t.test('isRequestAddress() accepts every form of the address of the request', async (t) => {
  for (const [address, path] of [
    ['https://api.test/a', '/a'],
    ['HTTPS://API.test/a', '/a'],
    ['https://api.test:443/a', '/a'],
    ['https://api.test/%61', '/a'],
    ['https://api.test/a?b#c', '/a'],
    ['https://api.test/a#b?c', '/a'],
    ['https://api.test', '/'],
    ['https://api.test/', '/'],
    ['https://api.test?a', '/'],
    ['https://api.test#a', '/'],
    ['https://api.test?/a', '/'],
    ['https://api.test#/a', '/'],
  ] as const)
    t.equal(isRequestAddress(address, path, RULES), true, address)
})

t.test('isRequestAddress() rejects any other address', async (t) => {
  for (const [address, path] of [
    ['https://api.test/b', '/a'],
    ['https://api.test/a/', '/a'],
    ['https://api.test/A', '/a'],
    ['http://api.test/a', '/a'],
    ['https://api.test:444/a', '/a'],
    ['https://other.test/a', '/a'],
    ['https://user@api.test/a', '/a'],
    ['https://:password@api.test/a', '/a'],
    ['https://api.test/b/../a', '/a'],
    ['https://api.test/%zz', '/%zz'],
    ['https://api.test?/a', '/a'],
    ['https://api.test#/a', '/a'],
    ['https:///api.test/a', '/a'],
    ['https://\\api.test/a', '/a'],
    ['https://[/a', '/a'],
    ['xhttps://api.test/a', '/a'],
    ['ftp://api.test/a', '/a'],
    ['//api.test/a', '/a'],
    ['/a', '/a'],
    ['', '/'],
  ] as const)
    t.equal(isRequestAddress(address, path, RULES), false, address)
})
