import t from 'tap'
import {
  suggestChoice,
  suggestKind,
  suggestText,
} from '../../../../platform/diagnostics/schema/suggest-form.ts'

t.test('suggestKind() shows how to write a value of the wrong type', async (t) => {
  for (const [wanted, value, hint] of [
    ['string', { 'header.x-plan': null }, 'write "{header.x-plan}"'],
    ['string', { a: null, b: null }, undefined],
    ['string', { a: 1 }, undefined],
    ['string', {}, undefined],
    ['string', ['x'], undefined],
    ['string', [null], undefined],
    ['object', { a: null }, undefined],
    ['string', 7, 'write "7"'],
    ['string', false, 'write "false"'],
    ['string', null, 'write a value'],
    ['string', 'text', undefined],
    ['integer', null, 'write a value'],
    ['integer', '12', 'write 12 without quotes'],
    ['number', ' 12 ', 'write 12 without quotes'],
    ['integer', '1x', undefined],
    ['integer', 'x1', undefined],
    ['integer', '', undefined],
    ['integer', true, undefined],
    ['boolean', 1, 'write true'],
    ['boolean', 0, 'write false'],
    ['boolean', 2, undefined],
    ['boolean', null, undefined],
    ['boolean', 'maybe', undefined],
    ['array', 'a', 'write [a]'],
    ['array', ' a, b  c,', 'write [a, b, c]'],
    ['array', 7, 'write [7]'],
    ['array', { a: 1 }, 'begin each item with "- "'],
    ['array', null, 'write a value'],
    ['array', true, undefined],
    ['object', 'a:b', 'a key needs a space after its colon'],
    ['object', 'kebab-key:1', 'a key needs a space after its colon'],
    ['object', 'a: b', undefined],
    ['object', 'a b:c', undefined],
    ['object', ':b', undefined],
    ['object', 'text', undefined],
    ['object', [{ a: 1 }], 'remove the "- " at the start'],
    ['object', [], undefined],
    ['object', [{}, {}], undefined],
    [['boolean', 'integer'], '7', 'write 7 without quotes'],
    [['integer', 'string'], true, 'write "true"'],
    [['integer', 'boolean'], 'x', undefined],
  ] as const)
    t.equal(suggestKind(wanted, value), hint, `${JSON.stringify(wanted)} ${JSON.stringify(value)}`)
  for (const word of ['yes', 'on', 'y', 'true', '1', 'YES', 'On'])
    t.equal(suggestKind('boolean', word), 'write true', word)
  for (const word of ['no', 'off', 'n', 'false', '0', 'NO', 'Off'])
    t.equal(suggestKind('boolean', word), 'write false', word)
})

t.test('suggestChoice() finds a choice of another type', async (t) => {
  t.equal(suggestChoice(503, ['404', '503']), 'write "503"')
  t.equal(suggestChoice('503', [404, 503]), 'write 503 without quotes')
  t.equal(suggestChoice('true', [true]), 'write true without quotes')
  t.equal(suggestChoice(true, ['off', 'on']), 'write on: YAML 1.1 tools convert it to true')
  t.equal(suggestChoice(true, ['off']), undefined)
  t.equal(suggestChoice(false, ['on', 'off']), undefined)
  t.equal(suggestChoice('503', ['503']), undefined)
})

t.test('suggestText() finds the intended text for a pattern', async (t) => {
  const DURATION = '^[0-9]{1,7}(ms|s|m|h|d)$'
  const WINDOW = '^([1-9]s|24h)$'
  const SIZE = '^[0-9]{1,6}(B|KiB|MiB|GiB)$'
  const ORIGIN = '^https?://([A-Za-z0-9.-]+)(:[0-9]{1,5})?$'
  const ADDRESS = '^https?://[A-Za-z0-9.-]+(/[^\\s?#@]*)?$'
  const NAME = '^[a-z][a-z0-9-]*$'
  for (const [pattern, value, hint] of [
    [DURATION, '5s', undefined],
    [DURATION, ' 5s ', 'write "5s"'],
    [DURATION, 5, 'did you mean 5s?'],
    [DURATION, '5 M', 'did you mean 5m?'],
    [DURATION, '-5s', undefined],
    [DURATION, '5 parsecs', undefined],
    [DURATION, 'x5s', undefined],
    [DURATION, '5s x', undefined],
    [WINDOW, '24 days', undefined],
    [WINDOW, '1 day', undefined],
    [ORIGIN, 'api.example.com', 'did you mean https://api.example.com?'],
    [ORIGIN, 'http://api.example.com/path', 'did you mean http://api.example.com?'],
    [ORIGIN, 'HTTPS://Api.Example.com/', 'did you mean https://api.example.com?'],
    [ORIGIN, 'api.example.com:8443/x', 'did you mean https://api.example.com:8443?'],
    [ORIGIN, 'api', undefined],
    [ORIGIN, 'ftp://api.example.com', undefined],
    [ORIGIN, 'x+y.z-1://api.example.com', undefined],
    [ORIGIN, 'api.example.com:99999', undefined],
    [ADDRESS, 'api.example.com/v1', 'did you mean https://api.example.com/v1?'],
    [NAME, 'My Name', 'did you mean my-name?'],
    [NAME, '7 Ünïted_Names!!', 'did you mean n-ted-names?'],
    [NAME, '--a--', 'did you mean a?'],
    [NAME, 'a--b', undefined],
    [NAME, '!!!', undefined],
    ['^[A-Za-z]+$', 'My Name', undefined],
    [NAME, true, undefined],
    [NAME, null, undefined],
    [undefined, 'My Name', undefined],
    ['^\\p{L}$', ' é', 'write "é"'],
  ] as const)
    t.equal(suggestText(value, pattern), hint, `${pattern} ${JSON.stringify(value)}`)
  for (const [unit, meant] of Object.entries({
    '': '7s',
    ms: '7ms',
    msec: '7ms',
    s: '7s',
    sec: '7s',
    secs: '7s',
    second: '7s',
    seconds: '7s',
    m: '7m',
    min: '7m',
    mins: '7m',
    minute: '7m',
    minutes: '7m',
    h: '7h',
    hr: '7h',
    hour: '7h',
    hours: '7h',
    d: '7d',
    day: '7d',
    days: '7d',
  }))
    t.equal(suggestText(`7 ${unit}`, DURATION), `did you mean ${meant}?`, unit)
  for (const [unit, meant] of Object.entries({
    b: '7B',
    k: '7KiB',
    kb: '7KiB',
    kib: '7KiB',
    m: '7MiB',
    mb: '7MiB',
    mib: '7MiB',
    g: '7GiB',
    gb: '7GiB',
    gib: '7GiB',
  }))
    t.equal(suggestText(`7${unit}`, SIZE), `did you mean ${meant}?`, unit)
})
