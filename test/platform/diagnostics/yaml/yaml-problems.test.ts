import { join } from 'node:path'
import t from 'tap'
import { parseYaml, readYamlFile } from '../../../../platform/diagnostics/yaml/yaml-document.ts'

/**
 * Returns all problems of a text: code, line, column, length, message, hint and related locations. If the text has no
 * problems, returns the parsed value.
 */
function describe(text: string): readonly string[] {
  const { diagnostics, value } = parseYaml(text, { shownAs: 'a.yaml', letter: 'P' })
  if (diagnostics.length === 0) return [`OK ${JSON.stringify(value)}`]
  return diagnostics.map(({ code, location, message, hint, related }) => {
    const more = related.map(
      (one) => ` (${one.location.line}:${one.location.column}:${one.location.length} ${one.message})`,
    )
    const fix = hint === undefined ? '' : ` => ${hint}`
    return `${code} ${location.line}:${location.column}:${location.length} ${message}${fix}${more.join('')}`
  })
}

t.test('parseYaml() reports the location of the text to change, and shows the correction', async (t) => {
  for (const [text, ...problems] of [
    ['a: 1\n\tb: 2\n', 'P011 2:1:1 a tab indents this line => use spaces'],
    ['a:\n\t- b\n', 'P011 2:1:1 a tab indents this line => use spaces'],
    ['a: @b\n', 'P019 1:4:2 a value cannot start with @ => write "@b"'],
    ['a: `b`\n', 'P019 1:4:3 a value cannot start with ` => write "`b`"'],
    ['a: [@x, y]\n', 'P019 1:5:2 a value cannot start with @ => write "@x"'],
    [
      'a: {id}}\n',
      'P014 1:8:1 this } has no matching opening bracket => remove the bracket, or quote the value',
    ],
    ['p: @/a/{id}}\n', 'P019 1:4:8 a value cannot start with @ => write "@/a/{id}"'],
    ['a: %b\n', 'P019 1:4:2 a value cannot start with % => write "%b"'],
    ['a: “b”\n', 'P019 1:4:3 “ is not a quotation mark in YAML => write "b"'],
    ['a: „b c“\n', 'P019 1:4:5 „ is not a quotation mark in YAML => write "b c"'],
    ['a: ‘x\n', 'P019 1:4:2 ‘ is not a quotation mark in YAML => write "x"'],
    ['a: «x» y\n', 'P019 1:4:5 « is not a quotation mark in YAML => write "x» y"'],
    ['- “b”\n', 'P019 1:3:3 “ is not a quotation mark in YAML => write "b"'],
    ['“k”: v\n', 'P019 1:1:3 “ is not a quotation mark in YAML => write "k"'],
    ['a: "“b”"\n', 'OK {"a":"“b”"}'],
    ['a: [“b, c”]\n', 'P019 1:5:2 “ is not a quotation mark in YAML => write "b"'],
    ['a: *b\n', 'P019 1:4:2 a value that starts with * needs quotes => write "*b"'],
    [
      'a: &b x\nc: *b\n',
      'P016 1:4:2 &b is an anchor, and anchors are not supported => remove the anchor, or quote the value',
      'P016 2:4:2 a value that starts with * is an alias, and aliases are not supported => repeat the value, or write "*b" if you mean the text',
    ],
    [
      'a: &b\n',
      'P016 1:4:2 &b is an anchor, and anchors are not supported => remove the anchor, or quote the value',
    ],
    ['a: *\n', 'P019 1:4:1 a value that starts with * needs quotes => write "*"'],
    ['a: "\\d"\n', 'P014 1:5:2 \\d is not an escape sequence of YAML => use single quotes'],
    ['a: "x\\qy\\z"\n', 'P014 1:6:2 \\q is not an escape sequence of YAML => use single quotes'],
    ['a: [b\nc: d\n', 'P014 1:4:1 this [ is never closed => add ]'],
    ['a: [b\n', 'P014 1:4:1 this [ is never closed => add ]'],
    ['a: {b: [c}\n', 'P014 1:8:1 this [ is never closed => add ]'],
    ['a: { b: [c] \nd: e\n', 'P014 1:4:1 this { is never closed => add }'],
    [
      'a: [b]]\n',
      'P014 1:7:1 this ] has no matching opening bracket => remove the bracket, or quote the value',
    ],
    [
      'a: { m: [GET]] }\n',
      'P014 1:14:1 this ] has no matching opening bracket => remove the bracket, or quote the value',
    ],
    ['a: b]\n', 'OK {"a":"b]"}'],
    ['a: }\n', 'P014 1:4:1 this } has no matching opening bracket => remove the bracket, or quote the value'],
    ['}\n', 'P014 1:1:1 this } has no matching opening bracket => remove the bracket, or quote the value'],
    [']: x\n', 'P014 1:1:1 this ] has no matching opening bracket => remove the bracket, or quote the value'],
    ['a: [b: {c: d]\n', 'P014 1:8:1 this { is never closed => add }'],
    ['a: [\n- b\n]\n', 'P014 1:4:1 this [ is never closed => add ]'],
    ['{a: b c: d}\n', 'P010 1:5:1 a comma is missing before this text => write ", " between two entries'],
    ['a: "b\n', 'P014 1:4:1 this " is never closed => add " at the end of the value'],
    ["a: 'b\nc: d\n", "P014 1:4:1 this ' is never closed => add ' at the end of the value"],
    ['a: "b" c\n', 'P010 1:8:1 unexpected text after the value => quote the whole value'],
    ['a: b"c"\n', 'OK {"a":"b\\"c\\""}'],
    ['- a\nb: c\n', 'P010 2:1:4 unexpected text after the value => quote the whole value'],
    ['a: b\n- c\n', 'P013 2:3:1 a key needs a colon and a space after it => write "c: " and a value'],
    ['a:\n- b\nc\n', 'P013 3:1:1 a key needs a colon and a space after it => write "c: " and a value'],
    ['a: #c\n', 'OK {"a":null}'],
    ['a: [b,#c\n]\n', 'P010 1:7:1 a comment needs a space before its # => write " #", or quote the value'],
    ['a: "b"#c\n', 'P010 1:7:1 a comment needs a space before its # => write " #", or quote the value'],
    ['a: {b: c}#d\n', 'P010 1:10:1 a comment needs a space before its # => write " #", or quote the value'],
    ['a\nb: c\n', 'P013 1:1:1 a key needs a colon and a space after it => write "a: " and a value'],
    ['a: b\nc\n', 'P013 2:1:1 a key needs a colon and a space after it => write "c: " and a value'],
    ['a: b\nc\nd: e\n', 'P013 2:1:1 a key needs a colon and a space after it => write "c: " and a value'],
    ['name:x\nb: c\n', 'P013 1:5:1 a key needs a space after its colon => write ": "'],
    ['-name: x\n', 'OK {"-name":"x"}'],
    ['a: b\nname:x\n', 'P013 2:5:1 a key needs a space after its colon => write ": "'],
    ['- name:x\n  b: c\n', 'P013 1:7:1 a key needs a space after its colon => write ": "'],
    ['- courses:read\n', 'OK ["courses:read"]'],
    ['match:{ a: b }\n', 'OK {"match:{ a":"b }"}'],
    ['a:http://x\nb: c\n', 'P013 1:2:1 a key needs a space after its colon => write ": "'],
    ['a: b\nowner=me\n', 'P013 2:1:8 a key needs a colon and a space after it => write "owner: me"'],
    ['owner：me\na: b\n', 'P013 1:1:8 a key needs a colon and a space after it => write "owner: me"'],
    ['a: b\nowner me\n', 'P013 2:1:8 a key needs a colon and a space after it => write "owner: me"'],
    ['a:\n  b\n  c: d\n', 'P013 2:3:1 a key needs a colon and a space after it => write "b: " and a value'],
    ['a:\n  - b c\n    d: e\n', 'P013 2:5:3 a key needs a colon and a space after it => write "b: c"'],
    [
      'a: b\n  c: d\n',
      'P012 2:3:4 this line is indented deeper than the key above it => indent the line like that key',
    ],
    [
      'a: b\n  c\n  d: e\n',
      'P012 2:3:1 this line is indented deeper than the key above it => indent the line like that key',
    ],
    [
      'a:\n  b: c\n   d: e\n',
      'P012 3:4:4 this line is indented deeper than the key above it => indent the line like that key',
    ],
    [
      'a:\n  b: c\n d: e\n',
      'P012 3:2:4 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      'a:\n    b: c\n  d: e\n',
      'P012 3:3:4 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      '/x:\n    /y: 1\n  /z: 2\n',
      'P012 3:3:5 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      '- a: b\n c: d\n',
      'P012 2:2:4 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      '- a: b\n    c: d\n',
      'P012 2:5:4 this line is indented deeper than the key above it => indent the line like that key',
    ],
    [
      'a:\n  - b: c\n   d: e\n',
      'P012 3:4:4 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      'a:\n  b: c\n  - d\n',
      'P012 3:3:3 a list item cannot be among the keys of a map => remove the dash, or begin the lines above with "- " too',
    ],
    [
      'a:\n  - b\n  c: d\n',
      'P012 3:3:4 the indentation of this line matches no line above => indent the line like the other entries of its map or list',
    ],
    [
      '  a: b\nc: d\n',
      'P012 1:3:4 the first key is indented, but the keys below it are not => remove the indentation of the first key',
    ],
    [
      '# x\n\n   a: b\nc: d\n',
      'P012 3:4:4 the first key is indented, but the keys below it are not => remove the indentation of the first key',
    ],
    ['a: b: c\n', 'P019 1:4:4 a value that contains ": " needs quotes => write "b: c"'],
    ['a: b c: d\n', 'P019 1:4:6 a value that contains ": " needs quotes => write "b c: d"'],
    ['a: x "y: z"\n', 'P019 1:4:8 a value that contains ": " needs quotes => write "x \\"y: z\\""'],
    ["a: 'b' : c\n", 'P019 1:4:7 a value that contains ": " needs quotes => write "\'b\' : c"'],
    [
      '"a\nb": c\n',
      'P014 1:1:1 this " is not closed in its line => close the quote where the text ends, or remove the quote',
    ],
    [
      'a:\n  "b\n  c": d\n',
      'P014 2:3:1 this " is not closed in its line => close the quote where the text ends, or remove the quote',
    ],
    [
      "'x\ny': z\n",
      "P014 1:1:1 this ' is not closed in its line => close the quote where the text ends, or remove the quote",
    ],
    ['a: [b, , c]\n', 'P010 1:8:1 a value is missing before this comma => remove the comma'],
    ['a: [, b]\n', 'P010 1:5:1 a value is missing before this comma => remove the comma'],
    ['a: {, b: c}\n', 'P010 1:5:1 a value is missing before this comma => remove the comma'],
    ['a: [b,, c]\n', 'P010 1:7:1 a value is missing before this comma => remove the comma'],
    [
      'a: - b\n',
      'P012 1:4:1 a list item cannot be on the line of its key => put the list item on a new line, or write the list as [ ]',
    ],
    [
      'a: - b\n   - c\n',
      'P012 1:4:1 a list item cannot be on the line of its key => put the list item on a new line, or write the list as [ ]',
    ],
    ['a: |b\n', 'P019 1:4:2 a value that starts with | needs quotes => write "|b"'],
    ['a: > x y\n', 'P019 1:4:5 a value that starts with > needs quotes => write "> x y"'],
    ['a: |- x\n  b\n', 'P019 1:4:4 a value that starts with | needs quotes => write "|- x"'],
    ['a: b | c\n', 'OK {"a":"b | c"}'],
    ['a: |\n  x\n', 'OK {"a":"x\\n"}'],
    ['a: [x{y]\n', 'P010 1:6:1 a comma is missing before this text => write ", " between two entries'],
    ['a: [/{id}]\n', 'P010 1:6:1 a comma is missing before this text => write ", " between two entries'],
    ['p: {a}/b\n', 'P019 1:4:5 a value that starts with { needs quotes => write "{a}/b"'],
    [
      'p: {a}{b}\n',
      'P019 1:4:6 inside { } or [ ], a value that contains { or [ needs quotes => write "{a}{b}"',
    ],
    ['a: [b] c\n', 'P010 1:8:1 unexpected text after the value => quote the whole value'],
    [
      'a: { m: [GET] p: /x }\n',
      'P010 1:15:1 a comma is missing before this text => write ", " between two entries',
    ],
    ['a: "b" "c"\n', 'P010 1:8:3 unexpected text after the value => quote the whole value'],
    ['p: [a]/{b}\n', 'P019 1:4:7 a value that starts with [ needs quotes => write "[a]/{b}"'],
    ['%YAML 1.1\n---\na: b\n', 'P016 1:1:5 directives are not supported => remove this line'],
    ['a: !t b\n', 'P016 1:4:2 this value has the tag !t, and tags are not supported => remove the tag'],
    ['a: !!str b\n', 'P016 1:4:5 this value has the tag !!str, and tags are not supported => remove the tag'],
    [
      '&x a: b\n',
      'P016 1:1:2 &x is an anchor, and anchors are not supported => remove the anchor, or quote the value',
    ],
    [
      'a: &x b\n',
      'P016 1:4:2 &x is an anchor, and anchors are not supported => remove the anchor, or quote the value',
    ],
    ['? [a]\n: b\n', 'P016 1:3:3 a list or map cannot be a key => quote the key if it is text'],
    ['{a: b}: c\n', 'P016 1:1:6 a list or map cannot be a key => quote the key if it is text'],
    ['1: x\n', 'P016 1:1:1 the key 1 is not text => write "1"'],
    ['true: x\n', 'P016 1:1:4 the key true is not text => write "true"'],
    ['null: x\n', 'P016 1:1:4 the key null is not text => write "null"'],
    ['~: x\n', 'P016 1:1:1 the key null is not text => write "~"'],
    ['"1": x\n', 'OK {"1":"x"}'],
    ['1.5: x\n', 'P016 1:1:3 the key 1.5 is not text => write "1.5"'],
    [': x\n', 'P016 1:1:1 the key null is not text => write ""'],
    ['a: 1\na: 2\n', 'P015 2:1:1 the key "a" is defined twice => keep one (1:1:1 the first definition)'],
    [
      'a: 1\n"a": 2\na: 3\n',
      'P015 2:1:3 the key "a" is defined twice => keep one (1:1:1 the first definition)',
      'P015 3:1:1 the key "a" is defined twice => keep one (1:1:1 the first definition)',
    ],
    ['<<: { a: b }\n', 'P016 1:1:2 merge keys are not supported => write each key'],
    ['"<<": { a: b }\n', 'OK {"<<":{"a":"b"}}'],
    [
      'a: &x { b: c }\nd: { <<: *x }\n',
      'P016 1:4:2 &x is an anchor, and anchors are not supported => remove the anchor, or quote the value',
      'P016 2:6:2 merge keys are not supported => write each key',
    ],
    [
      'a: 1\n---\nb: 2\n',
      'P017 2:1:3 a second document starts here => a file has one document: move this document to a separate file',
    ],
    [
      '---\na: 1\n---\nb: 2\n---\nc: 3\n',
      'P017 3:1:3 a second document starts here => a file has one document: move this document to a separate file',
    ],
    [
      'a: 1\n...\nb: 2\n',
      'P017 3:1:3 a second document starts here => a file has one document: move this document to a separate file',
    ],
    [
      '--- a\n--- b\n',
      'P017 2:1:3 a second document starts here => a file has one document: move this document to a separate file',
    ],
    ['---\n---\na: b\n', 'P002 undefined:undefined:1 the file is empty'],
    ['', 'P002 undefined:undefined:1 the file is empty'],
    ['# x\n', 'P002 undefined:undefined:1 the file is empty'],
    ['~\n', 'P002 undefined:undefined:1 the file is empty'],
    ['null\n', 'P002 undefined:undefined:1 the file is empty'],
    ['---\n', 'P002 undefined:undefined:1 the file is empty'],
    ['""\n', 'OK ""'],
    ['{}\n', 'OK {}'],
    ['[]\n', 'OK []'],
    ['a: b\u0000\n', 'P004 1:5:1 the control character U+0000 is not allowed => remove this character'],
    ['a: \u001b[0m\n', 'P004 1:4:1 the control character U+001B is not allowed => remove this character'],
    ['a: b\rc: d\r', 'P004 1:5:1 the lines end with CR only => save the file with LF or CRLF'],
    ['a: b\nc\rd\n', 'P004 2:2:1 the control character U+000D is not allowed => remove this character'],
    ['\u0085\n', 'P004 1:1:1 the control character U+0085 is not allowed => remove this character'],
    ['\u00a0a: b\n', 'P011 1:1:1 this line is indented with a nonstandard space (U+00A0) => use spaces'],
    [
      'a:\n  \u2003\u2003b: c\n\u3000d: e\n',
      'P011 2:3:2 this line is indented with a nonstandard space (U+2003) => use spaces',
      'P011 3:1:1 this line is indented with a nonstandard space (U+3000) => use spaces',
    ],
    ['a:\u00a0b\n', 'OK "a:\u00a0b"'],
    [
      'a: b\n \t\u200bc: d\n',
      'P011 2:3:1 this line is indented with a nonstandard space (U+200B) => use spaces',
    ],
    ['a: b\r\n\tc: d\r\n', 'P011 2:1:1 a tab indents this line => use spaces'],
    ['é: 😀x\n😀: @b\n', 'P019 2:4:2 a value cannot start with @ => write "@b"'],
  ] as const)
    t.strictSame(describe(text), problems, JSON.stringify(text))
})

const count = (text: string): Record<string, number> =>
  Object.fromEntries(
    Object.entries(Object.groupBy(describe(text), (one) => one.slice(0, 4))).map(([code, all]) => [
      code,
      all?.length ?? 0,
    ]),
  )

t.test('parseYaml() reports at most 50 lines, and one problem per line', async (t) => {
  t.strictSame(count('a: &a b\n'.repeat(1)), { P016: 1 })
  const anchors = (lines: number) =>
    Array.from({ length: lines }, (_, line) => `k${line}: &a${line} b\n`).join('')
  t.strictSame(count(anchors(50)), { P016: 50 })
  t.strictSame(count(anchors(51)), { P016: 50 })
  t.strictSame(describe('a: [&a b, &c d, *a]\n'), [
    'P016 1:5:2 &a is an anchor, and anchors are not supported => remove the anchor, or quote the value',
  ])
  t.strictSame(count('a: "\\d"\n'.repeat(60)), { P014: 50 })
  t.strictSame(count('\u00a0a: b\n'.repeat(60)), { P011: 50 })
})

t.test('parseYaml() reports the syntax errors before the first structural error', async (t) => {
  const local = 'a: @b\nc: "\\d"\n'
  t.strictSame(count(local), { P019: 1, P014: 1 })
  t.strictSame(count(`${local}e: [f\ng: @h\n`), { P019: 1, P014: 2 })
  t.strictSame(count(`e: [f\n${local}`), { P014: 1 })
  t.strictSame(count(`${local}#${'x'.repeat(100_000)}\n`), { P019: 1, P014: 1 }, 'also in a long text')
})

t.test('parseYaml() accepts keys of 1,024 characters and nesting of 100 levels', async (t) => {
  t.strictSame(count(`${'k'.repeat(1_024)}: x\n`), { 'OK {': 1 })
  t.strictSame(describe(`${'k'.repeat(1_025)}: x\n`), [
    'P010 1:1:1 a key must be at most 1024 characters => shorten the key',
  ])
  t.strictSame(describe('['.repeat(20_000)), [
    'P018 1:101:1 lists and maps are nested too deeply here => at most 100 levels are allowed',
  ])
  t.strictSame(describe(`a: [[],{},[]]\nb: ${'{c: '.repeat(20_000)}`), [
    'P018 2:404:1 lists and maps are nested too deeply here => at most 100 levels are allowed',
  ])
})

t.test('parseYaml() accepts number keys and typographic quotes in a foreign file only', async (t) => {
  const text = '200: “x”\n1.5: y\n'
  const foreign = parseYaml(text, { shownAs: 'a.yaml', letter: 'O', foreign: true })
  t.strictSame(foreign.diagnostics, [])
  t.equal(JSON.stringify(foreign.value), '{"200":"“x”","1.5":"y"}')
  for (const other of ['true: x\n', 'null: x\n', '[a]: x\n', '200: x\n200: y\n', 'a: &b c\n', 'a: *b\n'])
    t.equal(parseYaml(other, { shownAs: 'a.yaml', letter: 'O', foreign: true }).diagnostics.length, 1, other)
  t.equal(parseYaml('200: x\n', { shownAs: 'a.yaml', letter: 'O', foreign: false }).diagnostics.length, 1)
})

t.test('readYamlFile() reads a file, and reports an unreadable file without a line number', async (t) => {
  const dir = t.testdir({ 'a.yaml': 'a: 1\n' })
  const naming = { shownAs: 'shown.yaml', letter: 'C' } as const
  const good = readYamlFile(join(dir, 'a.yaml'), naming)
  t.strictSame([good.file, JSON.stringify(good.value), good.diagnostics], ['shown.yaml', '{"a":1}', []])
  const bad = readYamlFile(join(dir, 'none.yaml'), naming)
  const whole = { file: 'shown.yaml', line: undefined, column: undefined, length: 1, text: undefined }
  t.strictSame([bad.file, bad.value, bad.locationOf(['a'])], ['shown.yaml', undefined, whole])
  t.strictSame(
    bad.diagnostics.map(({ code, location }) => [code, location]),
    [['C001', whole]],
  )
  t.equal(JSON.stringify(readYamlFile('/nowhere', naming, { text: 'b: 2' }).value), '{"b":2}')
})

t.test('parseYaml() reports an invalid character in the last line only after local errors', async (t) => {
  for (const [text, problems] of [
    ['a: [ {b}, [c]] ]\n', 'P014 1:16:1'],
    ['a: b\n}\n', 'P014 2:1:1'],
    ['a: { b: [c]], d: ] }\n', 'P014 1:12:1'],
    ['a: 1\n\tb: 2\n', 'P011 2:1:1'],
    ['a:\n\t- b\n', 'P011 2:1:1'],
    ['a: @b\n', 'P019 1:4:2, P019 2:4:2'],
    ['a: `b`\n', 'P019 1:4:3, P019 2:4:2'],
    ['a: [@x, y]\n', 'P019 1:5:2, P019 2:4:2'],
    ['a: {id}}\n', 'P014 1:8:1'],
    ['p: @/a/{id}}\n', 'P019 1:4:8, P019 2:4:2'],
    ['a: %b\n', 'P019 1:4:2, P019 2:4:2'],
    ['a: “b”\n', 'P019 2:4:2, P019 1:4:3'],
    ['a: „b c“\n', 'P019 2:4:2, P019 1:4:5'],
    ['a: ‘x\n', 'P019 2:4:2, P019 1:4:2'],
    ['a: «x» y\n', 'P019 2:4:2, P019 1:4:5'],
    ['- “b”\n', 'P010 2:1:5, P019 1:3:3'],
    ['“k”: v\n', 'P019 2:4:2, P019 1:1:3'],
    ['a: [“b, c”]\n', 'P019 2:4:2, P019 1:5:2'],
    ['a: *b\n', 'P019 2:4:2, P019 1:4:2'],
    ['a: &b x\nc: *b\n', 'P019 3:4:2, P016 1:4:2, P016 2:4:2'],
    ['a: &b\n', 'P019 2:4:2, P016 1:4:2'],
    ['a: *\n', 'P019 1:4:1'],
    ['a: "\\d"\n', 'P014 1:5:2, P019 2:4:2'],
    ['a: "x\\qy\\z"\n', 'P014 1:6:2, P019 2:4:2'],
    ['a: [b]]\n', 'P014 1:7:1'],
    ['a: { m: [GET]] }\n', 'P014 1:14:1'],
    ['a: }\n', 'P014 1:4:1'],
    ['}\n', 'P014 1:1:1'],
    [']: x\n', 'P014 1:1:1'],
    ['a: { b: c\n  d: e }\n', 'P012 2:3:6'],
    ['a: [b c: d, e f\n  g: h]\n', 'P012 2:3:5'],
    ['a: "b" c\n', 'P010 1:8:1'],
    ['- a\nb: c\n', 'P010 2:1:4'],
    ['a:\n- b\nc\n', 'P013 3:1:1'],
    ['a\nb: c\n', 'P013 1:1:1'],
    ['a: b\nc\n', 'P013 2:1:1'],
    ['a: b\nc\nd: e\n', 'P013 2:1:1'],
    ['name:x\nb: c\n', 'P013 1:5:1'],
    ['a: b\nname:x\n', 'P013 2:5:1'],
    ['- name:x\n  b: c\n', 'P013 1:7:1'],
    ['a:http://x\nb: c\n', 'P013 1:2:1'],
    ['a: b\nowner=me\n', 'P013 2:1:8'],
    ['owner：me\na: b\n', 'P013 1:1:8'],
    ['a: b\nowner me\n', 'P013 2:1:8'],
    ['a:\n  b\n  c: d\n', 'P013 2:3:1'],
    ['a:\n  - b c\n    d: e\n', 'P013 2:5:3'],
    ['a: b\n  c: d\n', 'P012 2:3:4'],
    ['a: b\n  c\n  d: e\n', 'P012 2:3:1'],
    ['a:\n  b: c\n   d: e\n', 'P012 3:4:4'],
    ['a:\n  b: c\n d: e\n', 'P012 3:2:4'],
    ['a:\n    b: c\n  d: e\n', 'P012 3:3:4'],
    ['/x:\n    /y: 1\n  /z: 2\n', 'P012 3:3:5'],
    ['- a: b\n c: d\n', 'P012 2:2:4'],
    ['- a: b\n    c: d\n', 'P012 2:5:4'],
    ['a:\n  - b: c\n   d: e\n', 'P012 3:4:4'],
    ['a:\n  b: c\n  - d\n', 'P012 3:3:3'],
    ['a:\n  - b\n  c: d\n', 'P012 3:3:4'],
    ['  a: b\nc: d\n', 'P012 1:3:4'],
    ['# x\n\n   a: b\nc: d\n', 'P012 3:4:4'],
    ['a: b: c\n', 'P019 1:4:4'],
    ['a: b c: d\n', 'P019 1:4:6'],
    ['a: x "y: z"\n', 'P019 1:4:8'],
    ["a: 'b' : c\n", 'P019 1:4:7'],
    ['"a\nb": c\n', 'P014 1:1:1'],
    ['a:\n  "b\n  c": d\n', 'P014 2:3:1'],
    ["'x\ny': z\n", 'P014 1:1:1'],
    ['a: [b, , c]\n', 'P010 1:8:1'],
    ['a: [, b]\n', 'P010 1:5:1'],
    ['a: {, b: c}\n', 'P010 1:5:1'],
    ['a: [b,, c]\n', 'P010 1:7:1'],
    ['a: - b\n', 'P012 1:4:1'],
    ['a: - b\n   - c\n', 'P012 1:4:1'],
    ['a: |b\n', 'P019 1:4:2'],
    ['a: > x y\n', 'P019 1:4:5'],
    ['a: |- x\n  b\n', 'P019 1:4:4'],
    ['p: {a}/b\n', 'P019 1:4:5'],
    ['p: {a}{b}\n', 'P019 1:4:6'],
    ['a: [b] c\n', 'P010 1:8:1'],
    ['a: "b" "c"\n', 'P010 1:8:3'],
    ['p: [a]/{b}\n', 'P019 1:4:7'],
    ['%YAML 1.1\n---\na: b\n', 'P019 4:4:2, P016 1:1:5'],
    ['%TAG ! x\n---\na: !b c\n', 'P019 4:4:2, P016 3:7:1'],
    ['a: !t b\n', 'P019 2:4:2, P016 1:4:2'],
    ['a: !!str b\n', 'P019 2:4:2, P016 1:4:5'],
    ['a: !<tag:yaml.org,2002:int> 7\n', 'P019 2:4:2, P016 1:29:1'],
    ['&x a: b\n', 'P019 2:4:2, P016 1:1:2'],
    ['a: &x b\n', 'P019 2:4:2, P016 1:4:2'],
    ['a: &x { b: c }\nd: { <<: *x }\n', 'P019 3:4:2, P016 1:4:2, P016 2:10:2'],
    ['~\n', 'P013 1:1:1'],
    ['null\n', 'P013 1:1:4'],
    ['a:\n  \u2003\u2003b: c\n\u3000d: e\n', 'P011 2:3:2, P011 3:1:1'],
    ['é: 😀x\n😀: @b\n', 'P019 2:4:2, P019 3:4:2'],
    ['a: &a b\n', 'P019 2:4:2, P016 1:4:2'],
    ['a: [&a b, &c d, *a]\n', 'P019 2:4:2, P016 1:5:2'],
  ] as const) {
    const { diagnostics } = parseYaml(`${text}z: @y\n`, { shownAs: 'a.yaml', letter: 'P' })
    t.equal(
      diagnostics
        .map(({ code, location }) => `${code} ${location.line}:${location.column}:${location.length}`)
        .join(', '),
      problems,
      JSON.stringify(text),
    )
  }
})
