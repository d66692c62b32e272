import t from 'tap'
import { type ErrorCode, YAMLParseError } from 'yaml'
import { explainYamlError, typographicQuotes } from '../../../../platform/diagnostics/yaml/yaml-errors.ts'

/** Returns the explanation of a parser error in one line: number, range, message and hint. */
function explain(code: ErrorCode, says: string, text: string, position: number): string {
  const error = new YAMLParseError([position, position + 1], code, says)
  const { number, range, message, hint } = explainYamlError(error, text)
  return `${number} ${range[0]}-${range[1]} ${message} => ${hint}`
}
t.test('explainYamlError() explains BAD_INDENT Flow map', async (t) => {
  for (const [text, position, expected] of [
    ['[a', 2, '014 0-1 this [ is never closed => add ]'],
    ['a: [', 4, '014 3-4 this [ is never closed => add ]'],
    ['a: {b: [c], d: [[e], f', 22, '014 15-16 this [ is never closed => add ]'],
    ['x', 1, '014 1-2 a bracket is never closed => close the bracket'],
    ['a] [b', 6, '014 3-4 this [ is never closed => add ]'],
    ['[a]', 3, '014 3-4 a bracket is never closed => close the bracket'],
    ['a: }', 3, '014 3-4 this } has no matching opening bracket => remove the bracket, or quote the value'],
    [']', 0, '014 0-1 this ] has no matching opening bracket => remove the bracket, or quote the value'],
    ['[a]', 2, '014 0-1 this [ is never closed => add ]'],
    ['{a]', 2, '014 2-3 this ] has no matching opening bracket => remove the bracket, or quote the value'],
    ['[{a}, [b]]', 9, '014 0-1 this [ is never closed => add ]'],
    [
      'a: [b]]',
      6,
      '014 6-7 this ] has no matching opening bracket => remove the bracket, or quote the value',
    ],
    [
      '{ m: [G]] }',
      8,
      '014 8-9 this ] has no matching opening bracket => remove the bracket, or quote the value',
    ],
    ['x', 0, '014 0-1 a bracket is never closed => close the bracket'],
    [']', 0, '014 0-1 this ] has no matching opening bracket => remove the bracket, or quote the value'],
    ['{[a}', 3, '014 1-2 this [ is never closed => add ]'],
    ['}[a]', 3, '014 1-2 this [ is never closed => add ]'],
  ] as const)
    t.equal(explain('BAD_INDENT', 'Flow map', text, position), expected, JSON.stringify(text))
})

t.test('explainYamlError() explains RESOURCE_EXHAUSTION ', async (t) => {
  for (const [text, position, expected] of [
    ['x', 0, '018 0-1 lists and maps are nested too deeply here => at most 100 levels are allowed'],
    [
      '['.repeat(100),
      7,
      '018 7-8 lists and maps are nested too deeply here => at most 100 levels are allowed',
    ],
    [
      `[]${'['.repeat(101)}`,
      7,
      '018 102-103 lists and maps are nested too deeply here => at most 100 levels are allowed',
    ],
    [
      `}${'{'.repeat(101)}{`,
      7,
      '018 101-102 lists and maps are nested too deeply here => at most 100 levels are allowed',
    ],
  ] as const)
    t.equal(explain('RESOURCE_EXHAUSTION', '', text, position), expected, JSON.stringify(text))
})

t.test('explainYamlError() explains BLOCK_IN_FLOW ', async (t) => {
  for (const [text, position, expected] of [
    ['{a: b c: d}', 5, '010 5-6 a comma is missing before this text => write ", " between two entries'],
  ] as const)
    t.equal(explain('BLOCK_IN_FLOW', '', text, position), expected, JSON.stringify(text))
})

t.test('explainYamlError() explains UNEXPECTED_TOKEN Unknown token', async (t) => {
  for (const [text, position, expected] of [
    ['-name: x', 0, '013 0-1 a list item needs a space after its dash => write "- "'],
    ['  -a', 0, '013 2-3 a list item needs a space after its dash => write "- "'],
    ['\t-_b', 0, '013 1-2 a list item needs a space after its dash => write "- "'],
    [
      '--a',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
    ['-1', 0, '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above'],
    [
      '- a',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
    [
      'x -a',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
    ['name:x', 0, '013 4-5 a key needs a space after its colon => write ": "'],
    ['  name:xyz', 0, '013 6-7 a key needs a space after its colon => write ": "'],
    [
      '- name:x',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
    [
      '-  na-me_2:x',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
    [
      'name: x',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
    [
      'name:',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
    [
      'name::x',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
    [
      'name://x',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
    ['name:http://x', 0, '013 4-5 a key needs a space after its colon => write ": "'],
    ['_a:b', 0, '013 2-3 a key needs a space after its colon => write ": "'],
    [
      '1a:b',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
    [
      'a b:c',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
    ['a:/', 0, '013 1-2 a key needs a space after its colon => write ": "'],
    ['- name:x\n  b: c', 0, '013 6-7 a key needs a space after its colon => write ": "'],
    [
      '- name:x\nb: c',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
    ['- name:x\n# y\n   b', 0, '013 6-7 a key needs a space after its colon => write ": "'],
    [
      '- name:x\n',
      0,
      '010 0-1 this is not valid YAML: Unknown token => look for an unclosed quote or bracket above',
    ],
  ] as const)
    t.equal(explain('UNEXPECTED_TOKEN', 'Unknown token', text, position), expected, JSON.stringify(text))
})

t.test('explainYamlError() explains MISSING_CHAR Implicit map keys', async (t) => {
  for (const [text, position, expected] of [
    ['owner', 0, '013 0-5 a key needs a colon and a space after it => write "owner: " and a value'],
    ['  owner me', 0, '013 2-10 a key needs a colon and a space after it => write "owner: me"'],
    ['- owner me', 0, '013 2-10 a key needs a colon and a space after it => write "owner: me"'],
    ['-   abc', 0, '013 4-7 a key needs a colon and a space after it => write "abc: " and a value'],
    ['ab', 0, '013 0-2 a key needs a colon and a space after it => write "ab: " and a value'],
    ['abc', 0, '013 0-3 a key needs a colon and a space after it => write "abc: " and a value'],
    ['abcd', 0, '013 0-4 a key needs a colon and a space after it => write "abcd: " and a value'],
    ['owner\n  b: c', 0, '013 0-5 a key needs a colon and a space after it => write "owner: " and a value'],
    ['- owner\n  b: c', 0, '013 2-7 a key needs a colon and a space after it => write "owner: " and a value'],
    [
      '- owner\n   b: c',
      0,
      '013 2-7 a key needs a colon and a space after it => write "owner: " and a value',
    ],
    ['owner = me too', 0, '013 0-14 a key needs a colon and a space after it => write "owner: me too"'],
    ['owner=', 0, '013 0-6 a key needs a colon and a space after it => write "owner: " and a value'],
    ['owner：me', 0, '013 0-8 a key needs a colon and a space after it => write "owner: me"'],
    ['owner me  ', 0, '013 0-8 a key needs a colon and a space after it => write "owner: me"'],
    ['_o-w2 me', 0, '013 0-8 a key needs a colon and a space after it => write "_o-w2: me"'],
    ['2o me', 0, '013 0-5 a key needs a colon and a space after it => write "key: " and a value'],
    ['/x y', 0, '013 0-4 a key needs a colon and a space after it => write "key: " and a value'],
    ['a"b', 0, '013 0-3 a key needs a colon and a space after it => write "key: " and a value'],
  ] as const)
    t.equal(explain('MISSING_CHAR', 'Implicit map keys', text, position), expected, JSON.stringify(text))
})

t.test('explainYamlError() explains BAD_ALIAS ', async (t) => {
  for (const [text, position, expected] of [
    ['a: @b', 3, '019 3-5 a value that starts with @ needs quotes => write "@b"'],
    ['a: x@b c', 4, '019 4-6 a value that starts with @ needs quotes => write "@b"'],
    ['a: [x@y, z]', 6, '019 6-7 a value that starts with y needs quotes => write "y"'],
    ['a: @b]}', 3, '019 3-5 a value that starts with @ needs quotes => write "@b"'],
    ['a: @{b}}', 3, '019 3-7 a value that starts with @ needs quotes => write "@{b}"'],
    ['a: @[b]] c', 3, '019 3-7 a value that starts with @ needs quotes => write "@[b]"'],
    ['a: @', 3, '019 3-4 a value that starts with @ needs quotes => write "@"'],
    ['a: @b\\c"d\\e"', 3, '019 3-12 a value that starts with @ needs quotes => write "@b\\\\c\\"d\\\\e\\""'],
    ['@x\n@y', 3, '019 3-5 a value that starts with @ needs quotes => write "@y"'],
  ] as const)
    t.equal(explain('BAD_ALIAS', '', text, position), expected, JSON.stringify(text))
})

t.test('explainYamlError() explains MULTILINE_IMPLICIT_KEY Implicit keys', async (t) => {
  for (const [text, position, expected] of [
    ['a: b: c  ', 3, '019 3-7 a value that contains ": " needs quotes => write "b: c"'],
    ['a: “b: c”', 3, '019 3-9 “ is not a quotation mark in YAML => write "b: c"'],
    [
      '"a\nb": c',
      0,
      '014 0-1 this " is not closed in its line => close the quote where the text ends, or remove the quote',
    ],
    [
      "x\n 'ab\nc': d",
      3,
      "014 3-4 this ' is not closed in its line => close the quote where the text ends, or remove the quote",
    ],
    [
      'a: b\n  c: d\n',
      3,
      '012 7-11 this line is indented deeper than the key above it => indent the line like that key',
    ],
    ['a: b c: d\n', 3, '019 3-9 a value that contains ": " needs quotes => write "b c: d"'],
    [
      'a: "b\n c": d\n',
      3,
      '014 3-4 this " is not closed in its line => close the quote where the text ends, or remove the quote',
    ],
    [
      "a: 'b' x\n y\n",
      3,
      '012 10-11 this line is indented deeper than the key above it => indent the line like that key',
    ],
    ['- b c\n', 2, '013 2-5 a key needs a colon and a space after it => write "b: c"'],
    ['a: b', 3, '010 3-4 this is not a key or a value => write a key, a colon and a space'],
    [
      '- - a: b\n      c: d\n     e: f\n  g: h\n',
      7,
      '012 15-19 this line is indented deeper than the key above it => indent the line like that key',
    ],
    ['a:b\n', 0, '013 1-2 a key needs a space after its colon => write ": "'],
    [
      'x y: b\n   c: d\n',
      4,
      '012 10-14 this line is indented deeper than the key above it => indent the line like that key',
    ],
  ] as const)
    t.equal(
      explain('MULTILINE_IMPLICIT_KEY', 'Implicit keys', text, position),
      expected,
      JSON.stringify(text),
    )
})

t.test('explainYamlError() explains UNEXPECTED_TOKEN Not a YAML token', async (t) => {
  for (const [text, position, expected] of [
    ['a: |b', 4, '019 3-5 a value that starts with | needs quotes => write "|b"'],
    ['a: > x  ', 4, '019 3-6 a value that starts with > needs quotes => write "> x"'],
    ['a: |- x', 6, '019 3-7 a value that starts with | needs quotes => write "|- x"'],
    ['b\na: || x>y', 9, '019 6-11 a value that starts with | needs quotes => write "| x>y"'],
    ['a: x', 3, '019 0-4 a value that starts with a needs quotes => write "a: x"'],
  ] as const)
    t.equal(explain('UNEXPECTED_TOKEN', 'Not a YAML token', text, position), expected, JSON.stringify(text))
})

t.test('explainYamlError() explains MISSING_CHAR Missing closing "quote', async (t) => {
  for (const [text, position, expected] of [
    ['a: "b', 6, '014 3-4 this " is never closed => add " at the end of the value'],
    ['x', 1, '014 0-1 this x is never closed => add x at the end of the value'],
    ['a: "b" "c', 9, '014 7-8 this " is never closed => add " at the end of the value'],
    ['a: "b"', 5, '014 3-4 this " is never closed => add " at the end of the value'],
  ] as const)
    t.equal(explain('MISSING_CHAR', 'Missing closing "quote', text, position), expected, JSON.stringify(text))
})

t.test('explainYamlError() explains MISSING_CHAR Missing closing quote', async (t) => {
  for (const [text, position, expected] of [
    ["a: 'b\nc", 8, "014 3-4 this ' is never closed => add ' at the end of the value"],
  ] as const)
    t.equal(explain('MISSING_CHAR', "Missing closing 'quote", text, position), expected, JSON.stringify(text))
})

t.test('explainYamlError() explains BAD_INDENT All mapping items', async (t) => {
  for (const [text, position, expected] of [
    [
      'a:\n    b: c\n  d: e\n  f: g\n h: i\n',
      13,
      '012 14-18 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      'a:\n  b: c\n d: e\n   f: g\n',
      10,
      '012 11-15 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      'a:\n  - b: c\n    - d: e\n   f: g\n',
      26,
      '012 26-30 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      'a:\n  b: c\n  - d\n    e: f\n',
      12,
      '012 12-15 a list item cannot be among the keys of a map => remove the dash, or begin the lines above with "- " too',
    ],
    [
      '- a: b\n- c\n d: e\n',
      11,
      '012 12-16 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      'a:\n  - b\n c: d\n',
      9,
      '012 10-14 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      'a: b\n\n# x\n  c: d\n',
      4,
      '012 0-4 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      '"a": b\n "c": d\n',
      7,
      '012 8-14 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    ['a:\n-b: c\n', 3, '013 3-4 a list item needs a space after its dash => write "- "'],
    [
      '  x\n',
      0,
      '012 2-3 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      'a:\n    b: c\n   - d\n',
      12,
      '012 15-18 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      'a:\n      b:\n        c: d\n       e: f\n',
      25,
      '012 32-36 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      'a:\n      b:\n        c: d\n   e: f\n',
      25,
      '012 28-32 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      'a: b\n\tc: d\n',
      5,
      '012 6-10 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
  ] as const)
    t.equal(explain('BAD_INDENT', 'All mapping items', text, position), expected, JSON.stringify(text))
})

t.test('explainYamlError() explains UNEXPECTED_TOKEN Unexpected scalar at node end', async (t) => {
  for (const [text, position, expected] of [
    [
      '  a: b\nc: d\n',
      7,
      '012 2-6 the first key is indented, but the keys below it are not => remove the indentation of the first key',
    ],
    [
      '# x\n  a: b\nc: d\n',
      11,
      '012 6-10 the first key is indented, but the keys below it are not => remove the indentation of the first key',
    ],
    [' a: b\n c: d\n', 7, '010 7-11 unexpected text after the value => quote the whole value'],
    ['a: b\nc: d\n', 5, '010 5-9 unexpected text after the value => quote the whole value'],
    ['  a: b\n', 2, '010 2-6 unexpected text after the value => quote the whole value'],
    [
      '\n   a: b\n  - x\n c: d\n',
      16,
      '012 4-8 the first key is indented, but the keys below it are not => remove the indentation of the first key',
    ],
    ['# only\n', 0, '010 0-6 unexpected text after the value => quote the whole value'],
  ] as const)
    t.equal(
      explain('UNEXPECTED_TOKEN', 'Unexpected scalar at node end', text, position),
      expected,
      JSON.stringify(text),
    )
})

t.test('explainYamlError() explains MULTILINE_IMPLICIT_KEY A block sequence', async (t) => {
  for (const [text, position, expected] of [
    [
      'a: b\n',
      3,
      '012 0-4 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
  ] as const)
    t.equal(
      explain('MULTILINE_IMPLICIT_KEY', 'A block sequence', text, position),
      expected,
      JSON.stringify(text),
    )
})

t.test('typographicQuotes() explains values in typographic quotes', async (t) => {
  for (const [value, expected] of [
    ['“a”', '{"message":"“ is not a quotation mark in YAML","hint":"write \\"a\\""}'],
    ['”a', '{"message":"” is not a quotation mark in YAML","hint":"write \\"a\\""}'],
    ['„a“', '{"message":"„ is not a quotation mark in YAML","hint":"write \\"a\\""}'],
    ['‟a‟', '{"message":"‟ is not a quotation mark in YAML","hint":"write \\"a\\""}'],
    ['‘a’', '{"message":"‘ is not a quotation mark in YAML","hint":"write \\"a\\""}'],
    ['’a', '{"message":"’ is not a quotation mark in YAML","hint":"write \\"a\\""}'],
    ['‚a', '{"message":"‚ is not a quotation mark in YAML","hint":"write \\"a\\""}'],
    ['«a»', '{"message":"« is not a quotation mark in YAML","hint":"write \\"a\\""}'],
    ['»a«', '{"message":"» is not a quotation mark in YAML","hint":"write \\"a\\""}'],
    ['“', '{"message":"“ is not a quotation mark in YAML","hint":"write \\"\\""}'],
    ['“a\nb”', '{"message":"“ is not a quotation mark in YAML","hint":"write \\"a\\nb\\""}'],
    ['“a” b', '{"message":"“ is not a quotation mark in YAML","hint":"write \\"a” b\\""}'],
    ['a“b”', undefined],
    ['"a"', undefined],
    ['“a\\"b”', '{"message":"“ is not a quotation mark in YAML","hint":"write \\"a\\\\\\\\\\\\\\"b\\""}'],
  ] as const)
    t.equal(JSON.stringify(typographicQuotes(value)), expected, value)
})
