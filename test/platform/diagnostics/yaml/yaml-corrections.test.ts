import t from 'tap'
import { missingColon, missingSpace } from '../../../../platform/diagnostics/yaml/yaml-colons.ts'
import { indentedStart, misaligned, notAKey } from '../../../../platform/diagnostics/yaml/yaml-indentation.ts'
import {
  indentOf,
  lineAfter,
  lineAt,
  problem,
  type SyntaxProblem,
  wordsOf,
} from '../../../../platform/diagnostics/yaml/yaml-problem.ts'
import {
  blockHeader,
  needsQuotes,
  typographicQuotes,
  unclosedQuote,
  unclosedQuotedKey,
} from '../../../../platform/diagnostics/yaml/yaml-quotes.ts'
import {
  excessiveNesting,
  isUnmatchedBracket,
  missingComma,
  unclosedBracket,
  unmatchedBracket,
} from '../../../../platform/diagnostics/yaml/yaml-syntax.ts'

/** A problem as one line: number, range, message and hint, then position and text of the repair. */
function show(problem: SyntaxProblem | undefined): string | undefined {
  if (problem === undefined) return undefined
  const { number, start, end, message, hint, repair } = problem
  const fix = hint === undefined ? '' : ` => ${hint}`
  const mend = repair === undefined ? '' : ` [${repair.start} ${JSON.stringify(repair.text)}]`
  return `${number} ${start}-${end} ${message}${fix}${mend}`
}

t.test('bracket mistakes have these explanations and repairs', async (t) => {
  for (const [actual, expected] of [
    [show(unclosedBracket('[a', 2)), '014 0-1 this [ is never closed => add ]'],
    [show(unclosedBracket('a: [', 4)), '014 3-4 this [ is never closed => add ]'],
    [show(unclosedBracket('a: {b: [c], d: [[e], f', 22)), '014 15-16 this [ is never closed => add ]'],
    [show(unclosedBracket('x', 1)), '014 1-2 a bracket is never closed'],
    [show(unclosedBracket('a] [b', 6)), '014 3-4 this [ is never closed => add ]'],
    [show(unclosedBracket('[a]', 3)), '014 3-4 a bracket is never closed'],
    [
      show(unmatchedBracket('a: }', 3)),
      '014 3-4 this } has no matching opening bracket => remove it, or quote the value [3 " "]',
    ],
    [
      show(unmatchedBracket(']', 0)),
      '014 0-1 this ] has no matching opening bracket => remove it, or quote the value [0 " "]',
    ],
    [isUnmatchedBracket('[a]', 2), false],
    [isUnmatchedBracket('{a]', 2), true],
    [isUnmatchedBracket('[{a}, [b]]', 9), false],
    [isUnmatchedBracket('a: [b]]', 6), true],
    [isUnmatchedBracket('{ m: [G]] }', 8), true],
    [isUnmatchedBracket('x', 0), false],
    [isUnmatchedBracket(']', 0), true],
    [isUnmatchedBracket('{[a}', 3), false],
    [isUnmatchedBracket('}[a]', 3), false],
    [
      show(excessiveNesting('x', 0)),
      '018 0-1 lists and maps are nested too deeply here => at most 100 levels are allowed',
    ],
    [
      show(excessiveNesting('['.repeat(100), 7)),
      '018 7-8 lists and maps are nested too deeply here => at most 100 levels are allowed',
    ],
    [
      show(excessiveNesting(`[]${'['.repeat(101)}`, 7)),
      '018 102-103 lists and maps are nested too deeply here => at most 100 levels are allowed',
    ],
    [
      show(excessiveNesting(`}${'{'.repeat(101)}{`, 7)),
      '018 102-103 lists and maps are nested too deeply here => at most 100 levels are allowed',
    ],
    [show(missingComma(5)), '010 5-6 a comma is missing before this => write ", " between two entries'],
  ] as const)
    t.equal(actual, expected)
})

t.test('missing spaces and colons have these explanations and repairs', async (t) => {
  for (const [actual, expected] of [
    [
      show(missingSpace('-name: x', lineAt('-name: x', 0))),
      '013 0-1 a list item needs a space after its dash => write "- " [0 "- "]',
    ],
    [
      show(missingSpace('  -a', lineAt('  -a', 0))),
      '013 2-3 a list item needs a space after its dash => write "- " [2 "- "]',
    ],
    [
      show(missingSpace('\t-_b', lineAt('\t-_b', 0))),
      '013 1-2 a list item needs a space after its dash => write "- " [1 "- "]',
    ],
    [show(missingSpace('--a', lineAt('--a', 0))), undefined],
    [show(missingSpace('-1', lineAt('-1', 0))), undefined],
    [show(missingSpace('- a', lineAt('- a', 0))), undefined],
    [show(missingSpace('x -a', lineAt('x -a', 0))), undefined],
    [
      show(missingSpace('name:x', lineAt('name:x', 0))),
      '013 4-5 a key needs a space after its colon => write ": " [4 ": "]',
    ],
    [
      show(missingSpace('  name:xyz', lineAt('  name:xyz', 0))),
      '013 6-7 a key needs a space after its colon => write ": " [6 ": xx"]',
    ],
    [show(missingSpace('- name:x', lineAt('- name:x', 0))), undefined],
    [show(missingSpace('-  na-me_2:x', lineAt('-  na-me_2:x', 0))), undefined],
    [show(missingSpace('name: x', lineAt('name: x', 0))), undefined],
    [show(missingSpace('name:', lineAt('name:', 0))), undefined],
    [show(missingSpace('name::x', lineAt('name::x', 0))), undefined],
    [show(missingSpace('name://x', lineAt('name://x', 0))), undefined],
    [
      show(missingSpace('name:http://x', lineAt('name:http://x', 0))),
      '013 4-5 a key needs a space after its colon => write ": " [4 ": xxxxxxx"]',
    ],
    [
      show(missingSpace('_a:b', lineAt('_a:b', 0))),
      '013 2-3 a key needs a space after its colon => write ": " [2 ": "]',
    ],
    [show(missingSpace('1a:b', lineAt('1a:b', 0))), undefined],
    [show(missingSpace('a b:c', lineAt('a b:c', 0))), undefined],
    [
      show(missingSpace('a:/', lineAt('a:/', 0))),
      '013 1-2 a key needs a space after its colon => write ": " [1 ": "]',
    ],
    [
      show(missingSpace('- name:x\n  b: c', lineAt('- name:x\n  b: c', 0))),
      '013 6-7 a key needs a space after its colon => write ": " [6 ": "]',
    ],
    [show(missingSpace('- name:x\nb: c', lineAt('- name:x\nb: c', 0))), undefined],
    [
      show(missingSpace('- name:x\n# y\n   b', lineAt('- name:x\n# y\n   b', 0))),
      '013 6-7 a key needs a space after its colon => write ": " [6 ": "]',
    ],
    [show(missingSpace('- name:x\n', lineAt('- name:x\n', 0))), undefined],
    [
      show(missingColon('owner', lineAt('owner', 0))),
      '013 0-5 a key needs a colon and a space after it => write "owner: " and a value [0 "k: xx"]',
    ],
    [
      show(missingColon('  owner me', lineAt('  owner me', 0))),
      '013 2-10 a key needs a colon and a space after it => write "owner: me" [2 "k: xxxxx"]',
    ],
    [
      show(missingColon('- owner me', lineAt('- owner me', 0))),
      '013 2-10 a key needs a colon and a space after it => write "owner: me" [2 "k: xxxxx"]',
    ],
    [
      show(missingColon('-   abc', lineAt('-   abc', 0))),
      '013 4-7 a key needs a colon and a space after it => write "abc: " and a value [4 "kk:"]',
    ],
    [
      show(missingColon('ab', lineAt('ab', 0))),
      '013 0-2 a key needs a colon and a space after it => write "ab: " and a value [0 "k:"]',
    ],
    [
      show(missingColon('abc', lineAt('abc', 0))),
      '013 0-3 a key needs a colon and a space after it => write "abc: " and a value [0 "kk:"]',
    ],
    [
      show(missingColon('abcd', lineAt('abcd', 0))),
      '013 0-4 a key needs a colon and a space after it => write "abcd: " and a value [0 "k: x"]',
    ],
    [
      show(missingColon('owner\n  b: c', lineAt('owner\n  b: c', 0))),
      '013 0-5 a key needs a colon and a space after it => write "owner: " and a value [0 "kkkk:"]',
    ],
    [
      show(missingColon('- owner\n  b: c', lineAt('- owner\n  b: c', 0))),
      '013 2-7 a key needs a colon and a space after it => write "owner: " and a value [2 "k: xx"]',
    ],
    [
      show(missingColon('- owner\n   b: c', lineAt('- owner\n   b: c', 0))),
      '013 2-7 a key needs a colon and a space after it => write "owner: " and a value [2 "kkkk:"]',
    ],
    [
      show(missingColon('owner = me too', lineAt('owner = me too', 0))),
      '013 0-14 a key needs a colon and a space after it => write "owner: me too" [0 "k: xxxxxxxxxxx"]',
    ],
    [
      show(missingColon('owner=', lineAt('owner=', 0))),
      '013 0-6 a key needs a colon and a space after it => write "owner: " and a value [0 "k: xxx"]',
    ],
    [
      show(missingColon('owner：me', lineAt('owner：me', 0))),
      '013 0-8 a key needs a colon and a space after it => write "owner: me" [0 "k: xxxxx"]',
    ],
    [
      show(missingColon('owner me  ', lineAt('owner me  ', 0))),
      '013 0-8 a key needs a colon and a space after it => write "owner: me" [0 "k: xxxxx"]',
    ],
    [
      show(missingColon('_o-w2 me', lineAt('_o-w2 me', 0))),
      '013 0-8 a key needs a colon and a space after it => write "_o-w2: me" [0 "k: xxxxx"]',
    ],
    [
      show(missingColon('2o me', lineAt('2o me', 0))),
      '013 0-5 a key needs a colon and a space after it [0 "k: xx"]',
    ],
    [
      show(missingColon('/x y', lineAt('/x y', 0))),
      '013 0-4 a key needs a colon and a space after it [0 "k: x"]',
    ],
    [
      show(missingColon('a"b', lineAt('a"b', 0))),
      '013 0-3 a key needs a colon and a space after it [0 "kk:"]',
    ],
  ] as const)
    t.equal(actual, expected)
})

t.test('missing and wrong quotes have these explanations and repairs', async (t) => {
  for (const [actual, expected] of [
    [show(needsQuotes('a: @b', 3, 'message')), '019 3-5 message => write "@b" [3 "xx"]'],
    [show(needsQuotes('a: x@b c', 4, 'message')), '019 3-6 message => write "x@b" [3 "xxx"]'],
    [show(needsQuotes('a: [x@y, z]', 6, 'message')), '019 4-7 message => write "x@y" [4 "xxx"]'],
    [show(needsQuotes('a: @b]}', 3, 'message')), '019 3-5 message => write "@b" [3 "xx"]'],
    [show(needsQuotes('a: @{b}}', 3, 'message')), '019 3-7 message => write "@{b}" [3 "xxxx"]'],
    [show(needsQuotes('a: @[b]] c', 3, 'message')), '019 3-7 message => write "@[b]" [3 "xxxx"]'],
    [show(needsQuotes('a: b: c  ', 3, 'message', 9)), '019 3-7 message => write "b: c" [3 "xxxx"]'],
    [
      show(needsQuotes('a: “b: c”', 3, 'message', 9)),
      '019 3-9 “ is not a quotation mark in YAML => write "b: c" [3 "xxxxxx"]',
    ],
    [show(needsQuotes('a: @', 3, 'message')), '019 3-4 message => write "@" [3 "x"]'],
    [show(needsQuotes('', 0, 'message')), '019 0-1 message => write "" [0 "x"]'],
    [
      show(needsQuotes('a: @b\\c"d\\e"', 3, 'message')),
      '019 3-12 message => write "@b\\\\c\\"d\\\\e\\"" [3 "xxxxxxxxx"]',
    ],
    [show(needsQuotes('@x\n@y', 3, 'message')), '019 3-5 message => write "@y" [3 "xx"]'],
    [
      JSON.stringify(typographicQuotes('“a”')),
      '{"message":"“ is not a quotation mark in YAML","hint":"write \\"a\\""}',
    ],
    [
      JSON.stringify(typographicQuotes('”a')),
      '{"message":"” is not a quotation mark in YAML","hint":"write \\"a\\""}',
    ],
    [
      JSON.stringify(typographicQuotes('„a“')),
      '{"message":"„ is not a quotation mark in YAML","hint":"write \\"a\\""}',
    ],
    [
      JSON.stringify(typographicQuotes('‟a‟')),
      '{"message":"‟ is not a quotation mark in YAML","hint":"write \\"a\\""}',
    ],
    [
      JSON.stringify(typographicQuotes('‘a’')),
      '{"message":"‘ is not a quotation mark in YAML","hint":"write \\"a\\""}',
    ],
    [
      JSON.stringify(typographicQuotes('’a')),
      '{"message":"’ is not a quotation mark in YAML","hint":"write \\"a\\""}',
    ],
    [
      JSON.stringify(typographicQuotes('‚a')),
      '{"message":"‚ is not a quotation mark in YAML","hint":"write \\"a\\""}',
    ],
    [
      JSON.stringify(typographicQuotes('«a»')),
      '{"message":"« is not a quotation mark in YAML","hint":"write \\"a\\""}',
    ],
    [
      JSON.stringify(typographicQuotes('»a«')),
      '{"message":"» is not a quotation mark in YAML","hint":"write \\"a\\""}',
    ],
    [
      JSON.stringify(typographicQuotes('“')),
      '{"message":"“ is not a quotation mark in YAML","hint":"write \\"\\""}',
    ],
    [
      JSON.stringify(typographicQuotes('“a\nb”')),
      '{"message":"“ is not a quotation mark in YAML","hint":"write \\"a\\nb\\""}',
    ],
    [
      JSON.stringify(typographicQuotes('“a” b')),
      '{"message":"“ is not a quotation mark in YAML","hint":"write \\"a” b\\""}',
    ],
    [JSON.stringify(typographicQuotes('a“b”')), undefined],
    [JSON.stringify(typographicQuotes('"a"')), undefined],
    [
      JSON.stringify(typographicQuotes('“a\\"b”')),
      '{"message":"“ is not a quotation mark in YAML","hint":"write \\"a\\\\\\\\\\\\\\"b\\""}',
    ],
    [show(blockHeader('a: |b', 4)), '019 3-5 a value that starts with | needs quotes => write "|b" [3 "xx"]'],
    [
      show(blockHeader('a: > x  ', 4)),
      '019 3-6 a value that starts with > needs quotes => write "> x" [3 "xxx"]',
    ],
    [
      show(blockHeader('a: |- x', 6)),
      '019 3-7 a value that starts with | needs quotes => write "|- x" [3 "xxxx"]',
    ],
    [
      show(blockHeader('b\na: || x>y', 9)),
      '019 6-11 a value that starts with | needs quotes => write "| x>y" [6 "xxxxx"]',
    ],
    [
      show(blockHeader('a: x', 3)),
      '019 0-4 a value that starts with a needs quotes => write "a: x" [0 "xxxx"]',
    ],
    [show(unclosedQuote('a: "b', 6, '"')), '014 3-4 this " is never closed => add " at the end of the value'],
    [
      show(unclosedQuote("a: 'b\nc", 8, "'")),
      "014 3-4 this ' is never closed => add ' at the end of the value",
    ],
    [show(unclosedQuote('x', 1, '"')), '014 0-1 this " is never closed => add " at the end of the value'],
    [
      show(unclosedQuote('a: "b" "c', 9, '"')),
      '014 7-8 this " is never closed => add " at the end of the value',
    ],
    [
      show(unclosedQuote('a: "b"', 5, '"')),
      '014 3-4 this " is never closed => add " at the end of the value',
    ],
    [
      show(unclosedQuotedKey('"a\nb": c', 0)),
      '014 0-1 this " is not closed in its line => close it where the text ends, or remove it [0 "xx"]',
    ],
    [
      show(unclosedQuotedKey("x\n 'ab\nc': d", 3)),
      '014 3-4 this \' is not closed in its line => close it where the text ends, or remove it [3 "xxx"]',
    ],
  ] as const)
    t.equal(actual, expected)
})

t.test('lines and problems have these explanations and repairs', async (t) => {
  for (const [actual, expected] of [
    [JSON.stringify(lineAt('ab\ncd\r\nef', 0)), '{"start":0,"end":2,"text":"ab"}'],
    [JSON.stringify(lineAt('ab\ncd\r\nef', 2)), '{"start":0,"end":2,"text":"ab"}'],
    [JSON.stringify(lineAt('ab\ncd\r\nef', 3)), '{"start":3,"end":5,"text":"cd"}'],
    [JSON.stringify(lineAt('ab\ncd\r\nef', 5)), '{"start":3,"end":5,"text":"cd"}'],
    [JSON.stringify(lineAt('ab\ncd\r\nef', 7)), '{"start":7,"end":9,"text":"ef"}'],
    [JSON.stringify(lineAt('ab\n', 3)), '{"start":3,"end":3,"text":""}'],
    [JSON.stringify(lineAt('\n\nx', 1)), '{"start":1,"end":1,"text":""}'],
    [
      JSON.stringify(lineAfter('a\n\n # c\n  b\nd', lineAt('a\n\n # c\n  b\nd', 0))),
      '{"start":8,"end":11,"text":"  b"}',
    ],
    [JSON.stringify(lineAfter('a\n', lineAt('a\n', 0))), undefined],
    [JSON.stringify(lineAfter('a', lineAt('a', 0))), undefined],
    [JSON.stringify(lineAfter('a\n\n  \n#', lineAt('a\n\n  \n#', 0))), undefined],
    [
      JSON.stringify(lineAfter('a\r\n\r\n\tb', lineAt('a\r\n\r\n\tb', 0))),
      '{"start":5,"end":7,"text":"\\tb"}',
    ],
    [JSON.stringify(lineAfter('a\n\n', lineAt('a\n\n', 0))), undefined],
    [JSON.stringify([indentOf(lineAt('a', 0)), wordsOf(lineAt('a', 0))]), '[0,{"start":0,"length":1}]'],
    [
      JSON.stringify([indentOf(lineAt('  a  ', 0)), wordsOf(lineAt('  a  ', 0))]),
      '[2,{"start":2,"length":1}]',
    ],
    [JSON.stringify([indentOf(lineAt('\t b', 0)), wordsOf(lineAt('\t b', 0))]), '[2,{"start":2,"length":1}]'],
    [JSON.stringify([indentOf(lineAt('   ', 0)), wordsOf(lineAt('   ', 0))]), '[3,{"start":3,"length":1}]'],
    [JSON.stringify([indentOf(lineAt('', 0)), wordsOf(lineAt('', 0))]), '[0,{"start":0,"length":1}]'],
    [show(problem('1', 'm', 'h', 5)), '1 5-6 m => h'],
    [show(problem('1', 'm', undefined, 5, 3, 'xyz')), '1 5-8 m [5 "xyz"]'],
    [show(problem('1', 'm', 'h', 5, 3, 'xyz', 2)), '1 5-8 m => h [2 "xyz"]'],
  ] as const)
    t.equal(actual, expected)
})

t.test('wrong indentation have these explanations and repairs', async (t) => {
  for (const [actual, expected] of [
    [
      show(misaligned('a:\n    b: c\n  d: e\n  f: g\n h: i\n', 13)),
      '012 14-18 the indentation of this line matches no line above => indent it by 4 spaces, as b [14 "    \\n      "]',
    ],
    [
      show(misaligned('a:\n  b: c\n d: e\n   f: g\n', 10)),
      '012 11-15 the indentation of this line matches no line above => indent it by 2 spaces, as b [11 "    \\n       "]',
    ],
    [
      show(misaligned('a:\n  - b: c\n    - d: e\n   f: g\n', 26)),
      '012 26-30 the indentation of this line matches no line above => indent it by 4 spaces, as the dash above [26 "    "]',
    ],
    [
      show(misaligned('a:\n  b: c\n  - d\n    e: f\n', 12)),
      '012 12-15 a list item cannot be among the keys of a map => remove its dash, or begin the lines above with "- " too [12 "   \\n        "]',
    ],
    [
      show(misaligned('- a: b\n- c\n d: e\n', 11)),
      '012 12-16 the indentation of this line matches no line above => indent it by 2 spaces, as the dash above [12 "    "]',
    ],
    [
      show(misaligned('a:\n  - b\n c: d\n', 9)),
      '012 10-14 the indentation of this line matches no line above => indent it by 2 spaces, as the dash above [10 "    "]',
    ],
    [
      show(misaligned('a: b\n\n# x\n  c: d\n', 4)),
      '012 0-4 the indentation of this line matches no line above => indent it like the other keys of its map [0 "    \\n\\n   \\n      "]',
    ],
    [
      show(misaligned('"a": b\n "c": d\n', 7)),
      '012 8-14 the indentation of this line matches no line above => indent it by no spaces, as a [8 "      "]',
    ],
    [
      show(misaligned('a:\n-b: c\n', 3)),
      '013 3-4 a list item needs a space after its dash => write "- " [3 "- "]',
    ],
    [
      show(misaligned('  x\n', 0)),
      '012 2-3 the indentation of this line matches no line above => indent it like the other keys of its map [2 " "]',
    ],
    [
      show(misaligned('a:\n    b: c\n   - d\n', 12)),
      '012 15-18 the indentation of this line matches no line above => indent it by 4 spaces, as b [15 "   "]',
    ],
    [
      show(misaligned('a:\n      b:\n        c: d\n       e: f\n', 25)),
      '012 32-36 the indentation of this line matches no line above => indent it by 8 spaces, as c [32 "    "]',
    ],
    [
      show(misaligned('a:\n      b:\n        c: d\n   e: f\n', 25)),
      '012 28-32 the indentation of this line matches no line above => indent it by 6 spaces, as b [28 "    "]',
    ],
    [
      show(misaligned('a: b\n\tc: d\n', 5)),
      '012 6-10 the indentation of this line matches no line above => indent it by no spaces, as a [6 "    "]',
    ],
    [
      show(indentedStart('  a: b\nc: d\n', 7)),
      '012 2-6 the first key is indented, but the keys below it are not => remove its indentation [0 "xx"]',
    ],
    [
      show(indentedStart('# x\n  a: b\nc: d\n', 11)),
      '012 6-10 the first key is indented, but the keys below it are not => remove its indentation [4 "xx"]',
    ],
    [show(indentedStart(' a: b\n c: d\n', 7)), undefined],
    [show(indentedStart('a: b\nc: d\n', 5)), undefined],
    [show(indentedStart('  a: b\n', 2)), undefined],
    [
      show(indentedStart('\n   a: b\n  - x\n c: d\n', 16)),
      '012 4-8 the first key is indented, but the keys below it are not => remove its indentation [1 "xxx"]',
    ],
    [show(indentedStart('# only\n', 0)), undefined],
    [
      show(notAKey('a: b\n  c: d\n', 3, '')),
      '012 7-11 this line is indented deeper than the key above it => indent it by no spaces, as a [7 "    "]',
    ],
    [
      show(notAKey('a: b c: d\n', 3, '')),
      '019 3-9 a value that contains ": " needs quotes => write "b c: d" [3 "xxxxxx"]',
    ],
    [
      show(notAKey('a: "b\n c": d\n', 3, '')),
      '014 3-4 this " is not closed in its line => close it where the text ends, or remove it [3 "xx"]',
    ],
    [
      show(notAKey("a: 'b' x\n y\n", 3, '')),
      '012 10-11 this line is indented deeper than the key above it => indent it by no spaces, as a [10 " "]',
    ],
    [
      show(notAKey('- b c\n', 2, '')),
      '013 2-5 a key needs a colon and a space after it => write "b: c" [2 "kk:"]',
    ],
    [show(notAKey('a: b', 3, '')), '010 3-4 this is not a key or a value'],
    [
      show(notAKey('a: b\n', 3, 'A block sequence may not')),
      '012 0-4 the indentation of this line matches no line above => indent it like the other keys of its map [0 "    "]',
    ],
    [
      show(notAKey('- - a: b\n      c: d\n     e: f\n  g: h\n', 7, '')),
      '012 15-19 this line is indented deeper than the key above it => indent it by 4 spaces, as a [15 "    "]',
    ],
    [show(notAKey('a:b\n', 0, '')), '013 1-2 a key needs a space after its colon => write ": " [1 ": "]'],
    [
      show(notAKey('x y: b\n   c: d\n', 4, '')),
      '012 10-14 this line is indented deeper than the key above it => indent it by no spaces, as the line above [10 "    "]',
    ],
  ] as const)
    t.equal(actual, expected)
})
